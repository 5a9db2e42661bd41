"""Other ways to count grounding paths: SciPy with a prefix cache, and dense torch propagation."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from rnnlogic.data.graph import Graph
from rnnlogic.rules.rule import relations_of
from rnnlogic.rules.ruleset import RuleSet

Body = tuple[int, ...]


class SciPyGrounder:
    """Rows of the first relation's matrix, times the others; every prefix of a batch is computed once."""

    def __init__(self, graph: Graph, rules: RuleSet) -> None:
        self.rules = rules
        shape = (graph.num_entities, graph.num_entities)
        self.matrices = []
        for relation in range(2 * graph.num_relations):
            heads, tails = graph.edges(relation)
            ones = np.ones(len(heads), np.int32)
            self.matrices.append(sparse.csr_array((ones, (heads, tails)), shape=shape))

    def counts(self, heads: NDArray[np.int32], relation: int) -> dict[int, Any]:
        """Rule id -> sparse walk counts [queries, E], for queries of one relation."""
        cache: dict[Body, Any] = {}
        return {
            int(i): self._product(relations_of(self.rules[int(i)]), heads, cache)
            for i in self.rules.by_head(relation)
        }

    def scores(
        self, heads: NDArray[np.int32], relation: int, weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Sum of weight times count, dense [queries, E]; rules are added one by one, to save memory."""
        cache: dict[Body, Any] = {}
        scores = np.zeros((len(heads), self.matrices[0].shape[0]))
        for i in self.rules.by_head(relation):
            counts = self._product(relations_of(self.rules[int(i)]), heads, cache).tocoo()
            scores[counts.coords] += weights[i] * counts.data
        return scores

    def _product(self, body: Body, heads: NDArray[np.int32], cache: dict[Body, Any]) -> Any:
        if body not in cache:
            last = self.matrices[body[-1]]
            cache[body] = last[heads] if len(body) == 1 else self._product(body[:-1], heads, cache) @ last
        return cache[body]


class TorchDenseGrounder:
    """As in the official code: a dense [E, queries] array is propagated along all edges, rule by rule."""

    def __init__(self, graph: Graph, rules: RuleSet) -> None:
        self.rules, self.num_entities = rules, graph.num_entities
        self.edges = []
        for relation in range(2 * graph.num_relations):
            heads, tails = graph.edges(relation)
            self.edges.append((torch.tensor(heads.astype(np.int64)), torch.tensor(tails.astype(np.int64))))

    def counts(self, heads: NDArray[np.int32], relation: int) -> dict[int, torch.Tensor]:
        """Rule id -> dense walk counts [E, queries], for queries of one relation."""
        start = torch.zeros(self.num_entities, len(heads))
        start[torch.tensor(heads.astype(np.int64)), torch.arange(len(heads))] = 1
        result = {}
        for i in self.rules.by_head(relation):
            counts = start
            for step in relations_of(self.rules[int(i)]):
                source, target = self.edges[step]
                counts = torch.zeros_like(counts).index_add_(0, target, counts[source])
            result[int(i)] = counts
        return result
