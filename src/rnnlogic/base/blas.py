"""One thread for the linear algebra inside a unit of work: cores are shared out among units."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread inside `with`.

    L-BFGS calls it thousands of times on tiny matrices: threads of its own would mostly wait for each other,
    and the last bits of a sum would depend on their number.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
