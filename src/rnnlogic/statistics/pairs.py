"""The pairs (x, y) that rules predict: AMIE's figures of them, examples, and rules that predict the same.

For a rule h(X,Y) <- body AMIE counts pairs. A pair counts once, no matter how many walks join it:

    predictions      pairs that the body joins                           (AMIE: size of the body)
    support          predictions that are facts h(x, y)
    confidence       support / predictions                               (standard confidence)
    PCA confidence   support / predictions whose x has a fact h(x, y')   (partial completeness assumption)
    head coverage    support / facts of h

Each body is grounded once for all rules that have it. Where that takes long, rules start from random entities
x, first a few, then twice as many each time; a rule that has predicted enough pairs is done, and its figures
are estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import TimeIsUp
from rnnlogic.base.types import Tick, no_tick
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.features.chains.paths import Path, paths
from rnnlogic.features.ground import Grounder, Grounding
from rnnlogic.mining.kernels import HeadsOfBodies, Matches, Reached, add_matches
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.rule import Chain, Constant, Feature, Rule
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable

BODIES = 8192  # bodies grounded together; this bounds the results for one entity
EXAMPLES = 3  # of a rule, by default
MANY = 10_000  # starts from which on only those are looked at that have edges of a body's first relation
ENOUGH = 20_000  # pairs that a rule predicts; its confidence is then known to about half a percent
FIRST = 64  # entities to begin with: few are enough for most rules on small graphs
# Rules that say the same
ALIKE = 0.9  # Jaccard similarity of the predicted pairs
PAIRS = 5_000  # of a rule, to compare it by: their similarity is then known to about half a percent
MOST = 100  # rules of a head compared with each other: as many as people read
TOGETHER = 500  # rules grounded together; this bounds the pairs held at a time
NAMES = ("predictions", "support", "confidence", "pca_confidence", "head_coverage")

Keys = NDArray[np.int64]  # x * entities + y, ascending
Blocks = list[Keys]  # what a rule predicts, for each block of entities


@dataclass(frozen=True, eq=False)
class RuleFigures:
    """AMIE's figures per rule; counts from a sample are scaled to all entities."""

    counts: NDArray[np.int64]  # [3, n] predictions, support, predictions whose x has a fact of the head
    head_facts: NDArray[np.int64]  # [n] facts of the head relation
    share: NDArray[np.float64]  # [n] of the entities x that were looked at; 1: the figures are exact
    pairs: NDArray[np.int32]  # [n, examples, 2] the first supporting pairs by id of x, then y; -1: no more

    @cached_property
    def predictions(self) -> NDArray[np.int64]:
        """Pairs that the body joins [n]."""
        return np.asarray(self._scaled[0])

    @cached_property
    def support(self) -> NDArray[np.int64]:
        """Predictions that are facts [n]."""
        return np.asarray(self._scaled[1])

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """Standard confidence [n]; like the shares below, 0 where the denominator is 0."""
        return np.asarray(self.counts[1] / np.maximum(self.counts[0], 1))

    @cached_property
    def pca_confidence(self) -> NDArray[np.float64]:
        """Confidence among the x that have a fact of the head [n]."""
        return np.asarray(self.counts[1] / np.maximum(self.counts[2], 1))

    @cached_property
    def head_coverage(self) -> NDArray[np.float64]:
        """Share of the head's facts that the rule finds [n]."""
        return np.asarray(np.minimum(self.counts[1] / self._seen / np.maximum(self.head_facts, 1), 1.0))

    @cached_property
    def _seen(self) -> NDArray[np.float64]:
        return np.where(self.share > 0, self.share, 1.0)

    @cached_property
    def _scaled(self) -> NDArray[np.int64]:
        return np.rint(self.counts / self._seen).astype(np.int64)

    def columns(self) -> dict[str, list[Any]]:
        """The figures by name, for a `RuleTable`."""
        return {name: getattr(self, name).tolist() for name in NAMES}

    def row(self, i: int) -> dict[str, Any]:
        """The figures of rule i by name."""
        return {name: getattr(self, name)[i].item() for name in NAMES}

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
) -> RuleFigures:
    """AMIE's statistics of every rule, with up to `examples` supporting pairs each.

    With `starts`, ascending entities, only pairs (x, y) with x among them are counted.
    """
    entities = np.arange(graph.num_entities) if starts is None else starts
    order, bodies, ptr = by_body(rules)
    heads = rules.heads[order]
    predictions, support, pca = counts = np.zeros((3, len(order)), np.int64)  # of the rules in `order`
    pairs = np.full((len(order), examples, 2), -1, np.int32)
    is_reached = np.zeros(graph.num_entities, np.bool_)
    others = rules.have_constants | rules.are_conditions
    total, done = len(entities) * (math.ceil(len(bodies) / BODIES) + int(others.any())), 0
    for block, part in groundings(graph, bodies, entities, threads):
        ends = ptr[block : block + len(part.rules) + 1]
        own = slice(ends[0], ends[-1])
        joined = np.diff(part.ptr).reshape(len(part.rules), -1).sum(axis=1)
        predictions[own] += np.repeat(joined, np.diff(ends))
        reached = Reached(entities[part.queries].astype(np.int32), part.entity, part.ptr)
        of_bodies = HeadsOfBodies(ends - ends[0], heads[own])
        found = Matches(support[own], pca[own], pairs[own])
        add_matches(graph.arrays, reached, of_bodies, is_reached, found)
        done += len(part.queries)
        tick(min(done, total), total)
    tick(total, total)  # starts that lead nowhere were not looked at
    all_counts = np.zeros((3, len(rules)), np.int64)  # features have no pairs of their own
    all_pairs = np.full((len(rules), examples, 2), -1, np.int32)
    all_counts[:, order], all_pairs[order] = counts, pairs
    return RuleFigures(all_counts, graph.num_edges[rules.heads], np.ones(len(rules)), all_pairs)


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
    """Ids [n] of rules sorted by body, the distinct bodies, and where the rules of each begin [bodies+1].

    Bodies with constants and conditions come last; features have none, and are left out.
    """
    last = (rules.have_constants + 2 * rules.are_conditions).tolist()
    bodies: dict[int, Any] = {
        i: rules[i]._replace(head=0) for i in np.flatnonzero(~rules.are_features).tolist()
    }
    order = sorted(bodies, key=lambda i: (last[i], bodies[i]))
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


def rule_figures(
    graph: Graph,
    rules: RuleSet,
    threads: int | None = None,
    enough: int = ENOUGH,
    seed: int = 0,
    tick: Tick = no_tick,
) -> RuleFigures:
    """AMIE's figures of every rule, from a sample for those that predict more than `enough` pairs.

    If the time that is enforced is up, they rest on what was looked at; the share is 0 if that is nothing.
    """
    number, entities = len(rules), graph.num_entities
    counts, looked = np.zeros((3, number), np.int64), np.zeros(number, np.int64)
    left = np.arange(number)
    for starts in random_blocks(entities, max(FIRST, enough // max(entities, 1)), seed):
        try:
            counts[:, left] += amie_statistics(graph, rules[left], threads, examples=0, starts=starts).counts
        except TimeIsUp:
            break
        looked[left] += len(starts)
        left = left[counts[0, left] < enough]
        tick(number - len(left), number)
        if not len(left):
            break
    tick(number, number)
    no_pairs = np.empty((number, 0, 2), np.int32)
    return RuleFigures(counts, graph.num_edges[rules.heads], looked / max(entities, 1), no_pairs)


def random_blocks(entities: int, first: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """All entities in random blocks, each as large as all before it; ascending within a block."""
    order, done = np.random.default_rng(seed).permutation(entities), 0
    while done < entities:
        block = order[done : done + max(done, first)]
        done += len(block)
        yield np.sort(block)


class Examples(NamedTuple):
    """One walk for each of some pairs (X, Y) that the body of a rule joins."""

    right: list[Path]  # pairs that are facts of the head
    wrong: list[Path]  # pairs that are not among the known facts: wrong, or unknown so far


def rule_examples(
    graph: Graph, known: Graph, rule: Rule, most: int = 5, seed: int = 0, among: RuleSet | None = None
) -> Examples:
    """Up to `most` examples of each kind from random entities X; one for each X, as far as possible.

    Walks are those of `graph`; whether a pair is a fact is looked up in `known`. A feature speaks about the
    answers that the rules `among` reach, and has no walks.
    """
    right: list[tuple[int, int]] = []
    wrong: list[tuple[int, int]] = []
    looked, place = 0, 0
    rules = RuleSet.from_rules([rule])
    if isinstance(rule, Feature) and among is not None:
        own = among.by_head(rule.head)
        rules, place = among[own], [among[int(i)] for i in own].index(rule)
    grounder = Grounder(graph, rules, threads=1)
    for starts in random_blocks(graph.num_entities, FIRST, seed):
        for part in grounder.ground(starts, rule.head):
            rows = part.columns()
            is_own = rows.rule == place
            x = starts[rows.query[is_own]]
            for pair in zip(x.tolist(), rows.entity[is_own].tolist(), strict=True):
                found = right if known.has(pair[0], rule.head, pair[1]) else wrong
                found.append(pair)
            looked += len(part.entity)
        if looked >= ENOUGH or min(len({x for x, _ in found}) for found in (right, wrong)) >= most:
            break
    return Examples(*(_walks(graph, rule, found, most) for found in (right, wrong)))


def _walks(graph: Graph, rule: Rule, pairs: list[tuple[int, int]], most: int) -> list[Path]:
    first: dict[int, tuple[int, int]] = {}
    for x, y in pairs:
        first.setdefault(x, (x, y))
    chosen = list(dict.fromkeys([*first.values(), *pairs]))[:most]
    if isinstance(rule, Feature | Condition):
        return [Path(pair, ()) for pair in chosen]
    return [paths(graph, x, rule, y, limit=1).paths[0] for x, y in chosen]


def alike_rules(
    graph: Graph, rules: RuleSet, least: float = ALIKE, threads: int | None = None, seed: int = 0
) -> list[int]:
    """For every rule the first one that says the same, or its own number if none before it does.

    Rules for other heads differ. Only the first rules of each head are compared, so the work is bounded.
    """
    found = list(range(len(rules)))
    for batch in _batches(rules):
        pairs = iter(_predicted(graph, rules[np.concatenate(batch)], threads, seed))
        for ids in batch:
            own = dict(zip(ids.tolist(), pairs, strict=False))
            leaders: list[int] = []
            for rule in own:
                same = (i for i in leaders if _similarity(own[i], own[rule], least) >= least)
                found[rule] = next(same, rule)
                leaders += [rule] if found[rule] == rule else []
    return found


def _batches(rules: RuleSet) -> Iterator[list[NDArray[np.int64]]]:
    """Ids of the first rules of every head that has several, some heads at a time."""
    batch: list[NDArray[np.int64]] = []
    named = rules.are_features  # which predict nothing by itself
    for head in rules.head_relations().tolist():
        ids = rules.by_head(head)
        ids = ids[~named[ids]][:MOST]
        if len(ids) > 1:
            batch.append(ids)
        if sum(map(len, batch)) >= TOGETHER:
            yield batch
            batch = []
    if batch:
        yield batch


def _predicted(graph: Graph, rules: RuleSet, threads: int | None, seed: int) -> list[Blocks]:
    """The pairs of each rule; rules with the same body share theirs."""
    order, bodies, ptr = by_body(rules)
    pairs: list[Blocks] = [[] for _ in bodies]
    left = list(range(len(bodies)))
    for starts in random_blocks(graph.num_entities, FIRST, seed):
        keys: list[list[Keys]] = [[] for _ in left]
        for first, part in groundings(graph, [bodies[i] for i in left], starts, threads):
            sizes = np.diff(part.ptr)
            heads = np.repeat(np.tile(starts[part.queries], len(part.rules)), sizes)
            ends = np.cumsum(sizes.reshape(len(part.rules), -1).sum(axis=1))
            joined = heads * graph.num_entities + part.entity
            for k, own in enumerate(np.split(joined, ends[:-1])):
                keys[first + k].append(own)
        for i, parts in zip(left, keys, strict=True):
            pairs[i].append(np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64))
        left = [i for i in left if sum(map(len, pairs[i])) < PAIRS]
        if not left:
            break
    body_of = np.repeat(np.arange(len(bodies)), np.diff(ptr))[np.argsort(order)]
    return [pairs[i] for i in body_of.tolist()]


def _similarity(one: Blocks, other: Blocks, least: float) -> float:
    """Jaccard similarity on the blocks that both have seen; 0 if it is surely less than `least`."""
    blocks = list(zip(one, other, strict=False))
    sizes = [sum(map(len, side)) for side in zip(*blocks, strict=True)]
    if not sizes or min(sizes) < least * max(sizes) or not min(sizes):
        return 0.0
    shared = sum(len(np.intersect1d(a, b, assume_unique=True)) for a, b in blocks)
    return shared / (sum(sizes) - shared)
