"""Zeros are kept by a thread for one purpose, and made anew where size or type differ."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rnnlogic.features.base import zeros


def borrowed(purpose, size, dtype=np.float64):
    with zeros(purpose, size, dtype) as array:
        return array


def test_zeros_are_kept_by_purpose_type_and_size():
    first = borrowed("test", 5)
    assert first.dtype == np.float64
    assert first.tolist() == [0.0] * 5
    assert borrowed("test", 5) is first
    assert borrowed("test", 5, np.int64) is not first
    assert borrowed("another test", 5) is not first
    assert len(borrowed("test", 6)) == 6
    assert borrowed("test", 5) is not first


def test_threads_have_their_own():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(borrowed, "test", 7).result() is not borrowed("test", 7)


def test_two_users_at_once_have_their_own():
    with zeros("test", 3) as one, zeros("test", 3) as other:
        assert one is not other


def spoil():
    with zeros("test", 4) as array:
        array[:] = 1
        raise MemoryError


def test_what_an_error_left_behind_is_dropped():
    with pytest.raises(MemoryError):
        spoil()
    assert not borrowed("test", 4).any()
