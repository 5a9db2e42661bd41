"""Names that may be one: they differ only by case, blanks, accents or a plural."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

NULL_WORDS = {"nan", "null", "none", "n/a", "#n/a", "<na>", "nat", "-", "--", "?", "unknown"}  # in any case
NULL_CODE = "NA"  # only so: `Na` is sodium, and `na` may be a word
LETTERS = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"})
MOST_COMPARED = 1_000_000  # names; folding them takes about two seconds
LEAST_PLURAL = 4  # letters of a word whose -s may be a plural: `gas` and `bus` have three
NO_PLURAL = ("ss", "us", "is")  # class, virus, basis
_GAPS = re.compile(r"[\s_\-]+")
_CODE = re.compile(r"\S*\d\S*")  # a name without blanks, with a digit: its case may mean something


def stands_for_nothing(name: str) -> bool:
    """Whether a name is what people and programs write into an empty cell."""
    return name == NULL_CODE or name.lower() in NULL_WORDS


def folded(name: str) -> str:
    """A name without what people type differently: case, accents, kinds of gaps."""
    text = name.casefold()
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text.translate(LETTERS))
        text = "".join(c for c in parts if not unicodedata.combining(c))
    return _GAPS.sub(" ", text).strip()


def look_alikes(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names that may be one, in their order; of several alike, the first with each other."""
    first: dict[str, str] = {}
    pairs = []
    for number, name in enumerate(names):
        if number == MOST_COMPARED:
            break
        if _CODE.fullmatch(name):
            continue
        key = _singular(folded(name))
        if first.setdefault(key, name) != name:
            pairs.append((first[key], name))
    return pairs


def _singular(name: str) -> str:
    """A name without the -s or -es of a plural at its end."""
    last = re.split(r"\W", name)[-1]
    if len(last) <= LEAST_PLURAL or not last.isalpha() or not last.endswith("s") or last.endswith(NO_PLURAL):
        return name
    return name[: -2 if last.endswith(("ches", "shes", "xes", "sses")) else -1]
