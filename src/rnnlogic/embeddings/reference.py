"""Plain Python twins of the kernels, with the same signatures: slow, but easy to check."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from rnnlogic.embeddings.kernels import (
    EPSILON,
    FAR,
    MOMENTUM,
    SCALE_MEMORY,
    Columns,
    Floats,
    Table,
)

Complex = NDArray[np.complex128]
softplus = partial(np.logaddexp, 0.0)


def turn_rows(
    entity: Floats,
    heads: NDArray[np.int32],
    relations: NDArray[np.int32],
    sign: Floats,
    cosine: Floats,
    sine: Floats,
    turned: Floats,
) -> None:
    """Set turned [n, 2D] to the entities `heads`, turned by sign times the angles of relations in 0..R-1."""
    for i, (head, relation) in enumerate(zip(heads, relations, strict=True)):
        turned[i] = _halves(_complex(entity[head]) * (cosine[relation] + 1j * sign[i] * sine[relation]))


def turn_gradients_back(
    turned: Floats,
    relations: NDArray[np.int32],
    sign: Floats,
    cosine: Floats,
    sine: Floats,
    gradient: Floats,
    phase_gradient: Floats,
) -> None:
    """From gradients [n, 2D] of `turned` make those of its heads, in place, and of the phases [n, D]."""
    for i, relation in enumerate(relations):
        slope = _complex(gradient[i])
        phase_gradient[i] = sign[i] * (slope.conj() * 1j * _complex(turned[i])).real
        gradient[i] = _halves(slope * (cosine[relation] - 1j * sign[i] * sine[relation]))


def add_distances(queries: Columns, others: Columns, number: int, distance: Floats) -> None:
    """Add the distance of query i to vector j < number to distance[i, j]; rows may be longer."""
    for i in range(len(distance)):
        for j in range(number):
            distance[i, j] += np.abs(_complex(queries[:, i]) - _complex(others[:, j])).sum()


def pair_distances(queries: Columns, answers: Columns, number: int) -> Floats:
    """Distance of query i to answer i, [number]."""
    pairs = ((_complex(queries[:, i]), _complex(answers[:, i])) for i in range(number))
    return np.array([np.abs(query - answer).sum() for query, answer in pairs], np.float32)


def leave_out_known(
    row_edges: NDArray[np.int64],
    tails: NDArray[np.int32],
    graph_rows: NDArray[np.int64],
    negatives: NDArray[np.int32],
    place: NDArray[np.int32],
    distance: Floats,
) -> None:
    """Set distance[i, j] to FAR where negative j is a known answer of query i, which has graph_rows[i]."""
    del place
    for i, row in enumerate(graph_rows):
        known = set(tails[row_edges[row] : row_edges[row + 1]].tolist())
        for j, negative in enumerate(negatives.tolist()):
            if negative in known:
                distance[i, j] = FAR


def contrast(
    near: Floats, distance: Floats, number: int, weights: Floats, margin: float, temperature: float
) -> float:
    """Loss of all queries; distances are replaced by what the loss changes by with each of them."""
    loss = 0.0
    for i in range(len(near)):
        far = distance[i, :number].astype(float)
        shares = weights[i] / 2 * softmax(-temperature * far)
        loss += weights[i] / 2 * softplus(near[i] - margin) + shares @ softplus(margin - far)
        near[i] = weights[i] / 2 * expit(near[i] - margin)
        distance[i, :number] = -shares * expit(margin - far)
    return loss


def pair_gradients(queries: Columns, answers: Columns, slope: Floats, query_gradient: Columns) -> None:
    """Gradients of sum_i slope[i] * distance(query i, answer i); the answers are replaced by theirs."""
    for i in range(len(slope)):
        gradient = slope[i] * _direction(queries[:, i], answers[:, i])
        query_gradient[:, i], answers[:, i] = gradient, -gradient


def add_gradients(
    queries: Columns,
    others: Columns,
    number: int,
    slope: Floats,
    query_gradient: Columns,
    other_gradient: Columns,
) -> None:
    """Add the gradients of sum_ij slope[i, j] * distance(query i, vector j), j < number."""
    for i in range(len(slope)):
        for j in range(number):
            gradient = slope[i, j] * _direction(queries[:, i], others[:, j])
            query_gradient[:, i] += gradient
            other_gradient[:, j] -= gradient


def adam_rows(
    table: Table,
    rows: NDArray[np.int32],
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    gradients: Floats,
    rate: float,
) -> None:
    """A step of Adam on some rows of a table; rows[k] has gradients[order[starts[k]:starts[k+1]]]."""
    values, mean, square, updates = table
    for k, row in enumerate(rows):
        gradient = gradients[order[starts[k] : starts[k + 1]]].sum(axis=0)
        updates[row] += 1
        mean[row] = MOMENTUM * mean[row] + (1 - MOMENTUM) * gradient
        square[row] = SCALE_MEMORY * square[row] + (1 - SCALE_MEMORY) * gradient**2
        unbiased = mean[row] / (1 - float(MOMENTUM) ** updates[row])
        scale = np.sqrt(square[row] / (1 - float(SCALE_MEMORY) ** updates[row]))
        values[row] -= rate * unbiased / (scale + EPSILON)


def _complex(vector: Floats) -> Complex:
    """A vector [2D] of two halves as complex numbers [D]."""
    real, imaginary = np.split(vector.astype(float), 2)
    return np.asarray(real + 1j * imaginary)


def _halves(numbers: Complex) -> NDArray[np.float64]:
    return np.concatenate([numbers.real, numbers.imag])


def _direction(query: Floats, other: Floats) -> NDArray[np.float64]:
    """The gradient of the distance by the query; 0 where two numbers are equal."""
    difference = _complex(query) - _complex(other)
    modulus = np.abs(difference)
    return _halves(np.where(modulus > 0, difference / np.where(modulus > 0, modulus, 1), 0))
