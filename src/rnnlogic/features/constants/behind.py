"""The rules with constants behind a summary for one answer, to explain it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.features.base import UNSEEN, Query, Term
from rnnlogic.features.constants.kernels import BEST, LEAST, SUPPORT
from rnnlogic.rules.rule import NONE, Constant, mirrored


@lru_cache(maxsize=2)  # the best rule and the noisy-or are asked one after the other, for X and for Y
def implied_rules(graph: Graph, query: Query, about_x: bool) -> list[Term]:
    """The rules that a summary folds for one answer, the most confident first.

    They are those of the kernel, which may not look at the fact itself if it is hidden.
    """
    if about_x:
        return constant_rules(graph, query)
    turned = Query(query.tail, graph.inverse(query.relation), query.head, is_hidden=False)
    return [_mirrored(one, graph.num_relations) for one in constant_rules(graph, turned)]


def constant_rules(graph: Graph, query: Query) -> list[Term]:
    """The most confident rules whose body is true of the head and which say relation(head, tail).

    The head itself does not count for or against them. For rules about the answer, ask the inverse relation.
    """
    head, relation, answer, is_hidden = query
    right = graph.neighbours(answer, graph.inverse(relation))
    own = int(head in right)
    found = []
    for by in range(2 * graph.num_relations):
        step = graph.inverse(by)
        others = graph.neighbours(head, step)
        if is_hidden and head == answer and by == relation:
            others = others[others != head]  # r(x,x) reversed is the hidden fact
        if not len(others):
            continue
        named = others[others != answer]
        first, last = graph.edge_ranges(right, step)
        reached = np.sort(graph.tails_within(first, last)[1])
        support = np.searchsorted(reached, named, "right") - np.searchsorted(reached, named)
        holders = np.subtract(*reversed(graph.edge_ranges(named, by)))
        bodies = list(zip(named.tolist(), support.tolist(), holders.tolist(), strict=True))
        if by != graph.inverse(relation):
            entities = int(np.diff(graph.arrays.relation_rows[step : step + 2])[0])
            bodies.append((NONE, int((first < last).sum()), entities))
        for other, right_ones, all_ones in bodies:
            term = _term(Constant(relation, step, answer, other), right_ones - own, all_ones)
            if term.support >= SUPPORT and term.confidence >= LEAST:
                found.append(term)
    return sorted(found, key=_order(graph))[:BEST]


def counted(graph: Graph, rule: Constant, entity: int) -> Term:
    """A rule with constants whose body is true of an entity, counted over all other entities."""
    if rule.at_head:
        about = mirrored(rule, graph.num_relations)
        assert isinstance(about, Constant)
        return _mirrored(counted(graph, about, entity), graph.num_relations)
    right = graph.neighbours(rule.constant, graph.inverse(rule.head))
    by = graph.inverse(rule.step)
    holders = np.unique(graph.edges(rule.step)[0]) if rule.other == NONE else graph.neighbours(rule.other, by)
    support = int(np.isin(holders, right).sum()) - int(entity in right)
    return _term(rule, support, len(holders))


def _term(rule: Constant, support: int, holders: int) -> Term:
    """A rule that so many entities besides the one asked about support, of all that its body is true of."""
    return Term(rule, support, holders - 1, support / (holders - 1 + UNSEEN))


def _mirrored(one: Term, num_relations: int) -> Term:
    """The same, its rule read from Y to X."""
    return one._replace(rule=mirrored(one.rule, num_relations))


def _order(graph: Graph) -> Callable[[Term], tuple[float, int, int]]:
    """The most confident first; equal ones by the relation towards the entity, then by the other entity."""

    def key(one: Term) -> tuple[float, int, int]:
        assert isinstance(one.rule, Constant)
        return -one.confidence, graph.inverse(one.rule.step), one.rule.other

    return key
