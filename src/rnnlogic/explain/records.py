"""The records of rules: how often each is right on training and held-out facts, and how often one decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Tick, no_tick
from rnnlogic.calibrate.proposals import are_known
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.features.base import UNSEEN
from rnnlogic.features.conditions import joined
from rnnlogic.features.ground import Grounder
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.review.log import Decisions
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import NONE, Constant, Feature, Rule, mirrored
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.pairs import rule_figures

QUESTIONS = 200  # held-out questions that a rule is tried on, at most
SEED = 0
QUERIES = 4000  # validation queries asked in all, to count what rules decide
PER_RELATION = (20, 200)  # asked of one relation and direction: at least, if there are so many, and at most


@dataclass(frozen=True)
class Record:
    """How often a rule is right on known facts, those asked about left out."""

    right: int
    cases: int
    confidence: float  # smoothed: five wrong cases more, so that rare rules are trusted less
    doubted: int = 0  # people who said that it was a bad reason

    @property
    def standing(self) -> float:
        """The confidence that decides its place among reasons: a bad reason loses half, a second one more."""
        return self.confidence / (1 + self.doubted)

    def text(self) -> str:
        """For people."""
        return f"{self.right:,} of {self.cases:,}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {"right": self.right, "cases": self.cases, "confidence": self.confidence}
        return told | ({"doubted": self.doubted} if self.doubted else {})


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Validation facts, and what else is known of them."""

    truth: Graph  # validation facts
    elsewhere: Graph  # facts of train and test

    @staticmethod
    def of(dataset: Dataset) -> HeldOut | None:
        """Those of a dataset; None without any."""
        if not len(dataset.valid):
            return None
        size = dataset.vocab.num_entities, dataset.vocab.num_relations
        others = np.concatenate([dataset.train, dataset.test])
        return HeldOut(Graph.from_triples(dataset.valid, *size), Graph.from_triples(others, *size))


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a model's rules on one graph; pairs (X, Y) are counted as `rules` shows them."""

    graph: Graph
    rules: RuleSet
    known: dict[int, Record | None] = field(default_factory=dict)  # by place in the rules; grows with use
    held_out: HeldOut | None = None
    tried: dict[Rule, Record | None] = field(default_factory=dict)  # on held-out facts; grows with use
    doubted: Mapping[Rule, int] = field(default_factory=dict)  # how often people called each a bad reason

    def doubting(self, decisions: Decisions, vocab: Vocab) -> Records:
        """The same records, with what people said about rules."""
        doubted = doubted_rules(decisions, vocab)
        return self if doubted == self.doubted else replace(self, doubted=doubted)

    def reviewed(self, rule: Rule, record: Record | None) -> Record | None:
        """A record with what people said about the rule."""
        number = self.doubted.get(rule, 0)
        return record if record is None or not number else replace(record, doubted=number)

    def of(self, places: Sequence[int]) -> list[Record | None]:
        """The records of some rules [n]; None where a rule predicts nothing.

        Rules that were not counted before are counted now, together.
        """
        new = sorted({place for place in places if place not in self.known})
        if new:
            figures = rule_figures(self.graph, self.rules[new])
            for i, place in enumerate(new):
                self.known[place] = record_of(int(figures.support[i]), int(figures.predictions[i]))
        return [self.known[place] for place in places]

    def of_held_out(self, rule: Rule) -> Record | None:
        """How often a rule is right on held-out facts; None if it says nothing new about them.

        The cases are the pairs that it joins and that no other split holds, for entities with validation
        facts of its relation; it is right where the pair is one of these facts.
        """
        if self.held_out is None or isinstance(rule, Feature):
            return None
        if rule not in self.tried:
            self.tried[rule] = _tried(self.graph, self.held_out, rule)
        return self.tried[rule]


def doubted_rules(decisions: Decisions, vocab: Vocab) -> dict[Rule, int]:
    """How often each rule was called a bad reason, read either way; rules of other graphs are left out."""
    found = Counter[Rule]()
    for one in decisions.current().values():
        if one.verdict == "other-reason" and one.rule:
            try:
                rule = parse_rule(one.rule, vocab)
            except RNNLogicError:
                continue
            found.update({rule, mirrored(rule, vocab.num_relations)})
    return dict(found)


def record_of(right: int, cases: int) -> Record | None:
    """The record of a rule that is right in some of its cases; None without a case."""
    return Record(right, cases, right / (cases + UNSEEN)) if cases > 0 else None


def without_one(record: Record | None) -> Record | None:
    """The record without the case that is asked about, which is a known fact."""
    return None if record is None else record_of(max(record.right - 1, 0), record.cases - 1)


def _tried(graph: Graph, held_out: HeldOut, rule: Rule) -> Record | None:
    if isinstance(rule, Constant | Condition) and rule.at_head:
        rule = mirrored(rule, graph.num_relations)
    asked = np.unique(held_out.truth.edges(rule.head)[0])
    if len(asked) > QUESTIONS:
        asked = np.sort(np.random.default_rng(SEED).permutation(asked)[:QUESTIONS])
    right, cases = 0, 0
    for pairs in _joined(graph, rule, asked):
        facts = np.stack([pairs[:, 0], np.full(len(pairs), rule.head), pairs[:, 1]], axis=1)
        new = facts[~are_known(held_out.elsewhere, facts)]
        right += int(are_known(held_out.truth, new).sum())
        cases += len(new)
    return record_of(right, cases)


def _joined(graph: Graph, rule: Rule, heads: NDArray[np.int32]) -> Iterator[NDArray[np.integer]]:
    """The pairs [n, 2] that the body of a rule joins, for some heads."""
    if isinstance(rule, Constant):
        holders = np.unique(graph.edges(rule.step)[0])
        if rule.other != NONE:
            holders = graph.neighbours(rule.other, graph.inverse(rule.step))
        found = np.intersect1d(heads, holders)
        yield np.stack([found, np.full_like(found, rule.constant)], axis=1)
        return
    if isinstance(rule, Condition):
        yield joined(graph, rule, heads)
        return
    for part in Grounder(graph, RuleSet.from_rules([rule]), threads=1).ground(heads, rule.head):
        query = np.repeat(np.arange(len(part.queries)), np.diff(part.ptr))
        yield np.stack([heads[part.queries[query]], part.entity], axis=1)


@dataclass(frozen=True, eq=False)
class RuleUse:
    """Counts per rule over queries (h, r, ?) of validation facts.

    First is the best answer that is not a fact of train or test, so what is left is right or unknown.
    """

    decided: NDArray[np.int64]  # [n] first answers to which the rule adds most
    right: NDArray[np.int64]  # [n] those of them that are validation facts


def rule_use(
    dataset: Dataset,
    scorer: AnswerScorer,
    relations: Iterable[int] | None = None,
    seed: int = 0,
    tick: Tick = no_tick,
) -> RuleUse | None:
    """Count over a bounded sample of the validation queries of some relations; None without any such query.

    If the embedding adds more to an answer than any rule, no rule has decided. Of tied answers, and of rules
    that add the same, the first by id counts.
    """
    wanted = scorer.rules.head_relations().tolist() if relations is None else list(relations)
    truth = Graph.from_triples(dataset.valid, dataset.vocab.num_entities, dataset.vocab.num_relations)
    queries = _sample(truth, wanted, seed)
    if not len(queries):
        return None
    graph, known = dataset.graph("train"), dataset.graph("all")
    decided, right = np.zeros((2, len(scorer.rules)), np.int64)
    done = 0
    for chunk in scorer.scored(graph, queries[:, 0], queries[:, 1]):
        for i, query in enumerate(chunk.queries.tolist()):
            part, (head, relation) = slice(chunk.ptr[i], chunk.ptr[i + 1]), queries[query].tolist()
            true = truth.neighbours(head, relation)
            others = np.setdiff1d(known.neighbours(head, relation), true)
            best = _best(chunk.entity[part], chunk.values[part], others)
            rule = None if best is None else _decider(graph, scorer, head, relation, best)
            if rule is not None:
                decided[rule] += 1
                right[rule] += best in true
            done += 1
            tick(done, len(queries))
    tick(len(queries), len(queries))
    return RuleUse(decided, right)


def _sample(truth: Graph, relations: list[int], seed: int) -> NDArray[np.int32]:
    """Distinct queries (head, relation) [n, 2] of the validation facts, at most so many of each relation."""
    least, most = PER_RELATION
    number = min(max(QUERIES // max(len(relations), 1), least), most)
    blocks = [np.empty((0, 2), np.int32)]
    for relation in relations:
        heads = np.unique(truth.edges(relation)[0])
        picked = np.random.default_rng([seed, relation]).permutation(heads)[:number]
        blocks.append(np.stack([picked, np.full_like(picked, relation)], axis=1))
    return np.concatenate(blocks)


def _best(entities: NDArray[np.int32], scores: NDArray[np.float64], others: NDArray[np.int32]) -> int | None:
    """The answer ranked first, without those among `others`; None if there is none."""
    scores = np.where(np.isin(entities, others), -np.inf, scores)
    order = np.lexsort((entities, -scores))
    return int(entities[order[0]]) if len(order) and np.isfinite(scores[order[0]]) else None


def _decider(graph: Graph, scorer: AnswerScorer, head: int, relation: int, tail: int) -> int | None:
    """The rule that adds most to the score of an answer; None if the embedding adds more, or none adds."""
    parts = scorer.contributions(graph, head, relation, tail)
    if not len(parts.rule):
        return None
    first = int(np.lexsort((parts.rule, -parts.values))[0])
    return int(parts.rule[first]) if parts.values[first] > max(parts.rest or 0.0, 0.0) else None
