"""Several embeddings of one graph, which speak one beside the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.base import Embedding


@dataclass(frozen=True, eq=False)
class Together:
    """Embeddings as one; predictors give each its own weight, by itself it is their sum."""

    parts: tuple[Embedding, ...]

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Summed scores [B, E]."""
        scores = np.zeros((len(heads), graph.num_entities))
        for part in self.parts:
            scores += part.score(graph, heads, relations)
        return scores


def joined(parts: Sequence[Embedding], threads: int | None = None) -> Embedding | Together:
    """One embedding as it is, several together; all of them on so many threads."""
    ready = tuple(part.on_threads(threads) for part in parts)
    return ready[0] if len(ready) == 1 else Together(ready)
