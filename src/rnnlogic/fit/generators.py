"""Generators of a fit: made new, kept as arrays, and brought back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Arrays
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.generator.network import RuleGenerator


def new_generator(dataset: Dataset, config: Config) -> RuleGenerator:
    """An untrained generator of the configured sizes."""
    settings = config.generator
    return RuleGenerator(
        2 * dataset.vocab.num_relations,
        config.max_length,
        input_size=settings.embedding_size,
        hidden_size=settings.hidden_size,
        seed=config.seed,
    )


def pack_generator(generator: RuleGenerator) -> Arrays:
    """A generator's parameters as arrays."""
    return {f"generator.{k}": v.detach().numpy().copy() for k, v in generator.state_dict().items()}


def with_parameters(generator: RuleGenerator, arrays: Mapping[str, NDArray[Any]]) -> RuleGenerator:
    """A generator of the same sizes with the parameters that `pack_generator` packed."""
    prefix, other = "generator.", copy.deepcopy(generator)
    state = {k.removeprefix(prefix): torch.tensor(v) for k, v in arrays.items() if k.startswith(prefix)}
    try:
        other.load_state_dict(state)
    except RuntimeError as error:
        raise RNNLogicError(
            f"the generator of this fit has other sizes than the settings ({error})"
        ) from None
    return other
