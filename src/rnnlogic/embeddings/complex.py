"""ComplEx: entities and relations are complex vectors; a fact is plausible if their product is large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.executor import map_ordered, one_blas_thread
from rnnlogic.base.types import Progress, silent
from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.base import Embedding, Floats

if TYPE_CHECKING:
    from rnnlogic.data.dataset import Dataset
    from rnnlogic.embeddings.settings import ComplExSettings

BLOCK = 4096  # entities that a thread scores at a time


@dataclass(frozen=True, eq=False)
class ComplEx(Embedding):
    """Trained embeddings; the score of (head, relation, tail) is the real part of sum_d x_h x_r conj(x_t).

    An inverse relation has a vector of its own.
    """

    model: ClassVar[str] = "ComplEx"
    relation_array: ClassVar[str] = "relation"

    entity: Floats  # [E, 2D] real half, then imaginary half
    relation: Floats  # [2R, 2D]
    threads: int | None = None  # for scores; all cores if not given

    @staticmethod
    def fit(
        dataset: Dataset,
        settings: ComplExSettings | None = None,
        folder: str | Path | None = None,
        progress: Progress = silent,
        threads: int | None = None,
        max_minutes: float | None = None,
    ) -> ComplEx:
        """Train on a dataset's training facts, with the default settings if none are given.

        See docs/embeddings.md.

        With a folder the embedding is saved there, and a stopped training resumes at its last checkpoint.
        """
        from rnnlogic.embeddings.fit import fit
        from rnnlogic.embeddings.settings import default_settings

        settings = settings or default_settings("complex")
        embedding = fit(dataset, settings, folder, progress, threads, max_minutes)
        assert isinstance(embedding, ComplEx)
        return embedding

    @classmethod
    def of_arrays(
        cls, entity: Floats, relation: Floats, about: Mapping[str, Any], threads: int | None = None
    ) -> ComplEx:
        """The embedding of these arrays."""
        del about
        return cls(entity, relation, threads)

    @property
    def num_relations(self) -> int:
        """Number of relations R, without inverses."""
        return len(self.relation) // 2

    def on_threads(self, threads: int | None) -> ComplEx:
        """The same on another number of threads."""
        return replace(self, threads=threads)

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E] of all entities as answers of (head, relation, ?); the graph plays no part."""
        del graph
        asked = _Asked(product(self.entity[heads], self.relation[relations]), self.entity)
        scores, firsts = np.empty((len(heads), self.num_entities)), range(0, self.num_entities, BLOCK)
        with one_blas_thread():
            blocks = map_ordered(_block_scores, firsts, asked, self.threads)
            for first, block in zip(firsts, blocks, strict=True):
                scores[:, first : first + BLOCK] = block
        return scores


class _Asked(NamedTuple):
    """Queries, and the entities that may answer them."""

    queries: Floats  # [B, 2D]
    entity: Floats  # [E, 2D]


def _block_scores(asked: _Asked, first: int) -> Floats:
    """Scores [B, BLOCK] of the entities from `first` on."""
    scores: Floats = asked.queries @ asked.entity[first : first + BLOCK].T
    return scores


def product(first: Floats, second: Floats) -> Floats:
    """Products [n, 2D] of complex vectors [n, 2D], number by number; real halves first."""
    a, b = np.split(first, 2, axis=1)
    c, d = np.split(second, 2, axis=1)
    return np.concatenate([a * c - b * d, a * d + b * c], axis=1)
