"""A scorer without rules: the floor that every model has to beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph


class FrequencyScorer:
    """Scores an entity by how often it is a tail of the query's relation, whatever the head."""

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Number of facts relation(?, entity), -inf where there is none, [B, E]."""
        scores = np.empty((len(heads), graph.num_entities))
        for relation in np.unique(relations):
            _, tails = graph.edges(relation)
            counts = np.bincount(tails, minlength=graph.num_entities)
            scores[relations == relation] = np.where(counts > 0, counts, -np.inf)
        return scores
