"""RotatE: an entity is a complex vector, and a relation turns each of its numbers by an angle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Progress, silent
from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.base import Embedding, Floats
from rnnlogic.embeddings.kernels import PADDING, add_distances

if TYPE_CHECKING:
    from rnnlogic.data.dataset import Dataset
    from rnnlogic.embeddings.settings import RotatESettings

BLOCK = 256  # entities whose distances a thread computes at a time


@dataclass(frozen=True, eq=False)
class RotatE(Embedding):
    """Trained embeddings; the score of (head, relation, tail) is margin - sum_d |x_h o x_r - x_t|."""

    model: ClassVar[str] = "RotatE"
    relation_array: ClassVar[str] = "phase"

    entity: Floats  # [E, 2D] real half, then imaginary half
    phase: Floats  # [R, D] radians
    margin: float
    threads: int | None = None  # for scores; all cores if not given

    @staticmethod
    def fit(
        dataset: Dataset,
        settings: RotatESettings | None = None,
        folder: str | Path | None = None,
        progress: Progress = silent,
        threads: int | None = None,
        max_minutes: float | None = None,
    ) -> RotatE:
        """Train on a dataset's training facts, with the default settings if none are given.

        See docs/embeddings.md.

        With a folder the embedding is saved there, and a stopped training resumes at its last checkpoint.
        """
        from rnnlogic.embeddings.fit import fit
        from rnnlogic.embeddings.settings import default_settings

        settings = settings or default_settings()
        embedding = fit(dataset, settings, folder, progress, threads, max_minutes)
        assert isinstance(embedding, RotatE)
        return embedding

    @classmethod
    def of_arrays(
        cls, entity: Floats, relation: Floats, about: Mapping[str, Any], threads: int | None = None
    ) -> RotatE:
        """The embedding of these arrays and this margin."""
        return cls(entity, relation, float(about["margin"]), threads)

    @property
    def constants(self) -> dict[str, Any]:
        """The margin."""
        return {"margin": self.margin}

    @property
    def num_relations(self) -> int:
        """Number of relations R, without inverses."""
        return len(self.phase)

    def on_threads(self, threads: int | None) -> RotatE:
        """The same on another number of threads."""
        return replace(self, threads=threads)

    def phases(self, relations: NDArray[np.integer]) -> Floats:
        """Angles [n, D] of relations [n] in 0..2R-1; an inverse relation turns backwards."""
        is_inverse = np.asarray(relations) >= self.num_relations
        sign = np.where(is_inverse, np.float32(-1), np.float32(1))
        phases: Floats = self.phase[relations - is_inverse * self.num_relations] * sign[:, None]
        return phases

    def rotated(self, heads: NDArray[np.integer], phases: Floats) -> Floats:
        """Embeddings [n, 2D] of heads [n], turned by phases [n, D]."""
        real, imaginary = self.entity[heads, : self.dim], self.entity[heads, self.dim :]
        cosine, sine = np.cos(phases), np.sin(phases)
        return np.concatenate([real * cosine - imaginary * sine, real * sine + imaginary * cosine], axis=1)

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E] of all entities as answers of (head, relation, ?); the graph plays no part."""
        del graph
        turned = _columns(self.rotated(heads, self.phases(relations)))
        asked = _Asked(turned, len(heads), self.entity, self.margin)
        scores = np.empty((len(heads), self.num_entities))
        firsts = range(0, self.num_entities, BLOCK)
        blocks = map_ordered(_block_scores, firsts, asked, self.threads, here=True)
        for first, block in zip(firsts, blocks, strict=True):
            scores[:, first : first + BLOCK] = block
        return scores


class _Asked(NamedTuple):
    """Queries, and the entities that may answer them."""

    turned: Floats  # [2D, B + PADDING] heads, turned by their relations, in columns
    number: int  # B
    entity: Floats  # [E, 2D]
    margin: float


def _block_scores(asked: _Asked, first: int) -> Floats:
    """Scores [B, BLOCK] of the entities from `first` on."""
    block = asked.entity[first : first + BLOCK]
    distance = np.zeros((asked.number, len(block)), np.float32)
    add_distances(asked.turned, _columns(block), len(block), distance)
    return asked.margin - distance


def _columns(rows: Floats) -> Floats:
    """Vectors [n, 2D] as columns [2D, n + PADDING]; the padding is for the cache."""
    columns = np.empty((rows.shape[1], len(rows) + PADDING), np.float32)
    columns[:, : len(rows)] = rows.T
    return columns
