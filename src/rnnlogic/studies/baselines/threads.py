"""Torch's number of threads, set for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let torch use so many threads inside `with`, and as many as before afterwards.

    The number belongs to the whole process, so do not change it from several Python threads at once.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
