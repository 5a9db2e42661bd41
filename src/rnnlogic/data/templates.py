"""Templates: how a relation is said, from `relation<TAB>X depends on Y<TAB>Y is needed by X` files.

X is the head and Y the tail in both texts; the second one says the same of Y and may be left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rnnlogic.base.errors import DataError
from rnnlogic.data.raw import Tally, shortened
from rnnlogic.data.readers import read_rows
from rnnlogic.data.vocab import Vocab

Texts = str | Sequence[str]
Templates = Mapping[str, Texts] | str | os.PathLike[str]
EXPECTED = "relation<TAB>X depends on Y<TAB>Y is needed by X"
HEADER = "relation"
EXAMPLES = 3
_SLOT = re.compile(r"\b[XY]\b")


class Templated(NamedTuple):
    """A vocabulary with templates, and what was found."""

    vocab: Vocab
    relations: int  # that have got one
    note: str | None  # on templates for relations that the graph lacks


def templated(vocab: Vocab, templates: Templates) -> Templated:
    """The same names with templates, which go before those that it has."""
    texts, known = dict(_texts(templates)), set(vocab.relations)
    chosen = {name: pair for name, pair in texts.items() if name in known}
    unknown = [name for name in texts if name not in known]
    note = None
    if unknown:
        some = ", ".join(map(shortened, unknown[:EXAMPLES])) + (", ..." if len(unknown) > EXAMPLES else "")
        note = f"{len(unknown):,} of {len(texts):,} templates are for relations that the graph lacks: {some}"
    return Templated(replace(vocab, templates={**vocab.templates, **chosen}), len(chosen), note)


def _texts(templates: Templates) -> Iterator[tuple[str, tuple[str, str]]]:
    if isinstance(templates, Mapping):
        for name, texts in templates.items():
            yield name, _checked([texts] if isinstance(texts, str) else list(texts), str(name), None, None)
        return
    path = Path(templates)
    if not path.is_file():
        raise DataError(f"no such file; templates are lines of {EXPECTED}", path)
    seen: dict[str, int] = {}
    for line, fields in read_rows(path, "\t", Tally()):
        if fields[0].lower() == HEADER and not seen and not _SLOT.search("\t".join(fields[1:])):
            continue
        if fields[0] in seen:
            raise DataError(f"{fields[0]!r} has a template in line {seen[fields[0]]} already", path, line)
        seen[fields[0]] = line
        yield fields[0], _checked(fields[1:], fields[0], path, line)


def _checked(texts: list[str], name: str, path: Path | None, line: int | None) -> tuple[str, str]:
    """The two texts, each with one X and one Y."""
    said = [" ".join(text.split()) for text in texts]
    if not 1 <= len(said) <= 2 or not said[0]:
        raise DataError(f"expected {EXPECTED}, found {len(said)} text(s) for {name!r}", path, line)
    for text in filter(None, said):
        if sorted(_SLOT.findall(text)) != ["X", "Y"]:
            problem = (
                f"a template has one X (the head) and one Y (the tail), {text!r} has not; see {EXPECTED}"
            )
            raise DataError(problem, path, line)
    return said[0], said[1] if len(said) == 2 else ""
