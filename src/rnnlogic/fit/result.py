"""The result of a fit, and where its finished stages are kept; needs no torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.base.budget import Budget
from rnnlogic.base.types import Arrays, Feature
from rnnlogic.config import Config
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.predictors.base import Predictor, predictor_class
from rnnlogic.rules.ruleset import RULE_ARRAYS, RuleSet, pack_rules, unpack_rules
from rnnlogic.statistics.statistics import trust_of

FIGURES = ("log_prior", "support", "confidence", "lift")
UNKNOWN: NDArray[np.float64] = np.empty(0)
FRONTIER = "frontier"  # the stage that holds the frontier of a compact model
CUT = "cut"  # records of what a fit left out for want of time


@dataclass(frozen=True, eq=False)
class Learned:
    """A predictor, and figures of its rules."""

    predictor: Predictor
    log_prior: NDArray[np.float64]  # [n] log-probability under the generator; nan for rules given by hand
    support: NDArray[np.int64]  # [n] training queries whose answer the rule reaches, own fact hidden
    confidence: NDArray[np.float64]  # [n] support / (support + results that are not known answers)
    lift: NDArray[np.float64] = field(default_factory=lambda: UNKNOWN)  # [n] over chance; nan: unknown

    def __post_init__(self) -> None:
        if len(self.lift) != len(self.support):  # of runs that were made before there was lift
            object.__setattr__(self, "lift", np.full(len(self.support), np.nan))

    @property
    def rules(self) -> RuleSet:
        """The rules of the predictor."""
        return self.predictor.rules

    @property
    def weights(self) -> NDArray[np.float64]:
        """One number per rule [n]."""
        return self.predictor.weights

    @property
    def feature(self) -> Feature:
        """What weights multiply."""
        return self.predictor.feature


class Store(Protocol):
    """Keeps finished stages, so that an interrupted fit resumes where it stopped."""

    def load(self, stage: str) -> Arrays | None:
        """What was saved for a stage; None if it is not finished."""
        ...

    def save(self, stage: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the result of a stage, whole or not at all."""
        ...

    def log(self, record: Mapping[str, Any]) -> None:
        """Note figures of a stage."""
        ...


class MemoryStore:
    """A store in memory, for fits without a run folder."""

    def __init__(self) -> None:
        self.stages: dict[str, Arrays] = {}
        self.records: list[dict[str, Any]] = []

    def load(self, stage: str) -> Arrays | None:
        """What was saved for a stage; None if it is not finished."""
        return self.stages.get(stage)

    def save(self, stage: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the result of a stage."""
        self.stages[stage] = dict(arrays)

    def log(self, record: Mapping[str, Any]) -> None:
        """Note figures of a stage."""
        self.records.append(dict(record))


def learned_arrays(config: Config) -> Declaration:
    """What `pack_learned` gives with these settings."""
    figures = {
        "log_prior": Declared("float64", ("rules",), finite=False),
        "support": Declared("int64", ("rules",), least=0),
        "confidence": Declared("float64", ("rules",), least=0, most=1.0, finite=False),
        "lift": Declared("float64", ("rules",), least=0, finite=False, optional=True),
    }
    return RULE_ARRAYS | figures | predictor_class(config.variant).arrays(config)


def noted_cuts(deadline: float | None, store: Store) -> Budget:
    """The time until a deadline (a value of time.monotonic()); what is cut is logged in the store."""

    def note(stage: str, what: str) -> None:
        store.log({"stage": CUT, "of": stage, "what": what})

    return Budget(math.inf if deadline is None else deadline, note)


def cuts_of(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What each stage left out, by the records of a fit."""
    return {str(one.get("of")): str(one.get("what")) for one in records if one.get("stage") == CUT}


def pack_learned(learned: Learned) -> Arrays:
    """Rules, their figures and the predictor's parameters, as arrays."""
    figures = {name: getattr(learned, name) for name in FIGURES}
    return pack_rules(learned.rules) | figures | learned.predictor.pack()


def unpack_learned(
    arrays: Mapping[str, NDArray[Any]], config: Config, embedding: Scorer | None = None
) -> Learned:
    """The inverse of `pack_learned`."""
    figures = {name: arrays[name] for name in FIGURES if name in arrays}
    kind = predictor_class(config.variant)
    rules = unpack_rules(arrays).trusted(trust_of(figures["support"], figures["confidence"]))
    return Learned(kind.unpack(arrays, rules, config, embedding), **figures)
