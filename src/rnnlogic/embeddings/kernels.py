"""Compiled RotatE: distances, gradients and Adam; public ones have plain twins in `reference.py`.

Vectors lie in columns here: row d of an array [2D, n] holds real part d of all n vectors, row D + d their
imaginary part d, so that the inner loops run over many vectors at once. Rows may be longer than n: a length
that is no power of two keeps the rows from falling on the same places of the cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import inlined, vectorised

Columns = NDArray[np.float32]  # [2D, at least n]
Floats = NDArray[np.float32]

PADDING = 16  # floats after each row of columns
ONE, HALF, ZERO = np.float32(1), np.float32(0.5), np.float32(0)
TINY = np.float32(1e-20)  # keeps 1 / modulus finite where two numbers are equal
FAR = np.float32(1e6)  # distance of an entity that is left out: no loss, no slope
LOG2_E, LN_2 = np.float32(np.log2(np.e)), np.float32(np.log(2))
MOMENTUM, SCALE_MEMORY, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)  # of Adam
LOG_MOMENTUM, LOG_SCALE_MEMORY = np.log(0.9), np.log(0.999)


class Table(NamedTuple):
    """Rows of parameters, with Adam's averages."""

    values: Floats  # [n, W]
    mean: Floats  # [n, W]
    square: Floats  # [n, W]
    updates: NDArray[np.int32]  # [n] steps of each row

    @staticmethod
    def of(values: Floats) -> Table:
        """Values of which no step was taken yet."""
        return Table(values, np.zeros_like(values), np.zeros_like(values), np.zeros(len(values), np.int32))


@vectorised
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
    dim = cosine.shape[1]
    for i in range(len(heads)):
        old, new, c, s = entity[heads[i]], turned[i], cosine[relations[i]], sine[relations[i]]
        for d in range(dim):
            across = sign[i] * s[d]
            new[d] = old[d] * c[d] - old[dim + d] * across
            new[dim + d] = old[d] * across + old[dim + d] * c[d]


@vectorised
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
    dim = cosine.shape[1]
    for i in range(len(relations)):
        place, slope, c, s = turned[i], gradient[i], cosine[relations[i]], sine[relations[i]]
        for d in range(dim):
            real, imaginary, across = slope[d], slope[dim + d], sign[i] * s[d]
            phase_gradient[i, d] = sign[i] * (imaginary * place[d] - real * place[dim + d])
            slope[d] = real * c[d] + imaginary * across
            slope[dim + d] = imaginary * c[d] - real * across


@vectorised
def add_distances(queries: Columns, others: Columns, number: int, distance: Floats) -> None:
    """Add the distance of query i to vector j < number to distance[i, j]; rows may be longer."""
    dim = len(queries) // 2
    whole = dim - dim % 4
    for d in range(0, whole, 4):
        x0, x1, x2, x3 = others[d], others[d + 1], others[d + 2], others[d + 3]
        y0, y1, y2, y3 = others[dim + d], others[dim + d + 1], others[dim + d + 2], others[dim + d + 3]
        for i in range(len(distance)):
            a0, a1, a2, a3 = queries[d, i], queries[d + 1, i], queries[d + 2, i], queries[d + 3, i]
            b0, b1 = queries[dim + d, i], queries[dim + d + 1, i]
            b2, b3 = queries[dim + d + 2, i], queries[dim + d + 3, i]
            row = distance[i]
            for j in range(number):
                row[j] += (
                    np.sqrt((a0 - x0[j]) ** 2 + (b0 - y0[j]) ** 2)
                    + np.sqrt((a1 - x1[j]) ** 2 + (b1 - y1[j]) ** 2)
                    + np.sqrt((a2 - x2[j]) ** 2 + (b2 - y2[j]) ** 2)
                    + np.sqrt((a3 - x3[j]) ** 2 + (b3 - y3[j]) ** 2)
                )
    for d in range(whole, dim):
        x, y = others[d], others[dim + d]
        for i in range(len(distance)):
            a, b, row = queries[d, i], queries[dim + d, i], distance[i]
            for j in range(number):
                row[j] += np.sqrt((a - x[j]) ** 2 + (b - y[j]) ** 2)


@vectorised
def pair_distances(queries: Columns, answers: Columns, number: int) -> Floats:
    """Distance of query i to answer i, [number]."""
    dim = len(queries) // 2
    distance = np.zeros(number, np.float32)
    for d in range(dim):
        for i in range(number):
            real, imaginary = queries[d, i] - answers[d, i], queries[dim + d, i] - answers[dim + d, i]
            distance[i] += np.sqrt(real * real + imaginary * imaginary)
    return distance


@vectorised
def leave_out_known(
    row_edges: NDArray[np.int64],
    tails: NDArray[np.int32],
    graph_rows: NDArray[np.int64],
    negatives: NDArray[np.int32],
    place: NDArray[np.int32],
    distance: Floats,
) -> None:
    """Set distance[i, j] to FAR where negative j is a known answer of query i, which has graph_rows[i].

    `place` [E] holds -1 everywhere, before and after.
    """
    for j in range(len(negatives)):
        place[negatives[j]] = j
    for i in range(len(graph_rows)):
        for edge in range(row_edges[graph_rows[i]], row_edges[graph_rows[i] + 1]):
            j = place[tails[edge]]
            if j >= 0:
                distance[i, j] = FAR
    for j in range(len(negatives)):
        place[negatives[j]] = -1


@inlined
def _exp(x: Any) -> Any:
    """exp(x) for x between -80 and 80, and exp(-80) below; unlike np.exp it becomes vector instructions."""
    x = max(x, np.float32(-80))
    power = np.floor(x * LOG2_E + HALF)
    rest = x - power * LN_2
    series = np.float32(1 / 120) + rest * np.float32(1 / 720)
    series = np.float32(1 / 6) + rest * (np.float32(1 / 24) + rest * series)
    series = ONE + rest * (ONE + rest * (HALF + rest * series))
    bits = (np.int32(power) + np.int32(127)) << np.int32(23)  # of 2 ** power
    return series * np.int32(bits).view(np.float32)


@vectorised
def contrast(
    near: Floats, distance: Floats, number: int, weights: Floats, margin: float, temperature: float
) -> float:
    """Loss of all queries; distances are replaced by what the loss changes by with each of them.

    The loss of a query is its weight times
    (softplus(d_answer - margin) + sum_j p_j softplus(margin - d_j)) / 2
    with p = softmax(-temperature * d) of the negatives, held fixed (self-adversarial sampling).
    """
    loss = 0.0
    limit, heat = np.float32(margin), np.float32(temperature)
    for i in range(len(near)):
        row, half = distance[i, :number], HALF * weights[i]
        least = row.min()
        total = ZERO
        for j in range(number):
            total += _exp(heat * (least - row[j]))
        for j in range(number):
            share = half * _exp(heat * (least - row[j])) / total
            odds = _exp(limit - row[j])
            loss += share * np.log(ONE + odds)
            row[j] = -share * odds / (ONE + odds)
        odds = _exp(limit - near[i])
        loss += half * (near[i] - limit + np.log(ONE + odds))
        near[i] = half / (ONE + odds)
    return loss


@vectorised
def pair_gradients(queries: Columns, answers: Columns, slope: Floats, query_gradient: Columns) -> None:
    """Gradients of sum_i slope[i] * distance(query i, answer i); the answers are replaced by theirs."""
    dim = len(queries) // 2
    for d in range(dim):
        for i in range(len(slope)):
            real, imaginary = queries[d, i] - answers[d, i], queries[dim + d, i] - answers[dim + d, i]
            unit = slope[i] / np.sqrt(real * real + imaginary * imaginary + TINY)
            query_gradient[d, i], query_gradient[dim + d, i] = unit * real, unit * imaginary
            answers[d, i], answers[dim + d, i] = -unit * real, -unit * imaginary


@vectorised
def add_gradients(
    queries: Columns,
    others: Columns,
    number: int,
    slope: Floats,
    query_gradient: Columns,
    other_gradient: Columns,
) -> None:
    """Add the gradients of sum_ij slope[i, j] * distance(query i, vector j), j < number."""
    dim = len(queries) // 2
    size = len(slope)
    for d in range(dim):
        x, y, x_gradient, y_gradient = others[d], others[dim + d], other_gradient[d], other_gradient[dim + d]
        for i in range(0, size - 1, 2):
            a0, a1, b0, b1 = queries[d, i], queries[d, i + 1], queries[dim + d, i], queries[dim + d, i + 1]
            slope0, slope1 = slope[i], slope[i + 1]
            a0_sum, a1_sum, b0_sum, b1_sum = ZERO, ZERO, ZERO, ZERO
            for j in range(number):
                real0, real1, imaginary0, imaginary1 = a0 - x[j], a1 - x[j], b0 - y[j], b1 - y[j]
                unit0 = slope0[j] / np.sqrt(real0 * real0 + imaginary0 * imaginary0 + TINY)
                unit1 = slope1[j] / np.sqrt(real1 * real1 + imaginary1 * imaginary1 + TINY)
                a0_sum += unit0 * real0
                a1_sum += unit1 * real1
                b0_sum += unit0 * imaginary0
                b1_sum += unit1 * imaginary1
                x_gradient[j] -= unit0 * real0 + unit1 * real1
                y_gradient[j] -= unit0 * imaginary0 + unit1 * imaginary1
            query_gradient[d, i] += a0_sum
            query_gradient[d, i + 1] += a1_sum
            query_gradient[dim + d, i] += b0_sum
            query_gradient[dim + d, i + 1] += b1_sum
        if size % 2:
            last = size - 1
            a, b, row = queries[d, last], queries[dim + d, last], slope[last]
            for j in range(number):
                real, imaginary = a - x[j], b - y[j]
                unit = row[j] / np.sqrt(real * real + imaginary * imaginary + TINY)
                query_gradient[d, last] += unit * real
                query_gradient[dim + d, last] += unit * imaginary
                x_gradient[j] -= unit * real
                y_gradient[j] -= unit * imaginary


@vectorised
def adam_rows(
    table: Table,
    rows: NDArray[np.int32],
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    gradients: Floats,
    rate: float,
) -> None:
    """A step of Adam on some rows of a table; row rows[k] has gradients[order[starts[k]:starts[k+1]]].

    The averages of rows without a gradient stay as they are.
    """
    values, mean, square, updates = table
    width = values.shape[1]
    gradient = np.empty(width, np.float32)
    for k in range(len(rows)):
        row = rows[k]
        gradient[:] = gradients[order[starts[k]]]
        for place in range(starts[k] + 1, starts[k + 1]):
            gradient += gradients[order[place]]
        updates[row] += 1
        mean_share = 1.0 - np.exp(LOG_MOMENTUM * updates[row])
        square_share = 1.0 - np.exp(LOG_SCALE_MEMORY * updates[row])
        step, scale = np.float32(rate / mean_share), np.float32(1.0 / np.sqrt(square_share))
        value, first, second = values[row], mean[row], square[row]
        for d in range(width):
            g = gradient[d]
            first[d] = MOMENTUM * first[d] + (ONE - MOMENTUM) * g
            second[d] = SCALE_MEMORY * second[d] + (ONE - SCALE_MEMORY) * g * g
            value[d] -= step * first[d] / (np.sqrt(second[d]) * scale + EPSILON)
