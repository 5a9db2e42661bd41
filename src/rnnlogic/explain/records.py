"""The records of rules: how often each is right on the training facts and on held-out ones, counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.calibrate.proposals import are_known
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.reasons import Record
from rnnlogic.features.base import UNSEEN
from rnnlogic.features.conditions import joined
from rnnlogic.features.ground import Grounder
from rnnlogic.review.log import Decisions
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import NONE, Chain, Constant, Rule, mirrored
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.pairs import rule_figures

QUESTIONS = 200  # held-out questions that a rule is tried on, at most
SEED = 0


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
        if self.held_out is None or not isinstance(rule, Chain | Constant | Condition):
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


def _tried(graph: Graph, held_out: HeldOut, rule: Chain | Constant | Condition) -> Record | None:
    if isinstance(rule, Constant | Condition) and rule.at_head:
        turned = mirrored(rule, graph.num_relations)
        assert isinstance(turned, Constant | Condition)
        rule = turned
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


def _joined(
    graph: Graph, rule: Chain | Constant | Condition, heads: NDArray[np.int32]
) -> Iterator[NDArray[np.integer]]:
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
