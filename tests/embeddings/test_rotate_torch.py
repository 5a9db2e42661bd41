"""The torch step and the CPU's compiled step are the same, by autograd."""

import numpy as np
import pytest
import torch

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.embeddings.rotate_torch import TorchStepper
from rnnlogic.embeddings.sampling import Sampler
from rnnlogic.embeddings.settings import RotatESettings
from rnnlogic.embeddings.step import CpuStepper, initial_parameters


@pytest.mark.parametrize(("dim", "negatives", "temperature"), [(9, 11, 1.0), (4, 99, 0.0), (13, 5, 3.0)])
def test_steps_are_the_same(ring, dim, negatives, temperature):
    settings = RotatESettings(
        dim=dim, margin=4, adversarial_temperature=temperature, batch_size=40, share=15, negatives=negatives
    )
    sampler = Sampler.of(ring, settings)
    parameters = initial_parameters(ring.vocab.num_entities, ring.vocab.num_relations, settings)
    ours, theirs = CpuStepper(parameters, sampler, 1), TorchStepper(parameters, sampler, "cpu")
    for step in range(3):
        pieces = sampler.pieces(step, sampler.order(0))
        assert ours.step(pieces, 0.05) == pytest.approx(theirs.step(pieces, 0.05), rel=1e-5)
    for table, expected in zip(ours.parameters, theirs.parameters, strict=True):
        for array, other in zip(table, expected, strict=True):
            np.testing.assert_allclose(array, other, rtol=1e-3, atol=2e-5)


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_a_missing_gpu_is_an_error(ring):
    sampler = Sampler.of(ring, RotatESettings())
    with pytest.raises(RNNLogicError, match="finds no CUDA device"):
        TorchStepper(initial_parameters(1, 1, RotatESettings()), sampler, "cuda")


@pytest.mark.parametrize("device", ["", "gpu", "cpu:x", "meta", "-1", "a\x00b", "\udcff", "vulkan"])
def test_a_device_that_does_not_exist_is_an_error(device, ring):
    sampler = Sampler.of(ring, RotatESettings())
    with pytest.raises(RNNLogicError, match="torch cannot use it"):
        TorchStepper(initial_parameters(1, 1, RotatESettings()), sampler, device)
