"""What is left out before facts are cleaned: missing values, unwanted sources, weights that are too low."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import DataError
from rnnlogic.data.annotations import Annotations, Sources, Told, combined, parsed_sources
from rnnlogic.data.cleaning import Inverses
from rnnlogic.data.options import ReadOptions
from rnnlogic.data.raw import Names, RawFacts, printable
from rnnlogic.data.spelling import stands_for_nothing

Counts = dict[str, Any]  # by the names of the cleaning report


def filtered(raw: RawFacts, options: ReadOptions, inverses: Inverses) -> tuple[Annotations | None, Counts]:
    """Leave rows of `raw` out; what weights and sources say of the others, by its ids; and the counts."""
    if raw.tally.incomplete and not options.skip_incomplete:
        raise raw.tally.incomplete_error()
    _require_extras(raw, options)
    counts: Counts = {}
    if not options.keep_null_words:
        counts["null_words"] = _drop_null_words(raw)
    if not raw.weights and not raw.cells:
        _require_some(raw)
        return None, counts
    sets = parsed_sources(raw.sources, options.without_sources)
    counts["excluded"] = _drop_sources(raw, options, sets)
    _require_some(raw)
    facts = {split: inverses.turned(rows) for split, rows in raw.splits.items()}
    told = Told(
        np.concatenate(list(facts.values())),
        np.concatenate(list(raw.weights.values())) if raw.weights else None,
        np.concatenate(list(raw.cells.values())) if raw.cells else None,
        sets,
    )
    found = combined(told)
    counts["joined"] = int(_repeats(told.facts, found))
    if options.min_weight:
        kept = {split: found.weights_of(rows) >= options.min_weight for split, rows in facts.items()}
        counts["too_light"] = int((found.weights_of(found.facts) < options.min_weight).sum())
        raw.keep(kept)
        _require_some(raw)
    return found, counts


def unused(names: Names, splits: list[NDArray[np.int32]]) -> frozenset[str]:
    """Names that no fact mentions any more, by the columns of ids that are left; none if names are fixed."""
    if names.fixed:
        return frozenset()
    used = np.zeros(len(names), bool)
    for ids in splits:
        used[ids] = True
    return frozenset(name for name, place in names.items() if not used[place])


def _require_extras(raw: RawFacts, options: ReadOptions) -> None:
    """Refuse a column that the format does not have, for some facts or for all."""
    wanted = ((options.weight, raw.weights, "weight"), (options.source, raw.cells, "source"))
    for column, found, kind in wanted:
        sizes = {split: len(found.get(split, ())) for split in raw.splits}
        if column is not None and any(sizes[split] != len(facts) for split, facts in raw.splits.items()):
            raise DataError(
                f"these facts have no column for a {kind}; leave out --{kind} ({kind}= in Python)",
                raw.source,
            )


def _require_some(raw: RawFacts) -> None:
    if not sum(map(len, raw.splits.values())):
        raise DataError("no facts are left", raw.source)


def _drop_null_words(raw: RawFacts) -> dict[str, int]:
    """Drop facts with a name that stands for a missing value; how many of each. Fixed names are meant."""
    found: dict[str, int] = {}
    for names, columns in ((raw.entities, [0, 2]), (raw.relations, [1])):
        if names.fixed:
            continue
        words = {name: place for name, place in names.items() if stands_for_nothing(name)}
        if not words:
            continue
        masks = {}
        for split, facts in raw.splits.items():
            hits = {word: (facts[:, columns] == place).any(axis=1) for word, place in words.items()}
            for word, hit in hits.items():
                found[printable(word)] = found.get(printable(word), 0) + int(hit.sum())
            masks[split] = ~np.logical_or.reduce(list(hits.values()))
        raw.keep(masks)
    return {word: count for word, count in found.items() if count}


def _drop_sources(raw: RawFacts, options: ReadOptions, wanted: list[Sources]) -> int:
    """Drop rows all of whose sources are unwanted; an unknown one is an error, as it may be misspelt."""
    if not options.without_sources:
        return 0
    stated = parsed_sources(raw.sources)
    known = {source for one in stated for source in one}
    for name in sorted(options.without_sources - known):
        some = ", ".join(sorted(known)[:5]) + (", ..." if len(known) > 5 else "")
        raise DataError(f"no fact has the source {name!r}; sources are {some}", raw.source)
    stays = np.array([bool(left) or not one for left, one in zip(wanted, stated, strict=True)], bool)
    masks = {split: stays[cells] for split, cells in raw.cells.items()}
    raw.keep(masks)
    return int(sum((~mask).sum() for mask in masks.values()))


def _repeats(facts: NDArray[np.int32], found: Annotations) -> int:
    """How many facts several rows state."""
    return int((np.bincount(found.find(facts), minlength=len(found.facts)) > 1).sum())
