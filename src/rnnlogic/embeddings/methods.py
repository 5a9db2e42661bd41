"""How each embedding is trained: its batches, its parameters and its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration, Declared, Size
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings import complex_step, step
from rnnlogic.embeddings.base import Floats
from rnnlogic.embeddings.complex import ComplEx
from rnnlogic.embeddings.complex_batches import Batch, Batches
from rnnlogic.embeddings.kernels import Table
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.embeddings.sampling import Piece, Sampler
from rnnlogic.embeddings.settings import ComplExSettings, RotatESettings, TrainingSettings
from rnnlogic.embeddings.train import BEST, Method, Parameters, Stepper

Arrays = Mapping[str, NDArray[Any]]
Shapes = dict[str, tuple[Size, ...]]
MakeStepper = Callable[[step.Parameters, Sampler], Stepper]


@dataclass(frozen=True, eq=False)
class RotatEMethod:
    """RotatE: negative sampling and Adam."""

    sampler: Sampler
    make_stepper: MakeStepper | None  # None: on the CPU

    @property
    def settings(self) -> RotatESettings:
        """How it is trained."""
        return self.sampler.settings

    @property
    def steps_per_epoch(self) -> int:
        """Steps of an epoch."""
        return self.sampler.steps_per_epoch

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return self.sampler.steps

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The queries of an epoch in random order."""
        return self.sampler.order(epoch)

    def batch(self, step: int, order: NDArray[np.int64]) -> list[Piece]:
        """The pieces of a step."""
        return self.sampler.pieces(step, order)

    def first(self) -> step.Parameters:
        """Random parameters."""
        graph = self.sampler.graph
        return step.initial_parameters(graph.num_entities, graph.num_relations, self.settings)

    @property
    def declared(self) -> Declaration:
        """The arrays of a checkpoint."""
        shapes: Shapes = {"entity": ("E", "2*dim"), "phase": ("R", "dim")}
        updates = {f"{kind}.updates": Declared("int32", shape[:1], least=0) for kind, shape in shapes.items()}
        return _tables(shapes, ("values", "mean", "square")) | updates

    def restored(self, arrays: Arrays) -> step.Parameters:
        """The parameters of a checkpoint."""
        tables = [
            Table(*(arrays[f"{kind}.{name}"] for name in Table._fields)) for kind in step.Parameters._fields
        ]
        return step.Parameters(*tables)

    def stepper(self, parameters: Parameters, threads: int) -> Stepper:
        """Takes steps."""
        assert isinstance(parameters, step.Parameters)
        if self.make_stepper is not None:
            return self.make_stepper(parameters, self.sampler)
        return step.CpuStepper(parameters, self.sampler, threads)

    def embedding(self, values: Mapping[str, Floats], threads: int | None) -> RotatE:
        """The embedding with these parameters."""
        return RotatE(values["entity"], values["phase"], self.settings.margin, threads)


@dataclass(frozen=True, eq=False)
class ComplExMethod:
    """ComplEx: all answers at once and Adagrad."""

    batches: Batches

    @property
    def settings(self) -> ComplExSettings:
        """How it is trained."""
        return self.batches.settings

    @property
    def steps_per_epoch(self) -> int:
        """Steps of an epoch."""
        return self.batches.steps_per_epoch

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return self.batches.steps

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The queries of an epoch in random order."""
        return self.batches.order(epoch)

    def batch(self, step: int, order: NDArray[np.int64]) -> Batch:
        """The queries of a step."""
        return self.batches.batch(step, order)

    def first(self) -> complex_step.Parameters:
        """Random parameters."""
        graph = self.batches.graph
        return complex_step.initial_parameters(graph.num_entities, graph.num_relations, self.settings)

    @property
    def declared(self) -> Declaration:
        """The arrays of a checkpoint."""
        shapes: Shapes = {"entity": ("E", "2*dim"), "relation": ("2*R", "2*dim")}
        return _tables(shapes, ("values", "square"))

    def restored(self, arrays: Arrays) -> complex_step.Parameters:
        """The parameters of a checkpoint."""
        tables = [
            complex_step.Table(*(arrays[f"{kind}.{name}"] for name in complex_step.Table._fields))
            for kind in complex_step.Parameters._fields
        ]
        return complex_step.Parameters(*tables)

    def stepper(self, parameters: Parameters, threads: int) -> Stepper:
        """Takes steps."""
        assert isinstance(parameters, complex_step.Parameters)
        return complex_step.ComplExStepper(parameters, self.settings, threads)

    def embedding(self, values: Mapping[str, Floats], threads: int | None) -> ComplEx:
        """The embedding with these parameters."""
        return ComplEx(values["entity"], values["relation"], threads)


def _tables(shapes: Shapes, names: Sequence[str]) -> Declaration:
    """Tables of parameters, and the best of them if there are any yet."""
    tables = {f"{kind}.{name}": Declared("float32", shapes[kind]) for kind in shapes for name in names}
    best = {BEST + kind: Declared("float32", shape, optional=True) for kind, shape in shapes.items()}
    return tables | best


def method_of(
    dataset: Dataset, settings: TrainingSettings, make_stepper: MakeStepper | None = None
) -> Method:
    """How to train what these settings belong to; `make_stepper` puts RotatE on another device."""
    if isinstance(settings, RotatESettings):
        return RotatEMethod(Sampler.of(dataset, settings), make_stepper)
    assert isinstance(settings, ComplExSettings)
    if make_stepper is not None:
        raise RNNLogicError("ComplEx is trained on the CPU only: leave out --device")
    return ComplExMethod(Batches.of(dataset.graph("train"), settings))
