"""The most probable missing facts of a graph: all questions are asked, and a bounded number of facts kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.answering.calibration.level import Level, asked_direction
from rnnlogic.answering.calibration.standing import new_answers, straight
from rnnlogic.answering.explain import named_facts
from rnnlogic.base.types import Progress
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.grounding.paths import Path, paths
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.rules.rule import Rule, format_rule

SPARE = 4  # facts that get a second look for each one wanted
LEAST_SPARE = 2000
BLOCK = 4096  # questions between two reports of progress


@dataclass(frozen=True)
class NewFact:
    """A missing fact, how probable it is, and the strongest reason for it."""

    head: str
    relation: str
    tail: str
    probability: float
    rule: str | None  # the rule that adds most to its score; None if only an embedding speaks for it
    path: str | None  # one walk of that rule from head to tail
    facts: tuple[tuple[str, str, str], ...]  # the facts of that walk

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "head": self.head,
            "relation": self.relation,
            "tail": self.tail,
            "probability": self.probability,
            "rule": self.rule,
            "path": self.path,
            "facts": [list(fact) for fact in self.facts],
        }


def complete(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    level: Level,
    relations: Sequence[int],
    min_probability: float,
    most: int,
    progress: Progress,
) -> Iterator[NewFact]:
    """The `most` most probable facts of some relations (< R) that are not in the graph, best first.

    Facts are proposed by the rules of their relation (by those of its inverse if it has none). The best by
    this question alone, SPARE times as many as wanted, are then asked for the other way round too, and ranked
    by the probability that follows from both.
    """
    number = max(SPARE * most, LEAST_SPARE)
    facts, probability = proposed_facts(graph, scorer, level, relations, number, progress)
    best = np.lexsort((facts[:, 2], facts[:, 0], facts[:, 1], -probability))
    best = best[probability[best] >= min_probability][:most]
    for done, i in enumerate(best.tolist(), 1):
        head, relation, tail = facts[i].tolist()
        rule, path = strongest_reason(graph, scorer, head, relation, tail)
        progress("reasons", done, len(best), "")
        yield NewFact(
            vocab.entities[head],
            vocab.relations[relation],
            vocab.entities[tail],
            float(probability[i]),
            None if rule is None else format_rule(rule, vocab),
            None if path is None else path.text(vocab, labels=False),
            () if path is None else tuple(named_facts(path, vocab)),
        )


def proposed_facts(
    graph: Graph,
    scorer: AnswerScorer,
    level: Level,
    relations: Sequence[int],
    number: int,
    progress: Progress,
) -> tuple[Triples, NDArray[np.float64]]:
    """The `number` best new facts [n, 3] by the question that proposes them, and their probabilities [n]."""
    chosen = Shortlist(number)
    answered = set(scorer.rules.head_relations().tolist())
    wanted = [r for r in relations if asked_direction(scorer.rules, r, graph.num_relations) in answered]
    for done, relation in enumerate(wanted):
        _propose(graph, scorer, level, relation, chosen, done, len(wanted), progress)
    facts = chosen.facts()
    probability = np.zeros(len(facts))
    present = np.unique(facts[:, 1])
    for done, relation in enumerate(present.tolist(), 1):
        rows = facts[:, 1] == relation
        probability[rows] = level.probabilities(graph, scorer, facts[rows])
        progress("second look", done, len(present), "")
    return facts, probability


def strongest_reason(
    graph: Graph, scorer: AnswerScorer, head: int, relation: int, tail: int
) -> tuple[Rule | None, Path | None]:
    """The rule that adds most to relation(head, tail), with one walk of it.

    Rules of the inverse relation, where only they reach it, are turned round.
    """
    asked = asked_direction(scorer.rules, relation, graph.num_relations)
    for question in (asked, graph.inverse(asked)):
        ends = (head, tail) if question < graph.num_relations else (tail, head)
        parts = scorer.contributions(graph, ends[0], question, ends[1])
        is_chain = ~scorer.rules.are_evidence[parts.rule]
        if is_chain.any():
            best = np.argmax(np.where(is_chain, parts.values, -np.inf))
            rule = scorer.rules[int(parts.rule[best])]
            if question >= graph.num_relations:
                rule = Rule(relation, tuple(graph.inverse(step) for step in reversed(rule.body)))
            return rule, paths(graph, head, rule, tail, limit=1).paths[0]
    return None, None


class Shortlist:
    """The facts of the highest values so far; holds at most twice as many as asked for."""

    def __init__(self, size: int) -> None:
        self._size, self._held, self._least = size, 0, -np.inf
        self._parts: list[tuple[NDArray[np.float64], Triples]] = []

    def add(self, values: NDArray[np.float64], facts: Triples) -> None:
        """Offer facts [n, 3] with their values [n]; of equal ones the first stay."""
        kept = values > self._least
        self._parts.append((values[kept], facts[kept]))
        self._held += int(kept.sum())
        if self._held > 2 * self._size:
            self._cut()

    def facts(self) -> Triples:
        """The facts [n, 3], best first."""
        self._cut()
        return self._parts[0][1]

    def _cut(self) -> None:
        none = (np.empty(0), np.empty((0, 3), np.int32))
        values, facts = (np.concatenate(column) for column in zip(none, *self._parts, strict=True))
        best = np.argsort(-values, kind="stable")[: self._size]
        self._parts, self._held = [(values[best], facts[best])], len(best)
        if len(best) == self._size:
            self._least = float(values[best[-1]])


def _propose(
    graph: Graph,
    scorer: AnswerScorer,
    level: Level,
    relation: int,
    chosen: Shortlist,
    done: int,
    total: int,
    progress: Progress,
) -> None:
    """Ask (head, relation, ?) for all heads and keep the best of what is new."""
    asked = asked_direction(scorer.rules, relation, graph.num_relations)
    for start in range(0, graph.num_entities, BLOCK):
        heads = np.arange(start, min(start + BLOCK, graph.num_entities), dtype=np.int32)
        for block in new_answers(graph, scorer, heads, asked):
            values = level.one_way.logits(block.features, asked)
            columns = (heads[block.question], np.full(len(block), asked), block.entity)
            chosen.add(values, straight(np.stack(columns, axis=1), graph.num_relations))
        asked_so_far = done * graph.num_entities + int(heads[-1]) + 1
        progress("questions", asked_so_far, total * graph.num_entities, "")
