"""What the parts of compaction hand to each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Feature, Queries
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import KnownAnswers
from rnnlogic.fit.compact.settings import CompactSettings
from rnnlogic.predictors.base import RuleValues
from rnnlogic.predictors.loglinear.fit import Signs
from rnnlogic.rules.ruleset import RuleSet

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Rest = Callable[[Graph, NDArray[np.int32], int], Floats | None]  # graph, heads [q], relation -> [q, E]


class Teacher(NamedTuple):
    """The full model and what all relations share."""

    graph: Graph  # of training facts
    known: KnownAnswers  # of all facts, to filter answers of validation queries
    rules: RuleSet
    weights: Floats  # [rules]
    support: NDArray[np.int64]  # [rules]
    confidence: Floats  # [rules]
    signs: Signs  # [rules] of the weights
    values: RuleValues
    pinned: NDArray[np.bool_]  # [rules] never dropped
    asked: Queries  # [n, 3] validation queries
    settings: CompactSettings
    seed: int
    rest: Rest | None = None  # what the score of every entity has besides the sum over rules

    @property
    def paths_as(self) -> Feature | None:
        """How values of rules tell what their paths are worth; None where facts have no weights."""
        return None if self.graph.weights is None else self.values.feature


class Columns(NamedTuple):
    """What rules reach, rule by rule."""

    ptr: NDArray[np.int64]  # [k+1]
    candidate: NDArray[np.int32]  # [n]
    value: NDArray[np.float32]  # [n] feature


class Grounded(NamedTuple):
    """Queries of one relation with all candidates of the full model, and what some of its rules reach."""

    heads: NDArray[np.int32]  # [q]
    query_ptr: NDArray[np.int64]  # [q+1]
    entity: NDArray[np.int32]  # [c]
    score: Floats  # [c] of the full model
    rest: Floats  # [c] the part of the score that no rule adds
    multiplicity: Floats  # [c] candidates of the query that each stands for
    columns: Columns  # of the rules looked at
    hashes: NDArray[np.uint64]  # [rules looked at] the same for rules that reach the same


class Imitation(NamedTuple):
    """What a student learns: for each query a distribution over its candidates."""

    query_ptr: NDArray[np.int64]  # [q+1]
    target: Floats  # [c] sums to the query's weight; all weights sum to 1
    multiplicity: Floats  # [c] candidates that each stands for
    rest: Floats  # [c] the part of the score that no rule adds
    columns: Columns


class Terms(NamedTuple):
    """What is added to the loss of a problem, and what binds its weights."""

    penalty: Floats  # [k] on the size of each weight
    scale: Floats  # [k] about the inverse of each second derivative
    signs: Signs  # [k] on which side of zero a weight must be; 0: on any
    weight_decay: float


class Model(NamedTuple):
    """One model of a path."""

    rules: Ids  # rule ids
    weights: Floats  # [rules]
    price: float  # mean loss that its less useful rules save, times the root of the relation's facts
    is_readable: bool = True  # has all rules that people would name


class Path(NamedTuple):
    """The models of one relation and direction, ever smaller, with what they do on validation queries."""

    relation: int
    models: list[Model]
    full: Floats  # [a] reciprocal ranks of the full model
    reciprocal: Floats  # [models + 1, a] of the path's models; the last one is no rule at all
