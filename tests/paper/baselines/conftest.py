"""Baselines are tested on one thread of torch: their graphs are tiny."""

import pytest

from rnnlogic.generator.train import torch_threads


@pytest.fixture(autouse=True)
def _one_thread_of_torch():
    with torch_threads(1):
        yield
