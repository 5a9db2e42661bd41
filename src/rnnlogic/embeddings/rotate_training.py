"""Training of RotatE on the CPU: queries with shared wrong answers, and Adam on the rows that they touched.

The pieces of a batch write into shared arrays, each into its own slices, so this work stays on threads of one
process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.data.graph import Graph, GraphArrays
from rnnlogic.embeddings.base import Floats
from rnnlogic.embeddings.kernels import (
    PADDING,
    Table,
    adam_rows,
    add_distances,
    add_gradients,
    contrast,
    leave_out_known,
    pair_distances,
    pair_gradients,
    turn_gradients_back,
    turn_rows,
)
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.embeddings.settings import RotatESettings
from rnnlogic.embeddings.train import Method, Shapes, Tables

NEGATIVES = 1  # the random stream of wrong answers
ADAM_ROWS = 128  # rows that a thread updates at a time
Ids = NDArray[np.int32]


class Piece(NamedTuple):
    """Some queries of a step, and the wrong answers they share."""

    heads: Ids  # [b]
    relations: Ids  # [b] in 0..R-1
    sign: NDArray[np.float32]  # [b] -1 where the relation is the inverse
    answers: Ids  # [b]
    weights: NDArray[np.float32]  # [b] sum to 1 over the step
    graph_rows: NDArray[np.int64]  # [b] rows of the training graph that hold the known answers
    negatives: Ids  # [N] distinct


class RotatEMethod(Method):
    """Training queries (both directions of every fact) and the pieces of every step."""

    table = Table
    settings: RotatESettings
    shapes: ClassVar[Shapes] = {"entity": ("E", "2*dim"), "phase": ("R", "dim")}

    def __init__(self, graph: Graph, settings: RotatESettings) -> None:
        self.graph, self.settings, arrays = graph, settings, graph.arrays
        degrees = np.diff(arrays.row_edges)
        self.rows = np.repeat(np.arange(len(degrees)), degrees)  # [2F] row of the graph of each query
        relation_of_row = np.repeat(np.arange(2 * graph.num_relations), np.diff(arrays.relation_rows))
        columns = arrays.row_head[self.rows], relation_of_row[self.rows], arrays.tails
        self.queries = np.stack(columns, axis=1).astype(np.int32)  # [2F, 3] head, relation in 0..2R-1, answer
        self.weights = _weights(graph, self.queries, degrees[self.rows]).astype(np.float32)  # [2F]

    @property
    def num_queries(self) -> int:
        """Training facts, in both directions."""
        return len(self.queries)

    @property
    def negatives(self) -> int:
        """Wrong answers per piece."""
        return min(self.settings.negatives, self.graph.num_entities)

    def batch(self, step: int, order: NDArray[np.int64]) -> list[Piece]:
        """The pieces of a step, given the order of its epoch."""
        rng = np.random.default_rng([self.settings.seed, NEGATIVES, step])
        batch, share = self.places(step, order), self.settings.share
        total = self.weights[batch].sum()
        starts = range(0, len(batch), share)
        return [self._piece(batch[start : start + share], total, rng) for start in starts]

    def _piece(self, chosen: NDArray[np.int64], total: float, rng: np.random.Generator) -> Piece:
        heads, relations, answers = np.ascontiguousarray(self.queries[chosen].T)
        is_inverse = relations >= self.graph.num_relations
        negatives = rng.choice(self.graph.num_entities, self.negatives, replace=False, shuffle=False)
        return Piece(
            heads,
            relations - np.int32(self.graph.num_relations) * is_inverse,
            np.where(is_inverse, np.float32(-1), np.float32(1)),
            answers,
            self.weights[chosen] / total,
            self.rows[chosen],
            negatives.astype(np.int32),
        )

    def first(self) -> Tables:
        """Random entities and phases."""
        rng = np.random.default_rng([self.settings.seed])
        reach, dim = self.settings.entity_range, self.settings.dim
        entity = rng.uniform(-reach, reach, (self.graph.num_entities, 2 * dim)).astype(np.float32)
        phase = rng.uniform(-np.pi, np.pi, (self.graph.num_relations, dim)).astype(np.float32)
        return {"entity": Table.of(entity), "phase": Table.of(phase)}

    @property
    def declared(self) -> Declaration:
        """The arrays of a checkpoint."""
        updates = {
            f"{name}.updates": Declared("int32", shape[:1], least=0) for name, shape in self.shapes.items()
        }
        return super().declared | updates

    def stepper(self, parameters: Tables, threads: int) -> RotatEStepper:
        """Takes steps."""
        return RotatEStepper(parameters, self, threads)

    def embedding(self, values: Mapping[str, Floats], threads: int | None) -> RotatE:
        """The embedding with these parameters."""
        return RotatE(values["entity"], values["phase"], self.settings.margin, threads)


def _weights(graph: Graph, queries: NDArray[np.int32], degrees: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 / sqrt(6 + facts of (h, r) + facts of (r, t)) of every query's fact."""
    num_entities, num_relations = graph.num_entities, graph.num_relations
    heads, relations, answers = queries.astype(np.int64).T
    keys = relations * num_entities + heads
    backwards = (relations + num_relations) % (2 * num_relations) * num_entities + answers
    other = degrees[np.searchsorted(keys, backwards)]  # queries are in the order of their keys
    weights: NDArray[np.float64] = 1 / np.sqrt(6.0 + degrees + other)
    return weights


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


class RotatEStepper:
    """Takes steps on threads; the result does not depend on how many. Close it when done."""

    def __init__(self, parameters: Tables, method: RotatEMethod, threads: int) -> None:
        self.parameters = parameters
        self._settings, self._graph = method.settings, method.graph.arrays
        self._entity_gradients, self._phase_gradients, self._spaces = _workspaces(method)
        self._cosine, self._sine = _turns(parameters["phase"].values)
        self._pool = ThreadPoolExecutor(threads)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def step(self, pieces: Sequence[Piece], rate: float) -> float:
        """Change the parameters by one step of Adam; returns the loss."""
        entity, phase = self.parameters["entity"], self.parameters["phase"]
        losses = list(self._pool.map(self._piece, pieces, self._spaces))
        ids = [array for piece in pieces for array in (piece.heads, piece.answers, piece.negatives)]
        self._update(entity, np.concatenate(ids), self._entity_gradients, rate * self._settings.entity_range)
        relations = np.concatenate([piece.relations for piece in pieces])
        touched = self._update(phase, relations, self._phase_gradients, rate * np.pi)
        self._cosine[touched], self._sine[touched] = _turns(phase.values[touched])
        return sum(losses)

    def _piece(self, piece: Piece, space: Workspace) -> float:
        return piece_gradients(
            self.parameters["entity"].values,
            self._cosine,
            self._sine,
            self._graph,
            piece,
            space,
            self._settings,
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
    space.queries[:, :size] = space.turned.T
    space.answers[:, :size] = entity[piece.answers].T
    space.others[:, :number] = entity[piece.negatives].T
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
    space.entity_gradients[:size] = space.query_gradient[:, :size].T
    turn_gradients_back(space.turned, *turning, space.entity_gradients[:size], space.phase_gradients)
    space.entity_gradients[size : 2 * size] = space.answers[:, :size].T
    space.entity_gradients[2 * size :] = space.other_gradient[:, :number].T
    return loss


def _turns(phases: Floats) -> tuple[Floats, Floats]:
    return np.cos(phases), np.sin(phases)


def _workspaces(method: RotatEMethod) -> tuple[Floats, Floats, list[Workspace]]:
    """Gradients of entities and phases of a whole step, and the workspaces, which hold slices of them."""
    size, share, dim = method.batch_size, method.settings.share, method.settings.dim
    sizes = [min(share, size - start) for start in range(0, size, share)]
    entity_gradients = np.empty((2 * size + len(sizes) * method.negatives, 2 * dim), np.float32)
    phase_gradients = np.empty((size, dim), np.float32)
    entity_parts = _parts(entity_gradients, [2 * b + method.negatives for b in sizes])
    parts = zip(sizes, entity_parts, _parts(phase_gradients, sizes), strict=True)
    return entity_gradients, phase_gradients, [_workspace(method, *part) for part in parts]


def _workspace(
    method: RotatEMethod, size: int, entity_gradients: Floats, phase_gradients: Floats
) -> Workspace:
    width, number = 2 * method.settings.dim, method.negatives
    return Workspace(
        turned=np.empty((size, width), np.float32),
        queries=_columns(width, size),
        answers=_columns(width, size),
        query_gradient=_columns(width, size),
        others=_columns(width, number),
        other_gradient=_columns(width, number),
        distance=_columns(size, number),
        place=np.full(method.graph.num_entities, -1, np.int32),
        entity_gradients=entity_gradients,
        phase_gradients=phase_gradients,
    )


def _columns(rows: int, number: int) -> Floats:
    return np.empty((rows, number + PADDING), np.float32)


def _parts(array: Floats, sizes: Sequence[int]) -> Iterator[Floats]:
    """Consecutive slices of the given sizes."""
    for start, end in pairwise(accumulate(sizes, initial=0)):
        yield array[start:end]
