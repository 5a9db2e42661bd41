"""The score of an answer by rules: what an aggregate adds is split exactly among the rules behind it.

The best rule with constants gets what "best" adds; each rule in a noisy-or gets its term.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.explain.ideas import Question
from rnnlogic.features import conditions
from rnnlogic.features.base import Query, Term
from rnnlogic.features.constants.source import counted
from rnnlogic.features.sources import counts_paths, terms_of
from rnnlogic.predictors.base import Contributions
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.rule import Constant, Feature, Rule
from rnnlogic.rules.ruleset import RuleSet


class Share(NamedTuple):
    """What one rule adds to a score."""

    rule: Rule
    place: int | None  # among the rules of the model; None if only an aggregate holds it
    weight: float
    walks: float  # 0 for a feature; where facts have weights, how many walks these are worth
    value: float
    phi: float | None
    counted: Term | None  # how often a rule with constants is right
    is_best: bool = False  # whether it is the best chain, and being that adds to its value


def shares(
    graph: Graph, rules: RuleSet, parts: Contributions, question: Question, is_hidden: bool
) -> list[Share]:
    """The parts of a score by rules, the strongest first; they sum to the parts.

    A rule with constants that gets something from several aggregates has it in one share.
    """
    found: dict[Rule, Share] = {}
    for share in _own(graph, rules, parts, question):
        for one in _split(graph, share, question, is_hidden):
            known = found.get(one.rule)
            found[one.rule] = one if known is None else _sum(known, one)
    return sorted(found.values(), key=lambda share: -abs(share.value))


def _own(graph: Graph, rules: RuleSet, parts: Contributions, question: Question) -> Iterator[Share]:
    """The parts as they are; rules of the model come before features, which share with them."""
    with_paths = counts_paths(rules[parts.rule]) if len(parts.rule) else np.empty(0, bool)
    for i in np.argsort(~with_paths, kind="stable").tolist():
        place = int(parts.rule[i])
        rule, phi = rules[place], None if parts.phi is None else float(parts.phi[i])
        record = None
        if isinstance(rule, Constant):
            record = counted(graph.likely, rule, question.tail if rule.at_head else question.head)
        if isinstance(rule, Condition) and not rule.compares:
            record = conditions.counted(graph.likely, rule, question.tail if rule.at_head else question.head)
        walks = float(parts.count[i]) if with_paths[i] else 0
        if graph.weights is None or isinstance(rule, Constant):
            walks = int(walks)
        numbers = float(parts.weight[i]), walks, float(parts.values[i])
        yield Share(rule, place, *numbers, phi, record, i == parts.best)


def _split(graph: Graph, share: Share, question: Question, is_hidden: bool) -> list[Share]:
    """What a feature adds, by the rules behind it that no model holds; other shares stay whole.

    The last takes what rounding leaves.
    """
    if not isinstance(share.rule, Feature):
        return [share]
    behind = terms_of(graph, share.rule.name, Query(*question, is_hidden))
    if not behind:
        return [share]
    total = math.fsum(one.weight for one in behind)
    values = [share.value * one.weight / total for one in behind[:-1]]
    values.append(share.value - math.fsum(values))
    return [
        Share(one.rule, None, value, 1, value, None, one) for one, value in zip(behind, values, strict=True)
    ]


def _sum(one: Share, more: Share) -> Share:
    """Two shares of the same rule; the weight is what gives their sum."""
    value = one.value + more.value
    weight = one.weight * value / one.value if one.value else value
    return one._replace(weight=weight, value=value)
