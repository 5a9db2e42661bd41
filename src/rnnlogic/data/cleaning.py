"""Cleaning facts: what is left out, folded, removed or only noted, the report that says so, and the split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import DataError
from rnnlogic.data.annotations import Annotations, Sources, Told, combined, parsed_sources
from rnnlogic.data.graph import Triples, fact_keys, is_among
from rnnlogic.data.options import ReadOptions
from rnnlogic.data.raw import Names, RawFacts, printable

INVERSE_PREFIX = "!"  # files of the public RotatE/RNNLogic code write the inverse of `rel` as `!rel`
EXAMPLES = 5  # names that a line of the report lists


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


NULL_WORDS = {"nan", "null", "none", "n/a", "#n/a", "<na>", "nat", "-", "--", "?", "unknown"}  # in any case


NULL_CODE = "NA"  # only so: `Na` is sodium, and `na` may be a word


def stands_for_nothing(name: str) -> bool:
    """Whether a name is what people and programs write into an empty cell."""
    return name == NULL_CODE or name.lower() in NULL_WORDS


Ratios = Sequence[float]  # train, valid, test; any scale

DEFAULT_RATIOS: Ratios = (80, 10, 10)
PAPER_RATIOS: dict[str, Ratios] = {"umls": (30, 20, 50), "kinship": (30, 20, 50)}


def default_ratios(name: str) -> Ratios:
    """The paper's 30/20/50 for UMLS and Kinship, 80/10/10 otherwise."""
    return PAPER_RATIOS.get(name, DEFAULT_RATIOS)


def parse_ratios(text: str) -> tuple[float, ...]:
    """Ratios written as `80/10/10`."""
    try:
        return check_ratios([float(part) for part in text.split("/")])
    except ValueError:
        raise DataError(f"ratios {text!r} are not three numbers such as 80/10/10") from None


def check_ratios(ratios: Ratios) -> tuple[float, ...]:
    """Three finite numbers, train above zero, none negative; otherwise an error."""
    values = tuple(float(value) for value in ratios)
    if len(values) != 3 or not np.isfinite(values).all() or min(values) < 0 or values[0] <= 0:
        raise DataError(
            f"ratios {'/'.join(f'{v:g}' for v in values)} must be three numbers (train/valid/test), "
            "none negative and train above zero, such as 80/10/10"
        )
    return values


def split_sizes(total: int, ratios: Ratios) -> tuple[int, int, int]:
    """Whole numbers closest to the ratios that add up to the total (largest remainders first)."""
    exact = np.array(ratios) / sum(ratios) * total
    sizes = np.floor(exact).astype(int)
    largest = np.argsort(sizes - exact, kind="stable")
    sizes[largest[: total - sizes.sum()]] += 1
    return int(sizes[0]), int(sizes[1]), int(sizes[2])


def split_facts(
    facts: Triples, ratios: Ratios, seed: int, num_entities: int, num_relations: int
) -> tuple[dict[str, Triples], int]:
    """Split distinct facts at random so that train mentions every entity and relation.

    Coverage comes before the ratios: the second value is the number of facts that train holds beyond its
    ratio for that reason. The result depends only on the set of facts and the seed, not on their order.
    """
    facts = facts[np.argsort(fact_keys(facts, num_entities, num_relations))]
    order = np.random.default_rng(seed).permutation(len(facts))
    covering = _covering(facts[order], num_entities, num_relations)
    # Stable: facts needed for coverage first, both groups in random order.
    order = order[np.argsort(~covering, kind="stable")]
    train, valid, _ = split_sizes(len(facts), ratios)
    extra = max(0, int(covering.sum()) - train)
    if extra:
        train += extra
        valid = split_sizes(len(facts) - train, (0, *ratios[1:]))[1]
    parts = np.split(order, [train, train + valid])
    return {
        split: facts[np.sort(part)] for split, part in zip(("train", "valid", "test"), parts, strict=True)
    }, extra


def _covering(facts: Triples, num_entities: int, num_relations: int) -> NDArray[np.bool_]:
    """Facts that are the first to mention one of their entities or their relation."""
    first_entity = _first_mention(facts[:, [0, 2]].reshape(-1), num_entities) // 2
    first_relation = _first_mention(facts[:, 1], num_relations)
    covering = np.zeros(len(facts) + 1, bool)  # the last place takes names that no fact mentions
    covering[first_entity] = True
    covering[first_relation] = True
    return covering[:-1]


def _first_mention(ids: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """Index of the first occurrence of every id; len(ids) for ids that do not occur."""
    first = np.full(size, len(ids), np.int64)
    first[ids[::-1]] = np.arange(len(ids))[::-1]  # the last assignment, to the earliest place, wins
    return first
