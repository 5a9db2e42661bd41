"""A step of RotatE training in plain torch, by autograd: the compiled step is compared with it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlogic.data.graph import GraphArrays
from rnnlogic.embeddings.kernels import Table
from rnnlogic.embeddings.rotate_training import Piece, RotatEMethod
from rnnlogic.embeddings.settings import RotatESettings
from rnnlogic.embeddings.train import Tables

MOMENTUM, SCALE_MEMORY, EPSILON = 0.9, 0.999, 1e-8  # of Adam


class TorchStepper:
    """Takes steps with autograd; the same loss and the same Adam as the compiled one."""

    def __init__(self, parameters: Tables, method: RotatEMethod) -> None:
        self._settings = method.settings
        self._graph, self._num_entities = method.graph.arrays, method.graph.num_entities
        self._tables = [[torch.tensor(array) for array in table] for table in parameters.values()]

    @property
    def parameters(self) -> Tables:
        """A copy of the parameters as they are now."""
        entity, phase = ([tensor.numpy().copy() for tensor in table] for table in self._tables)
        return {"entity": Table(*entity), "phase": Table(*phase)}

    def step(self, pieces: Sequence[Piece], rate: float) -> float:
        """Change the parameters by one step of Adam; returns the loss."""
        (entity, *_), (phase, *_) = self._tables
        ids = [array for piece in pieces for array in (piece.heads, piece.answers, piece.negatives)]
        rows, places = _unique(ids)
        relations, relation_places = _unique([piece.relations for piece in pieces])
        vectors = entity[torch.tensor(rows)].requires_grad_()
        angles = phase[torch.tensor(relations)].requires_grad_()
        loss = vectors.new_zeros(())
        for k, piece in enumerate(pieces):
            head, answer, negative = (vectors[torch.tensor(place)] for place in places[3 * k : 3 * k + 3])
            known = torch.tensor(known_negatives(self._graph, piece, self._num_entities))
            turned = turn(head, angles[torch.tensor(relation_places[k])] * torch.tensor(piece.sign)[:, None])
            loss = loss + contrastive_loss(
                turned, answer, negative, known, torch.tensor(piece.weights), self._settings
            )
        loss.backward()
        self._update(self._tables[0], rows, vectors.grad, rate * self._settings.entity_range)
        self._update(self._tables[1], relations, angles.grad, rate * np.pi)
        return float(loss.detach())

    def close(self) -> None:
        """Free the tensors."""
        self._tables = []

    def _update(self, table: list[Tensor], rows: NDArray[np.int32], gradient: Any, rate: float) -> None:
        """Adam on some rows of a table, with their gradients [rows, W]."""
        values, mean, square, updates = table
        place = torch.tensor(rows).long()
        updates[place] += 1
        count = updates[place, None].double()
        mean[place] = MOMENTUM * mean[place] + (1 - MOMENTUM) * gradient
        square[place] = SCALE_MEMORY * square[place] + (1 - SCALE_MEMORY) * gradient**2
        scale = (square[place] / (1 - SCALE_MEMORY**count)).sqrt() + EPSILON
        values[place] -= (rate * mean[place] / (1 - MOMENTUM**count) / scale).to(values.dtype)


def contrastive_loss(
    turned: Tensor, answer: Tensor, negative: Tensor, known: Tensor, weights: Tensor, settings: RotatESettings
) -> Tensor:
    """Self-adversarial loss of queries [b, 2D] with answers [b, 2D] and shared negatives [N, 2D].

    Known answers among the negatives (known [b, N]) are left out; weights [b] sum to 1 over a step.
    """
    near = distance(turned, answer) - settings.margin
    far = settings.margin - distance(turned[:, None], negative[None])  # [b, N]
    far = far.masked_fill(known, -1e6)
    shares = torch.softmax(settings.adversarial_temperature * far.detach(), dim=1)
    softplus = torch.nn.functional.softplus
    return (weights * (softplus(near) + (shares * softplus(far)).sum(1))).sum() / 2


def turn(vectors: Tensor, angles: Tensor) -> Tensor:
    """Vectors [n, 2D], turned by angles [n, D]."""
    real, imaginary = vectors.chunk(2, dim=-1)
    cosine, sine = angles.cos(), angles.sin()
    return torch.cat([real * cosine - imaginary * sine, real * sine + imaginary * cosine], dim=-1)


def distance(first: Tensor, second: Tensor) -> Tensor:
    """Sum of moduli of the differences of vectors [..., 2D]."""
    real, imaginary = (first - second).chunk(2, dim=-1)
    return (real**2 + imaginary**2 + 1e-20).sqrt().sum(-1)


def known_negatives(graph: GraphArrays, piece: Piece, num_entities: int) -> NDArray[np.bool_]:
    """Which negatives are known answers of which query, [b, N]."""
    known = np.zeros((len(piece.heads), num_entities), bool)
    for query, row in enumerate(piece.graph_rows):
        known[query, graph.tails[graph.row_edges[row] : graph.row_edges[row + 1]]] = True
    picked: NDArray[np.bool_] = known[:, piece.negatives]
    return picked


def _unique(ids: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int32], list[NDArray[np.int64]]]:
    """Distinct ids, and the place of every given id among them."""
    rows, places = np.unique(np.concatenate(ids), return_inverse=True)
    ends = list(accumulate(len(array) for array in ids))
    return rows, np.split(places, ends[:-1])
