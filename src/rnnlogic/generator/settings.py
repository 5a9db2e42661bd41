"""Settings of the generator."""

from __future__ import annotations

from pydantic import Field

from rnnlogic.base.settings import Settings


class GeneratorSettings(Settings):
    """The LSTM that proposes rules."""

    embedding_size: int = Field(512, ge=1, description="Size of the relation vectors, the LSTM's input")
    hidden_size: int = Field(256, ge=1, description="Size of the LSTM's state")
    pretrain_steps: int = Field(300, ge=0, description="Optimiser steps on mined rules")
    pretrain_learning_rate: float = Field(3e-3, gt=0, description="Adam's learning rate on mined rules")
    tune_steps: int = Field(150, ge=0, description="Optimiser steps of one M-step")
    tune_learning_rate: float = Field(1e-3, gt=0, description="Adam's learning rate in an M-step")
    batch_size: int = Field(1024, ge=1, description="Rules in one step")
    rules_per_mined: float | None = Field(
        None,
        gt=0,
        description="Rules generated for a relation, at most, as a multiple of those that mining kept for it",
    )
