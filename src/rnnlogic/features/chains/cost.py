"""How much work a question is, estimated before it is done: the edges that its rules will visit.

The first step of a rule is known exactly, by the degree of the head. Every further one is the mean over the
edges of the step before: how many edges of the next relation begin where they end.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rnnlogic.base.types import Recent
from rnnlogic.data.graph import Graph
from rnnlogic.rules.rule import NONE
from rnnlogic.rules.ruleset import RuleSet


class Cost:
    """Expected edge visits of questions, by the rules of a model on a graph."""

    def __init__(self, graph: Graph, rules: RuleSet) -> None:
        self._graph, self._rules = graph, rules
        self._bodies: Recent[NDArray[np.int64]] = Recent(2 * graph.num_relations)

    def of_question(self, head: int, relation: int) -> float:
        """Visits for (head, relation, ?)."""
        bodies, first = self._ready(relation), np.zeros(2 * self._graph.num_relations)
        for step in set(bodies[:, :1].ravel().tolist()) - {NONE}:
            first[step] = len(self._graph.neighbours(head, step))
        return self._visits(bodies, first)

    def of_any_question(self, relation: int) -> float:
        """Visits for (?, relation, ?) from an average head."""
        return self._visits(self._ready(relation), self._edges / max(self._graph.num_entities, 1))

    def _visits(self, bodies: NDArray[np.int64], first: NDArray[np.floating]) -> float:
        if not bodies.shape[1]:
            return 0.0
        reached = first[bodies[:, 0]] * (bodies[:, 0] != NONE)
        total = reached.sum()
        for before, step in zip(bodies.T, bodies.T[1:], strict=False):
            reached = np.minimum(reached * self._next[before, step], self._edges[step]) * (step != NONE)
            total += reached.sum()
        return float(total)

    def _ready(self, relation: int) -> NDArray[np.int64]:
        return self._bodies.get(relation, lambda: self._padded(relation))

    def _padded(self, relation: int) -> NDArray[np.int64]:
        """Bodies of the chain rules of a relation [rules, longest]; other features cost little."""
        ids = self._rules.by_head(relation)
        return self._rules.steps(ids[self._rules.are_chains[ids]]).astype(np.int64)

    @cached_property
    def _edges(self) -> NDArray[np.float64]:
        """Edges of every relation [2R]."""
        arrays = self._graph.arrays
        return np.diff(arrays.row_edges[arrays.relation_rows]).astype(np.float64)

    @cached_property
    def _next(self) -> NDArray[np.float64]:
        """For an edge of relation a, the mean number of edges of relation b at its end [2R, 2R]."""
        graph, arrays = self._graph, self._graph.arrays
        relations = 2 * graph.num_relations
        relation = np.repeat(np.arange(relations), np.diff(arrays.relation_rows))
        shape = (relations, graph.num_entities)
        degree = csr_matrix((np.diff(arrays.row_edges).astype(float), (relation, arrays.row_head)), shape)
        inverse = np.roll(np.arange(relations), graph.num_relations)
        joined = (degree[inverse] @ degree.T).toarray()
        return np.asarray(joined / np.maximum(self._edges, 1)[:, None])
