"""What every embedding offers: vectors that score answers, and come from and go to arrays; several as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph

Floats = NDArray[np.float32]


class Embedding(ABC):
    """Vectors of entities and relations; a scorer. Its relation arrays hold one or two rows per relation."""

    model: ClassVar[str]  # its name
    relation_array: ClassVar[str]  # the name of the array of relations

    entity: Floats  # [E, 2D]

    @property
    def num_entities(self) -> int:
        """Number of entities E."""
        return len(self.entity)

    @property
    def dim(self) -> int:
        """Number of complex dimensions D."""
        return int(self.entity.shape[1] // 2)

    @property
    @abstractmethod
    def num_relations(self) -> int:
        """Number of relations R, without inverses."""

    @property
    def arrays(self) -> dict[str, Floats]:
        """All that was learned."""
        return {"entity": self.entity, self.relation_array: getattr(self, self.relation_array)}

    @property
    def constants(self) -> dict[str, Any]:
        """Numbers besides the arrays that the scores depend on."""
        return {}

    @classmethod
    @abstractmethod
    def of_arrays(
        cls, entity: Floats, relation: Floats, about: Mapping[str, Any], threads: int | None = None
    ) -> Self:
        """The embedding of these arrays and constants."""

    @abstractmethod
    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E] of all entities as answers of (head, relation, ?); the graph plays no part."""

    @abstractmethod
    def on_threads(self, threads: int | None) -> Self:
        """The same on another number of threads."""


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
    """One embedding as it is, several together; each on this number of threads."""
    ready = tuple(part.on_threads(threads) for part in parts)
    return ready[0] if len(ready) == 1 else Together(ready)
