"""Scores as chances. SciPy has the same functions, but loading them takes longer than an answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def expit(logit: ArrayLike) -> Floats:
    """The chance of each logit: 1 / (1 + exp(-logit))."""
    with np.errstate(over="ignore"):  # a chance of 0
        return np.asarray(1 / (1 + np.exp(-np.asarray(logit, np.float64))))


def softmax(score: ArrayLike) -> Floats:
    """Each score's share of the sum of their exponentials."""
    above = np.asarray(score, np.float64)
    power = np.exp(above - above.max())
    return np.asarray(power / power.sum())
