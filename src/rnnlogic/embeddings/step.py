"""One step of training on the CPU: pieces of a batch on threads, then Adam on the rows they touched.

The pieces write into shared arrays, each into its own slices, so this work stays on threads of one process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import GraphArrays
from rnnlogic.embeddings.kernels import (
    PADDING,
    Table,
    adam_rows,
    add_distances,
    add_gradients,
    columns_to_rows,
    contrast,
    gather_columns,
    leave_out_known,
    pair_distances,
    pair_gradients,
    turn_gradients_back,
    turn_rows,
)
from rnnlogic.embeddings.sampling import Ids, Piece, Sampler
from rnnlogic.embeddings.settings import RotatESettings

Floats = NDArray[np.float32]
ADAM_ROWS = 128  # rows that a thread updates at a time


class Parameters(NamedTuple):
    """All that training changes."""

    entity: Table  # [E, 2D]
    phase: Table  # [R, D]


class Workspace(NamedTuple):
    """Memory for one piece, reused in every step; columns are padded."""

    turned: Floats  # [b, 2D] heads, turned by their relations
    queries: Floats  # [2D, b] the same in columns
    answers: Floats  # [2D, b]
    query_gradient: Floats  # [2D, b]
    others: Floats  # [2D, N]
    other_gradient: Floats  # [2D, N]
    distance: Floats  # [b, N]
    place: NDArray[np.int32]  # [E], all -1
    entity_gradients: Floats  # [2b + N, 2D] of heads, answers, negatives
    phase_gradients: Floats  # [b, D]


def initial_parameters(num_entities: int, num_relations: int, settings: RotatESettings) -> Parameters:
    """Random entities and phases."""
    rng = np.random.default_rng([settings.seed])
    reach, dim = settings.entity_range, settings.dim
    entity = rng.uniform(-reach, reach, (num_entities, 2 * dim)).astype(np.float32)
    phase = rng.uniform(-np.pi, np.pi, (num_relations, dim)).astype(np.float32)
    return Parameters(Table.of(entity), Table.of(phase))


class CpuStepper:
    """Takes steps on threads; the result does not depend on how many. Close it when done."""

    def __init__(self, parameters: Parameters, sampler: Sampler, threads: int) -> None:
        self.parameters = parameters
        self._settings, self._graph = sampler.settings, sampler.graph.arrays
        self._entity_gradients, self._phase_gradients, self._spaces = _workspaces(sampler)
        self._cosine, self._sine = np.cos(parameters.phase.values), np.sin(parameters.phase.values)
        self._pool = ThreadPoolExecutor(threads)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def step(self, pieces: Sequence[Piece], rate: float) -> float:
        """Change the parameters by one step of Adam; returns the loss."""
        entity, phase = self.parameters
        losses = list(self._pool.map(self._piece, pieces, self._spaces))
        ids = [array for piece in pieces for array in (piece.heads, piece.answers, piece.negatives)]
        self._update(entity, np.concatenate(ids), self._entity_gradients, rate * self._settings.entity_range)
        relations = np.concatenate([piece.relations for piece in pieces])
        touched = self._update(phase, relations, self._phase_gradients, rate * np.pi)
        self._cosine[touched], self._sine[touched] = (
            np.cos(phase.values[touched]),
            np.sin(phase.values[touched]),
        )
        return sum(losses)

    def _piece(self, piece: Piece, space: Workspace) -> float:
        return piece_gradients(
            self.parameters.entity.values, self._cosine, self._sine, self._graph, piece, space, self._settings
        )

    def _update(self, table: Table, ids: Ids, gradients: Floats, rate: float) -> Ids:
        """Adam on the rows that `ids` [n] names, with gradients [n, W]; returns these rows."""
        order = np.argsort(ids, kind="stable")
        first = np.flatnonzero(np.diff(ids[order], prepend=-1))
        rows, starts = ids[order[first]], np.append(first, len(ids))

        def update(begin: int) -> None:
            end = begin + ADAM_ROWS
            adam_rows(table, rows[begin:end], starts[begin : end + 1], order, gradients, rate)

        list(self._pool.map(update, range(0, len(rows), ADAM_ROWS)))
        return rows


def piece_gradients(
    entity: Floats,
    cosine: Floats,
    sine: Floats,
    graph: GraphArrays,
    piece: Piece,
    space: Workspace,
    settings: RotatESettings,
) -> float:
    """The loss of a piece; its gradients are left in the workspace."""
    size, number = len(piece.heads), len(piece.negatives)
    turning = (piece.relations, piece.sign, cosine, sine)
    turn_rows(entity, piece.heads, *turning, space.turned)
    gather_columns(space.turned, np.arange(size, dtype=np.int32), space.queries)
    gather_columns(entity, piece.answers, space.answers)
    gather_columns(entity, piece.negatives, space.others)
    near = pair_distances(space.queries, space.answers, size)
    space.distance.fill(0)
    add_distances(space.queries, space.others, number, space.distance)
    leave_out_known(
        graph.row_edges, graph.tails, piece.graph_rows, piece.negatives, space.place, space.distance
    )
    loss = contrast(
        near, space.distance, number, piece.weights, settings.margin, settings.adversarial_temperature
    )
    pair_gradients(space.queries, space.answers, near, space.query_gradient)
    space.other_gradient.fill(0)
    add_gradients(
        space.queries, space.others, number, space.distance, space.query_gradient, space.other_gradient
    )
    columns_to_rows(space.query_gradient, space.entity_gradients[:size])
    turn_gradients_back(space.turned, *turning, space.entity_gradients[:size], space.phase_gradients)
    columns_to_rows(space.answers, space.entity_gradients[size : 2 * size])
    columns_to_rows(space.other_gradient, space.entity_gradients[2 * size :])
    return loss


def _workspaces(sampler: Sampler) -> tuple[Floats, Floats, list[Workspace]]:
    """Gradients of entities and phases of a whole step, and the workspaces, which hold slices of them."""
    size, share, dim = sampler.batch_size, sampler.settings.share, sampler.settings.dim
    sizes = [min(share, size - start) for start in range(0, size, share)]
    entity_gradients = np.empty((2 * size + len(sizes) * sampler.negatives, 2 * dim), np.float32)
    phase_gradients = np.empty((size, dim), np.float32)
    entity_parts = _parts(entity_gradients, [2 * b + sampler.negatives for b in sizes])
    parts = zip(sizes, entity_parts, _parts(phase_gradients, sizes), strict=True)
    return entity_gradients, phase_gradients, [_workspace(sampler, *part) for part in parts]


def _workspace(sampler: Sampler, size: int, entity_gradients: Floats, phase_gradients: Floats) -> Workspace:
    width, number = 2 * sampler.settings.dim, sampler.negatives
    return Workspace(
        turned=np.empty((size, width), np.float32),
        queries=_columns(width, size),
        answers=_columns(width, size),
        query_gradient=_columns(width, size),
        others=_columns(width, number),
        other_gradient=_columns(width, number),
        distance=_columns(size, number),
        place=np.full(sampler.graph.num_entities, -1, np.int32),
        entity_gradients=entity_gradients,
        phase_gradients=phase_gradients,
    )


def _columns(rows: int, number: int) -> Floats:
    return np.empty((rows, number + PADDING), np.float32)


def _parts(array: Floats, sizes: Sequence[int]) -> Iterator[Floats]:
    """Consecutive slices of the given sizes."""
    for start, end in pairwise(accumulate(sizes, initial=0)):
        yield array[start:end]
