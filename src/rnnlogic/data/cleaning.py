"""Cleaning facts: what is folded, removed or only noted, and the report that says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import DataError
from rnnlogic.data.graph import Triples
from rnnlogic.data.raw import printable

INVERSE_PREFIX = "!"  # files of the public RotatE/RNNLogic code write the inverse of `rel` as `!rel`
EXAMPLES = 5


@dataclass(frozen=True)
class CleaningReport:
    """What reading and cleaning found; all zero or empty for clean data."""

    blank_lines: int = 0
    header_lines: int = 0
    bom_files: int = 0
    crlf_files: int = 0
    literals: int = 0  # skipped RDF facts whose object is a literal
    incomplete: int = 0  # rows with an empty cell, skipped as the user asked
    null_words: Mapping[str, int] = field(default_factory=dict)  # word -> facts skipped with it
    excluded: int = 0  # facts left out for their source
    too_light: int = 0  # facts left out for their weight
    joined: int = 0  # facts of several rows, whose weights or sources were put together
    inverse_dropped: int = 0  # `!rel` facts whose forward fact is in the same split
    inverse_turned: int = 0  # other `!rel` facts, reversed
    duplicates: Mapping[str, int] = field(default_factory=dict)  # split -> repeated facts removed
    repeated: Mapping[str, int] = field(default_factory=dict)  # "train in test" -> facts removed from test
    extra_train: int = 0  # facts beyond the ratio that the split keeps in train for coverage
    unseen_entities: tuple[str, ...] = ()  # of valid and test, in no fact of train; their facts stay
    unseen_relations: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()  # reasons to think that the data were read wrongly, with the way out
    notes: tuple[str, ...] = ()  # how columns and files were understood

    def __post_init__(self) -> None:
        for name in _TEXTS:  # lists, if the report comes from JSON
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {name: list(getattr(self, name)) for name in _TEXTS}

    def lines(self) -> list[str]:
        """One sentence for everything that was found, doubts first; empty when all was clean."""
        return [*self.doubts, *self.notes, *self._counts()]

    def _counts(self) -> list[str]:
        counted = [
            (self.bom_files, "byte order mark skipped in {} file(s)"),
            (self.crlf_files, "Windows line ends (CRLF) read in {} file(s)"),
            (self.header_lines, "{} header line(s) skipped"),
            (self.blank_lines, "{} blank line(s) skipped"),
            (self.literals, "{} fact(s) with a literal as object skipped"),
            (self.incomplete, "{} row(s) with an empty cell skipped"),
            (sum(self.null_words.values()), f"{{}} {self._nulls}"),
            (self.excluded, "{} row(s) left out for their source"),
            (self.too_light, "{} fact(s) left out for their weight"),
            (
                self.joined,
                "{} fact(s) come from several rows: weights a and b become 1 - (1-a)(1-b), sources add up",
            ),
            (self.inverse_dropped, "{} inverse fact(s) `!rel` dropped: the forward fact is there"),
            (self.inverse_turned, "{} inverse fact(s) `!rel` turned into forward facts"),
            *((n, f"{{}} repeated fact(s) removed from {split}") for split, n in self.duplicates.items()),
            *((n, f"{{}} fact(s) of {_removed(pair)}") for pair, n in self.repeated.items()),
            (self.extra_train, "{} fact(s) beyond the ratio kept in train, so that it covers all names"),
            (len(self.unseen_entities), f"{{}} entities never occur in train: {_some(self.unseen_entities)}"),
            (
                len(self.unseen_relations),
                f"{{}} relations never occur in train: {_some(self.unseen_relations)}",
            ),
        ]
        return [text.replace("{}", f"{count:,}", 1) for count, text in counted if count]

    @property
    def _nulls(self) -> str:
        words = ", ".join(printable(word) for word in list(self.null_words)[:EXAMPLES])
        more = ", ..." if len(self.null_words) > EXAMPLES else ""
        return (
            f"fact(s) skipped whose name stands for a missing value: {words}{more}"
            " (--keep-null-words, keep_null_words=True in Python, keeps them)"
        )


_TEXTS = ("unseen_entities", "unseen_relations", "doubts", "notes")


def _removed(pair: str) -> str:
    earlier, later = pair.split(" in ")
    return f"{earlier} removed from {later}"


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(map(printable, names[:EXAMPLES])) + (", ..." if len(names) > EXAMPLES else "")


def fact_keys(facts: Triples, num_entities: int, num_relations: int) -> NDArray[np.int64]:
    """One integer per fact, in the order of (relation, head, tail)."""
    if num_relations * num_entities**2 >= 1 << 63:
        raise DataError(f"{num_entities:,} entities with {num_relations:,} relations exceed 64-bit fact keys")
    head, relation, tail = (facts[:, i].astype(np.int64) for i in range(3))
    return np.asarray((relation * num_entities + head) * num_entities + tail)


def is_among(keys: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which keys [n] are among others; np.isin sorts both together, which takes many times as long."""
    if not len(others) or not len(keys):
        return np.zeros(len(keys), bool)
    ascending = np.sort(others)
    place = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[place] == keys)


class Inverses:
    """Relations `!rel` beside `rel`, as files of some programs have them."""

    def __init__(self, relations: Mapping[str, int]) -> None:
        bases = {name: relations.get(name[1:], -1) for name in relations if name.startswith(INVERSE_PREFIX)}
        self.names = frozenset(name for name, base in bases.items() if base >= 0)
        self.forward = np.full(len(relations), -1, np.int32)  # the relation that each one is the inverse of
        for name in self.names:
            self.forward[relations[name]] = bases[name]

    def turned(self, facts: Triples) -> Triples:
        """The facts, those of inverses reversed."""
        if not self.names:
            return facts
        turned = facts[:, ::-1].copy()
        turned[:, 1] = self.forward[facts[:, 1]]
        return np.where((turned[:, 1] >= 0)[:, None], turned, facts)


def fold_inverses(
    splits: Mapping[str, Triples], inverses: Inverses, num_entities: int
) -> tuple[dict[str, Triples], dict[str, int]]:
    """Reverse `!rel` facts of known relations, or drop them if the same split has the forward fact.

    Returns the new splits and the counts for the report.
    """
    counts = {"inverse_dropped": 0, "inverse_turned": 0}
    if not inverses.names:
        return dict(splits), counts
    folded = {}
    for split, facts in splits.items():
        is_inverse = inverses.forward[facts[:, 1]] >= 0
        facts = inverses.turned(facts)
        keys = fact_keys(facts, num_entities, len(inverses.forward))
        dropped = is_inverse & is_among(keys, keys[~is_inverse])
        counts["inverse_dropped"] += int(dropped.sum())
        counts["inverse_turned"] += int(is_inverse.sum() - dropped.sum())
        folded[split] = facts[~dropped]
    return folded, counts


def drop_duplicates(
    splits: Mapping[str, Triples], num_entities: int, num_relations: int
) -> tuple[dict[str, Triples], dict[str, int]]:
    """Keep the first of repeated facts in every split; also returns how many were removed, by split."""
    kept, removed = {}, {}
    for split, facts in splits.items():
        keys = fact_keys(facts, num_entities, num_relations)
        in_order = np.sort(keys)  # much faster than np.unique, and clean data need no more
        if (in_order[1:] == in_order[:-1]).any():
            _, first = np.unique(keys, return_index=True)
            removed[split] = len(facts) - len(first)
            facts = facts[np.sort(first)]
        kept[split] = facts
    return kept, removed


def drop_repeats(
    splits: Mapping[str, Triples], num_entities: int, num_relations: int
) -> tuple[dict[str, Triples], dict[str, int]]:
    """Remove facts of train from valid and test, and facts of valid from test; no split may repeat a fact."""
    kept, removed = dict(splits), {}
    keys = {split: fact_keys(facts, num_entities, num_relations) for split, facts in kept.items()}
    for earlier, later in (("train", "valid"), ("train", "test"), ("valid", "test")):
        repeats = is_among(keys[later], keys[earlier])
        if repeats.any():
            removed[f"{earlier} in {later}"] = int(repeats.sum())
            kept[later], keys[later] = kept[later][~repeats], keys[later][~repeats]
    return kept, removed


def unseen_in_train(
    splits: Mapping[str, Triples], columns: list[int], names: tuple[str, ...]
) -> tuple[str, ...]:
    """Names in these columns of valid and test that no fact of train mentions."""
    seen, used = np.zeros((2, len(names)), bool)
    seen[splits["train"][:, columns]] = True
    for split in ("valid", "test"):
        used[splits[split][:, columns]] = True
    return tuple(names[i] for i in np.flatnonzero(used & ~seen))
