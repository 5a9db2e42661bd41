"""Torch's number of threads is what it was, whatever happens inside."""

import pytest
import torch

from rnnlogic.generator.train import torch_threads


def test_the_number_of_threads_is_restored():
    before = torch.get_num_threads()
    with torch_threads(before + 2):
        assert torch.get_num_threads() == before + 2
    assert torch.get_num_threads() == before
    with pytest.raises(KeyError), torch_threads(before + 1):
        raise KeyError
    assert torch.get_num_threads() == before
