"""Zeros are kept by a thread for one purpose, and made anew where size or type differ."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from rnnlogic.grounding.scratch import zeros


def test_zeros_are_kept_by_purpose_type_and_size():
    first = zeros("test", 5)
    assert first.dtype == np.float64
    assert first.tolist() == [0.0] * 5
    assert zeros("test", 5) is first
    assert zeros("test", 5, np.int64) is not first
    assert zeros("another test", 5) is not first
    assert len(zeros("test", 6)) == 6
    assert zeros("test", 5) is not first


def test_threads_have_their_own():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(zeros, "test", 7).result() is not zeros("test", 7)
