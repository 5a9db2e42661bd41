"""Statistics of rules as AnyBURL and PyClause define them, for rule files that these programs read.

Like AMIE's they count pairs (x, y), but under object identity: all entities of a path differ, x and y
included. So no path goes there and back, and none uses the fact h(x, y) that the rule predicts.

    predictions      pairs that a path along the body joins
    support          predictions that are facts h(x, y)
    confidence       support / predictions

Bodies with very many paths are followed from a random sample of entities, as AnyBURL itself does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Tick, no_tick
from rnnlogic.data.graph import Graph
from rnnlogic.mining.kernels import count_simple
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.rule import NONE, Chain, Constant, is_trivial
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable
from rnnlogic.statistics.pairs import by_body

STEPS = 2_000_000  # followed for one body


@dataclass(frozen=True, eq=False)
class AnyburlStatistics:
    """Counts of pairs per rule; both are of the sample where `is_sample` says so."""

    predictions: NDArray[np.int64]  # [n]
    support: NDArray[np.int64]  # [n]
    is_sample: NDArray[np.bool_]  # [n] whether the rule has more paths than were followed

    @property
    def confidence(self) -> NDArray[np.float64]:
        """support / predictions [n]; 0 where nothing is predicted."""
        return np.asarray(self.support / np.maximum(self.predictions, 1), np.float64)

    def columns(self) -> dict[str, list[Any]]:
        """The figures by name, for a `RuleTable`."""
        return {name: getattr(self, name).tolist() for name in ("predictions", "support", "confidence")}


class _Shared(NamedTuple):
    graph: Graph
    steps: int
    seed: int


class _Unit(NamedTuple):
    """A body and the heads of the rules that have it."""

    body: Chain | Constant | Condition  # with head 0
    heads: NDArray[np.int32]


def anyburl_statistics(
    graph: Graph,
    rules: RuleSet,
    threads: int | None = None,
    steps: int = STEPS,
    seed: int = 0,
    tick: Tick = no_tick,
) -> AnyburlStatistics:
    """AnyBURL's statistics of every rule; a rule r <- r or with an empty body predicts nothing.

    Neither does a condition, which AnyBURL does not know.
    """
    order, bodies, ptr = by_body(rules)
    predictions, support = np.zeros((2, len(rules)), np.int64)
    is_sample = np.zeros(len(rules), np.bool_)
    units = [_Unit(body, rules.heads[order[ptr[i] : ptr[i + 1]]]) for i, body in enumerate(bodies)]
    for i, found in enumerate(map_ordered(_count, units, _Shared(graph, steps, seed), threads)):
        own = order[ptr[i] : ptr[i + 1]]
        predictions[own], support[own], is_sample[own] = found
        tick(i + 1, len(units))
    return AnyburlStatistics(predictions, support, is_sample)


def with_anyburl_statistics(
    table: RuleTable, graph: Graph, threads: int | None = None, tick: Tick = no_tick
) -> tuple[RuleTable, int]:
    """The table with AnyBURL's figures as columns, and how many rules have figures of a sample."""
    found = anyburl_statistics(graph, table.rules, threads, tick=tick)
    return table.with_columns(found.columns()), int(found.is_sample.sum())


def _count(shared: _Shared, unit: _Unit) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Predictions and support of the rules with one body, and whether they are of a sample."""
    graph, support = shared.graph, np.zeros(len(unit.heads), np.int64)
    if isinstance(unit.body, Constant):
        return _count_constants(graph, unit, unit.body)
    if isinstance(unit.body, Condition):
        return support, support, False
    steps_of_body = unit.body.body
    if not steps_of_body:
        return support, support, False
    starts = np.unique(graph.edges(steps_of_body[0])[0])
    np.random.default_rng([shared.seed, *steps_of_body]).shuffle(starts)
    is_end = np.zeros(graph.num_entities, np.bool_)
    body = np.array(steps_of_body, np.int32)
    predictions, steps = count_simple(graph.arrays, body, unit.heads, starts, shared.steps, is_end, support)
    says_something = _says_something(unit)
    return predictions * says_something, support * says_something, steps >= shared.steps


def _count_constants(
    graph: Graph, unit: _Unit, told: Constant
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """The same for a body with constants: the entities that have it, other than those that the rule names."""
    step = graph.inverse(told.step) if told.at_head else told.step  # from the variable to the other entity
    have, others = graph.edges(step)
    if told.other != NONE:
        have = graph.neighbours(told.other, graph.inverse(step))
    else:
        have = np.unique(have[(others != have) & (others != told.constant)])
    have = have[(have != told.constant) & (have != told.other)]
    support = np.zeros(len(unit.heads), np.int64)
    for i, head in enumerate(unit.heads.tolist()):
        relation = head if told.at_head else graph.inverse(head)
        support[i] = np.isin(have, graph.neighbours(told.constant, relation)).sum()
    says_something = _says_something(unit)
    return len(have) * says_something, support * says_something, False


def _says_something(unit: _Unit) -> NDArray[np.bool_]:
    """Which rules [n] are not r <- r, whose only path is the predicted fact."""
    return np.array([not is_trivial(unit.body._replace(head=head)) for head in unit.heads.tolist()], np.bool_)
