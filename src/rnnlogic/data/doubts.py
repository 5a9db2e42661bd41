"""Signs that a table was read in the wrong order: reported with three facts as we read them.

Nothing is changed here. A column that holds the wrong thing shows in the shape of the graph, so the checks
count different heads, relations and tails. They stay quiet on ordinary graphs, from a family tree to Nations
(55 relations between 14 countries). RDF, which has no columns, and columns that the user has chosen are never
doubted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import MENTIONED
from rnnlogic.data.graph import Triples
from rnnlogic.data.raw import RawFacts, shortened
from rnnlogic.data.vocab import folded

LEAST_FACTS = 5  # fewer facts can have any shape
LEAST_FOR_HEADER = {"assumed": 5, "numbered": 3}
LEAST_FOR_LONELY = 20  # in fewer facts a relation with a single one is no surprise
# Entities read as relations show in their number; Nations has 55 for 14 entities, with 29 facts for each
MANY_RELATIONS = 20  # small graphs may have any shape
FACTS_PER_RELATION = 10
ENTITIES_PER_RELATION = 10
ENTITIES_AMONG_RELATIONS = 4  # one in so many relations may also be an entity, as in an ontology
REMEDY = (
    "if that is wrong, choose columns by name or number: --columns head,relation,tail (columns= in Python)"
)


def doubts_of(raw: RawFacts, entities: Sequence[str], relations: Sequence[str]) -> Iterator[str]:
    """One sentence for every sign that the facts are not what they should be."""
    facts = next(iter(raw.splits.values()))  # train, or all facts that are still to be split
    reasons = [*raw.tally.doubts, *_shape(raw, facts)]
    if reasons:
        yield f"please check: {'; '.join(reasons)}. We read it so that {_samples(raw, facts)}; {REMEDY}"
    yield from _suspicious_names(raw, frozenset(entities))
    if raw.tally.order != "certain":
        yield from _similar_names(entities, relations)
        yield from _lonely_relations(raw)


def _shape(raw: RawFacts, facts: Triples) -> Iterator[str]:
    order = raw.tally.order
    if order in ("assumed", "numbered") and len(facts) >= LEAST_FOR_HEADER[order] and _stands_alone(facts):
        named = ",".join(_row(raw, facts[0]))
        yield (
            "the first row looks like a header that we do not know: its names never come back"
            f" (--columns {named} reads it as one)"
        )
    if order not in ("assumed", "named") or len(facts) < LEAST_FACTS:
        return
    heads, relations, tails = (_different(facts[:, i]) for i in range(3))
    entities = _different(facts[:, [0, 2]])
    if relations == len(facts):
        yield f"every fact has a relation of its own ({relations:,})"
    elif (
        relations >= MANY_RELATIONS
        and relations * ENTITIES_PER_RELATION > entities
        and relations * FACTS_PER_RELATION > len(facts)
    ):
        yield f"there are {relations:,} relations for {entities:,} entities and {len(facts):,} facts"
    if order == "assumed":
        both = [name for name in raw.relations if name in raw.entities]
        if len(both) * ENTITIES_AMONG_RELATIONS >= len(raw.relations):
            yield f"{_some(both)} occur both as relation and as entity"
        if entities == heads + tails and relations > min(heads, tails):
            fewest = "heads" if heads < tails else "tails"
            yield f"there are more relations ({relations:,}) than different {fewest} ({min(heads, tails):,})"


def _different(ids: NDArray[np.int32]) -> int:
    """How many different ids; faster than sorting them."""
    seen = np.zeros(int(ids.max()) + 1, bool)
    seen[ids] = True
    return int(seen.sum())


def _stands_alone(facts: Triples) -> bool:
    """Whether no other fact mentions any name of the first."""
    head, relation, tail = facts[0]
    others, ends = facts[1:], facts[1:, [0, 2]]
    return not ((others[:, 1] == relation).any() or (ends == head).any() or (ends == tail).any())


def _suspicious_names(raw: RawFacts, entities: frozenset[str]) -> Iterator[str]:
    for head, relation, tail in raw.tally.headers:
        if relation in raw.relations and head in raw.entities and tail in raw.entities:
            yield f"please check: the header {head}, {relation}, {tail} seems to occur again among the facts"
    if raw.tally.order != "certain":
        whole = [name for name in raw.entities if name.endswith(".0") and {name, name[:-2]} <= entities]
        if whole:
            pairs = [f"{name[:-2]} and {name}" for name in whole]
            yield (
                f"please check: {_some(pairs)} are different entities; "
                "if they should be one, write the column as whole numbers"
            )


def _similar_names(entities: Sequence[str], relations: Sequence[str]) -> Iterator[str]:
    """Names that differ only by case, blanks, accents or a plural."""
    for kind, names in (("relations", relations), ("entities", entities)):
        pairs = [f"{shortened(one)!r} and {shortened(other)!r}" for one, other in look_alikes(names)]
        if pairs:
            more = f", ... ({len(pairs):,} pairs in all)" if len(pairs) > MENTIONED else ""
            yield (
                f"please check: the {kind} {', '.join(pairs[:MENTIONED])}{more} differ only by case, blanks, "
                "accents or a plural; if they are one, give them one name in the data"
            )


def _lonely_relations(raw: RawFacts) -> Iterator[str]:
    """Relations with a single fact, from which nothing can be learned."""
    counts = np.zeros(len(raw.relations), np.int64)
    for facts in raw.splits.values():
        counts += np.bincount(facts[:, 1], minlength=len(raw.relations))
    lonely = [name for name, place in raw.relations.items() if counts[place] == 1]
    if lonely and counts.sum() >= LEAST_FOR_LONELY:
        verb = "relation has" if len(lonely) == 1 else "relations have"
        yield (
            f"please check: {len(lonely):,} {verb} a single fact, so nothing can be learned of "
            f"{'it' if len(lonely) == 1 else 'them'}: {_some(lonely)}"
        )


def _samples(raw: RawFacts, facts: Triples) -> str:
    rows = facts[:MENTIONED].tolist()
    entities = _names_of(raw.entities, {i for head, _, tail in rows for i in (head, tail)})
    relations = _names_of(raw.relations, {relation for _, relation, _ in rows})
    return ", ".join(f"{entities[h]} -{relations[r]}-> {entities[t]}" for h, r, t in rows)


def _row(raw: RawFacts, fact: NDArray[np.int32]) -> tuple[str, str, str]:
    """The names of a fact."""
    head, relation, tail = fact.tolist()
    entities = _names_of(raw.entities, {head, tail})
    return entities[head], _names_of(raw.relations, {relation})[relation], entities[tail]


def _names_of(names: dict[str, int], wanted: set[int]) -> dict[int, str]:
    return {i: shortened(name) for name, i in names.items() if i in wanted}


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(shortened(name) for name in islice(names, MENTIONED))
    return shown + (f", ... ({len(names):,} in all)" if len(names) > MENTIONED else "")


MOST_COMPARED = 1_000_000  # names; folding them takes about two seconds
LEAST_PLURAL = 4  # letters of a word whose -s may be a plural: `gas` and `bus` have three
NO_PLURAL = ("ss", "us", "is")  # class, virus, basis
_CODE = re.compile(r"\S*\d\S*")  # a name without blanks, with a digit: its case may mean something


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
