"""Decisions as ids of one graph: which facts are known besides those of the data, and which are not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import DataError
from rnnlogic.data.annotations import noted
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset, Evidence
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.review.decision import Decision, Fact
from rnnlogic.review.log import DecisionLog, Decisions


class Judged(NamedTuple):
    """Facts by what was decided about them, as ids [n, 3], relations below R."""

    accepted: Triples
    rejected: Triples
    unknown: int  # decisions about facts whose names the graph lacks

    def rejected_answers(self, num_relations: int) -> dict[tuple[int, int], list[int]]:
        """Entities that are no answers of (head, relation), in both directions."""
        found: dict[tuple[int, int], list[int]] = {}
        for head, relation, tail in self.rejected.tolist():
            found.setdefault((head, relation), []).append(tail)
            found.setdefault((tail, relation + num_relations), []).append(head)
        return found


def judged(decisions: Iterable[Decision], vocab: Vocab) -> Judged:
    """What decisions say about the facts of a graph."""
    known: dict[bool, list[tuple[int, int, int]]] = {True: [], False: []}
    unknown = 0
    places = {name: place for place, name in enumerate(vocab.relations)}
    for one in decisions:
        if one.relation not in places or not (vocab.has_entity(one.head) and vocab.has_entity(one.tail)):
            unknown += 1
        elif one.is_true is not None:
            ends = vocab.entity_id(one.head), vocab.entity_id(one.tail)
            known[one.is_true].append((ends[0], places[one.relation], ends[1]))
    accepted, rejected = (np.array(known[kind], np.int32).reshape(-1, 3) for kind in (True, False))
    return Judged(accepted, rejected, unknown)


def straight_names(vocab: Vocab, head: str, relation: str, tail: str) -> Fact:
    """A fact by the names of the data, the way round that the graph has it."""
    asked = vocab.relation_id(relation)
    ends = [vocab.entities[vocab.entity_id(name)] for name in (head, tail)]
    if asked >= vocab.num_relations:
        ends.reverse()
    return ends[0], vocab.relations[asked % vocab.num_relations], ends[1]


def without(facts: Triples, others: Triples) -> Triples:
    """Facts [n, 3] that are not among others."""
    return facts[~are_among(facts, others)] if len(others) else facts


def are_among(facts: Triples, others: Triples) -> NDArray[np.bool_]:
    """Which facts [n, 3] are among others; these are few."""
    wanted = set(map(tuple, others.tolist()))
    found = np.zeros(len(facts), bool)
    maybe = np.flatnonzero(np.isin(facts[:, 0], others[:, 0])) if len(others) else np.empty(0, np.int64)
    found[maybe] = [tuple(fact) in wanted for fact in facts[maybe].tolist()]
    return found


def reviewed(dataset: Dataset, decisions: Decisions, source: str) -> tuple[Dataset, list[str]]:
    """The dataset to learn from: accepted facts in train, rejected ones nowhere; and notes.

    An accepted fact that is held out stays held out, so evaluations stay what they are. The dataset knows
    what was decided: probabilities are measured on it, too.
    """
    current = decisions.current()
    found = judged(current.values(), dataset.vocab)
    if current and found.unknown == len(current):
        problem = f"none of its {len(current):,} decisions is about {dataset.name}: it lacks their names"
        raise DataError(f"{problem}; nothing was changed", source)
    notes = decisions.warnings()
    if found.unknown:
        notes.append(f"{source}: {found.unknown:,} decisions name what the graph lacks; they are not used")
    splits = {split: without(dataset.facts(split), found.rejected) for split in EVIDENCE_SPLITS["all"]}
    new = found.accepted
    for facts in splits.values():
        new = without(new, facts)
    splits["train"] = np.concatenate([splits["train"], new])
    taken = sum(len(dataset.facts(split)) for split in splits) + len(new) - sum(map(len, splits.values()))
    notes.append(
        f"review: {len(new):,} accepted facts added to train, {len(found.rejected):,} rejected"
        + (f", {taken:,} of them taken out of the data" if taken else "")
    )
    train, valid, test = splits.values()
    changed = replace(dataset, train=train, valid=valid, test=test)
    return replace(changed, accepted=found.accepted, rejected=found.rejected), notes


def removed(dataset: Dataset, gone: frozenset[Fact]) -> Dataset:
    """The dataset without some of its facts, given by the names of the data; others do no harm.

    Accepted facts that are not in the data are taken out of a review instead, by the `Reviewer`.
    """
    ids = judged((Decision(*fact, "reject") for fact in gone), dataset.vocab).rejected
    train, valid, test = (without(dataset.facts(split), ids) for split in EVIDENCE_SPLITS["all"])
    return replace(dataset, train=train, valid=valid, test=test)


def lacking(dataset: Dataset, gone: frozenset[Fact], accepted: frozenset[Fact]) -> list[Fact]:
    """Facts that are neither in the data nor accepted, in order."""
    wanted = sorted(gone - accepted)
    found = judged((Decision(*fact, "reject") for fact in wanted), dataset.vocab)
    if found.unknown:
        names = dict.fromkeys(dataset.vocab.relations)
        return [
            fact
            for fact in wanted
            if fact[1] not in names or not all(map(dataset.vocab.has_entity, fact[::2]))
        ]
    every = np.concatenate([dataset.facts(split) for split in EVIDENCE_SPLITS["all"]])
    is_there = are_among(found.rejected, every)
    return [fact for fact, known in zip(wanted, is_there, strict=True) if not known]


@dataclass
class _Seen:
    decisions: Decisions
    vocab: Vocab
    judged: Judged
    answers: dict[tuple[int, int], list[int]]


class Reviewer:
    """The decisions about a model, as it needs them; what was worked out is kept until they change."""

    def __init__(self, log: DecisionLog | None = None, gone: frozenset[Fact] = frozenset()) -> None:
        self.log = log or DecisionLog()
        self.gone = gone  # facts that were taken away, whatever was decided about them
        self._seen: _Seen | None = None
        self._graphs: dict[tuple[int, str], tuple[Judged, Graph, Graph]] = {}

    def judged(self, vocab: Vocab) -> Judged:
        """What counts now."""
        return self._now(vocab).judged

    def rejected_answers(self, vocab: Vocab) -> dict[tuple[int, int], list[int]]:
        """Entities that are no answers of (head, relation), relation in 0..2R-1."""
        return self._now(vocab).answers

    def noted(self, dataset: Dataset) -> Vocab:
        """The names of a dataset, with what is told about its facts; those accepted come from a review."""
        return noted(dataset.vocab, dataset.annotations, self.judged(dataset.vocab).accepted)

    def graph(self, dataset: Dataset, evidence: Evidence) -> Graph:
        """The known facts: those of the evidence and the accepted ones, without the rejected ones."""
        graph, now = dataset.graph(evidence), self.judged(dataset.vocab)
        key = id(graph), evidence
        kept = self._graphs.get(key)
        if kept is None or kept[0] is not now or kept[1] is not graph:
            if len(self._graphs) > len(EVIDENCE_SPLITS):
                self._graphs.clear()
            kept = self._graphs[key] = (now, graph, dataset.weighed(_changed(graph, now)))
        return kept[2]

    def _now(self, vocab: Vocab) -> _Seen:
        decisions, seen = self.log.read(), self._seen
        if seen is None or seen.decisions is not decisions or seen.vocab is not vocab:
            current = decisions.current()
            found = judged((one for fact, one in current.items() if fact not in self.gone), vocab)
            seen = _Seen(decisions, vocab, found, found.rejected_answers(vocab.num_relations))
            self._seen = seen
        return seen


def _changed(graph: Graph, now: Judged) -> Graph:
    """The graph with what was decided; the same one if that changes nothing."""
    new = [fact for fact in now.accepted.tolist() if not graph.has(*fact)]
    gone = [fact for fact in now.rejected.tolist() if graph.has(*fact)]
    if not new and not gone:
        return graph
    facts = without(graph.triples(), np.array(gone, np.int32).reshape(-1, 3))
    facts = np.concatenate([facts, np.array(new, np.int32).reshape(-1, 3)])
    return Graph.from_triples(facts, graph.num_entities, graph.num_relations).valued(graph.values)
