"""Chances are those of SciPy."""

import numpy as np
import scipy.special

from rnnlogic.base.chances import expit, softmax


def test_chances_are_those_of_scipy():
    logits = np.concatenate(
        [np.random.default_rng(0).normal(0, 20, 1000), [0, -800, 800, -1e6, -np.inf, np.inf]]
    )
    np.testing.assert_allclose(expit(logits), scipy.special.expit(logits), rtol=1e-15, atol=1e-307)
    assert expit(-np.inf) == 0
    assert expit([[0.0]]).shape == (1, 1)


def test_shares_are_those_of_scipy():
    for scores in ([0.0], [800.0, 801.0, -800.0], [-np.inf, 2.0], np.random.default_rng(0).normal(0, 9, 50)):
        np.testing.assert_array_equal(softmax(scores), scipy.special.softmax(scores))
