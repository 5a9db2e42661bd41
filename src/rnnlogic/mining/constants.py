"""Mine rules with constants: `speaks(X,english) <- lives_in(X,london)`, `works_in(X,lab) <- uses(X,Z)`.

Every body of one fact is counted that 4 entities have, if 3 of them support the rule: whichever of these is
asked about, 2 others support it. A rule is as good as the others say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.executor import map_ordered
from rnnlogic.data.graph import Graph
from rnnlogic.features.base import UNSEEN, Items, find_items
from rnnlogic.features.constants.kernels import SUPPORT, count_answers
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.ruleset import Kind, Kinds, RuleSet

Ids = NDArray[np.int64]


class Counted(NamedTuple):
    """Rules with constants for one relation that name the answer, the best first."""

    step: Ids  # [n]
    other: Ids  # [n] -1: any
    answer: Ids  # [n]
    support: Ids  # [n] entities with the body that have the answer
    holders: Ids  # [n] entities with the body

    @property
    def confidence(self) -> NDArray[np.float64]:
        """support / (holders + 5), with one supporting entity left out."""
        return np.asarray((self.support - 1) / (self.holders - 1 + UNSEEN), np.float64)


def mine_constants(
    graph: Graph, number: int, banned: Banned | None = None, threads: int | None = None
) -> RuleSet:
    """The `number` most confident rules with constants for each relation, and their mirror images.

    A rule that names the answer of a relation names the head of the inverse relation, and is a rule of its
    own there.
    """
    relations = [r for r in range(2 * graph.num_relations) if len(graph.edges(r)[0])]
    shared = graph, find_items(graph), number
    parts = []
    for relation, best in zip(relations, map_ordered(_best, relations, shared, threads), strict=True):
        parts += [_rules(graph, relation, best, at_head) for at_head in (False, True)]
    found = RuleSet.concatenated(parts)
    return found if banned is None else banned.keep(found)


def _best(shared: tuple[Graph, Items, int], relation: int) -> Counted:
    graph, items, number = shared
    item, answer, support = count_answers(graph.arrays, items, relation, graph.num_entities, SUPPORT + 1)
    rows = len(items.relation)
    is_row = item < rows
    row = np.where(is_row, item, 0)
    by = np.where(is_row, items.relation[row] if rows else item, item - rows).astype(np.int64)
    step = (by + graph.num_relations) % (2 * graph.num_relations)
    other = np.where(is_row, graph.arrays.row_head[row] if rows else item, -1).astype(np.int64)
    found = Counted(step, other, answer, support.astype(np.int64), items.holders[item])
    order = np.lexsort((found.answer, found.other, found.step, -found.support, -found.confidence))[:number]
    return Counted(*(column[order] for column in found))


def _rules(graph: Graph, relation: int, found: Counted, at_head: bool) -> RuleSet:
    """Rules that name the answer, or their mirror images for the inverse relation."""
    size, relations = len(found.step), 2 * graph.num_relations
    step = (found.step + graph.num_relations) % relations if at_head else found.step
    head, kind = (graph.inverse(relation), Kind.OF_HEAD) if at_head else (relation, Kind.OF_ANSWER)
    named = found.answer.astype(np.int32), found.other.astype(np.int32)
    kinds = Kinds.facts(np.full(size, kind, np.int8), *named, np.full(size, -1, np.int16))
    body_ptr = np.arange(size + 1, dtype=np.int64)
    return RuleSet(np.full(size, head, np.int32), body_ptr, step.astype(np.int32), kinds=kinds)
