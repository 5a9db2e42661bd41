"""Statistics of rules on a graph as AMIE defines them, from one grounding pass.

For a rule h(X,Y) <- body they count pairs (x, y). A pair counts once, no matter how many walks join it:

    predictions      pairs that the body joins                           (AMIE: size of the body)
    support          predictions that are facts h(x, y)
    confidence       support / predictions                               (standard confidence)
    PCA confidence   support / predictions whose x has a fact h(x, y')   (partial completeness assumption)
    head coverage    support / facts of h

Each body is grounded once, from every entity, for all rules that have it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Tick, no_tick
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.features.chains.paths import Path, paths
from rnnlogic.features.ground import Grounder, Grounding
from rnnlogic.mining.kernels import HeadsOfBodies, Matches, Reached, add_matches
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.rule import Chain, Constant
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable

BODIES = 8192  # bodies grounded together; this bounds the results for one entity
EXAMPLES = 3
MANY = 10_000  # starts from which on only those are looked at that have edges of a body's first relation


@dataclass(frozen=True, eq=False)
class AmieStatistics:
    """Counts of pairs per rule; examples are the first supporting pairs by id of x, then y."""

    predictions: NDArray[np.int64]  # [n]
    support: NDArray[np.int64]  # [n]
    pca_predictions: NDArray[np.int64]  # [n] pairs whose x has a fact of the head
    head_facts: NDArray[np.int64]  # [n] facts of the head relation
    pairs: NDArray[np.int32]  # [n, examples, 2] x, y; -1 where there are fewer

    @property
    def confidence(self) -> NDArray[np.float64]:
        """Standard confidence [n]; like the shares below, 0 where the denominator is 0."""
        return _share(self.support, self.predictions)

    @property
    def pca_confidence(self) -> NDArray[np.float64]:
        """Confidence among the x that have a fact of the head [n]."""
        return _share(self.support, self.pca_predictions)

    @property
    def head_coverage(self) -> NDArray[np.float64]:
        """Share of the head's facts that the rule finds [n]."""
        return _share(self.support, self.head_facts)

    def columns(self) -> dict[str, list[Any]]:
        """The figures by name, for a `RuleTable`."""
        names = ("predictions", "support", "confidence", "pca_confidence", "head_coverage")
        return {name: getattr(self, name).tolist() for name in names}

    def examples(self, graph: Graph, rules: RuleSet, i: int) -> list[Path]:
        """A walk for each example pair of rule i."""
        found = [(x, y) for x, y in self.pairs[i].tolist() if x >= 0]
        return [path for x, y in found for path in paths(graph, x, rules[i], y, limit=1).paths]


def amie_statistics(
    graph: Graph,
    rules: RuleSet,
    threads: int | None = None,
    examples: int = EXAMPLES,
    tick: Tick = no_tick,
    starts: NDArray[np.integer] | None = None,
) -> AmieStatistics:
    """AMIE's statistics of every rule, with up to `examples` supporting pairs each.

    With `starts`, ascending entities, only pairs (x, y) with x among them are counted.
    """
    named = rules.are_features
    if named.any():
        chains = amie_statistics(graph, rules.filter(~named), threads, examples, tick, starts)
        return _spread(chains, ~named, graph, rules)
    entities = np.arange(graph.num_entities) if starts is None else starts
    order, bodies, ptr = by_body(rules)
    heads = rules.heads[order]
    predictions, support, pca = np.zeros((3, len(rules)), np.int64)  # of the rules in `order`
    pairs = np.full((len(rules), examples, 2), -1, np.int32)
    is_reached = np.zeros(graph.num_entities, np.bool_)
    total, done = len(entities) * (math.ceil(len(bodies) / BODIES) + int((~rules.are_chains).any())), 0
    for block, part in groundings(graph, bodies, entities, threads):
        ends = ptr[block : block + len(part.rules) + 1]
        own = slice(ends[0], ends[-1])
        joined = np.diff(part.ptr).reshape(len(part.rules), -1).sum(axis=1)
        predictions[own] += np.repeat(joined, np.diff(ends))
        reached = Reached(entities[part.queries].astype(np.int32), part.entity, part.ptr)
        of_bodies, found = (
            HeadsOfBodies(ends - ends[0], heads[own]),
            Matches(support[own], pca[own], pairs[own]),
        )
        add_matches(graph.arrays, reached, of_bodies, is_reached, found)
        done += len(part.queries)
        tick(min(done, total), total)
    tick(total, total)  # starts that lead nowhere were not looked at
    back = np.argsort(order)
    counts = predictions[back], support[back], pca[back]
    return AmieStatistics(*counts, graph.num_edges[rules.heads], pairs[back])


def _spread(
    found: AmieStatistics, are_chains: NDArray[np.bool_], graph: Graph, rules: RuleSet
) -> AmieStatistics:
    """Statistics of chains among rules, some of which are features: these have no pairs of their own."""
    predictions, support, pca = counts = np.zeros((3, len(rules)), np.int64)
    counts[:, are_chains] = found.predictions, found.support, found.pca_predictions
    pairs = np.full((len(rules), *found.pairs.shape[1:]), -1, np.int32)
    pairs[are_chains] = found.pairs
    return AmieStatistics(predictions, support, pca, graph.num_edges[rules.heads], pairs)


def with_statistics(
    table: RuleTable,
    graph: Graph,
    vocab: Vocab,
    threads: int | None = None,
    examples: int = EXAMPLES,
    tick: Tick = no_tick,
) -> RuleTable:
    """Add AMIE's figures as columns, and example walks, with names, as the column `examples`."""
    found = amie_statistics(graph, table.rules, threads, examples, tick)
    columns = found.columns()
    if examples:
        shown = [found.examples(graph, table.rules, i) for i in range(len(table))]
        columns["examples"] = [[path.text(vocab) for path in walks] for walks in shown]
    return table.with_columns(columns)


Body = Chain | Constant | Condition  # a rule with head 0


def by_body(rules: RuleSet) -> tuple[NDArray[np.int64], list[Body], NDArray[np.int64]]:
    """Rule ids [n] sorted by body, the distinct bodies, and where the rules of each begin [bodies+1].

    Bodies with constants and conditions come last. There must be no features.
    """
    bodies: list[Any] = [rule._replace(head=0) for rule in rules]
    last = (rules.have_constants + 2 * rules.are_conditions).tolist()
    order = sorted(range(len(bodies)), key=lambda i: (last[i], bodies[i]))
    starts = [i for i, rule in enumerate(order) if i == 0 or bodies[rule] != bodies[order[i - 1]]]
    return (
        np.array(order, np.int64),
        [bodies[order[start]] for start in starts],
        np.array([*starts, len(order)], np.int64),
    )


def groundings(
    graph: Graph, bodies: list[Body], starts: NDArray[np.integer], threads: int | None
) -> Iterator[tuple[int, Grounding]]:
    """Ground blocks of bodies from `starts`; each part comes with the position of its block's first body.

    The queries of a part are positions in `starts`, ascending. The bodies are sorted, so a block's trie keeps
    their order; those with constants are grounded apart. If there are many starts, bodies of one first step
    make a block, and start only where that leads on: most entities have edges of few relations.
    """
    first = [body.body[:1] for body in bodies if isinstance(body, Chain)]
    chains = len(first)
    blocks = {*range(0, chains, BODIES), *range(chains, len(bodies), BODIES)}
    if len(starts) >= MANY:
        blocks |= {i for i in range(1, chains) if first[i] != first[i - 1]}
    for start, end in pairwise([*sorted(blocks), len(bodies)]):
        block = RuleSet.from_rules(bodies[start:end])
        is_whole = len(starts) < MANY or start >= chains or not first[start]
        own = np.arange(len(starts)) if is_whole else _having(graph, first[start][0], starts)
        for part in Grounder(graph, block, threads).ground(starts[own], 0):
            yield start, replace(part, queries=own[part.queries])


def _having(graph: Graph, relation: int, starts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Which of some ascending entities have edges of a relation: their positions, ascending."""
    a = graph.arrays
    heads = a.row_head[a.relation_rows[relation] : a.relation_rows[relation + 1]]
    place = np.searchsorted(starts, heads)
    is_among = starts[np.minimum(place, len(starts) - 1)] == heads
    return np.asarray(place[is_among], np.int64)


def _share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(part / np.maximum(whole, 1), np.float64)
