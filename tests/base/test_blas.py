"""BLAS has one thread inside, and as many as before afterwards."""

import numpy as np
from threadpoolctl import threadpool_info

from rnnlogic.base.executor import one_blas_thread


def threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_one_thread_for_a_while():
    np.ones((2, 2)) @ np.ones((2, 2))
    before = threads()
    with one_blas_thread():
        assert set(threads()) == {1}
    assert threads() == before
