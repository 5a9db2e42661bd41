"""What a fit leaves behind, and where its finished stages are kept; free of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rnnlogic.grounding.features import Feature
from rnnlogic.predictors.plus.parameters import PlusParameters, pack_plus, unpack_plus
from rnnlogic.rules.ruleset import RuleSet

Arrays = dict[str, NDArray[Any]]
FIGURES = ("weights", "log_prior", "support", "confidence")


@dataclass(frozen=True, eq=False)
class Learned:
    """Weighted rules that answer queries."""

    rules: RuleSet
    weights: NDArray[np.float64]  # [n] psi
    log_prior: NDArray[np.float64]  # [n] log-probability under the generator; nan for rules given by hand
    support: NDArray[np.int64]  # [n] training queries whose answer the rule reaches, own fact hidden
    confidence: NDArray[np.float64]  # [n] support / (support + results that are no known answer)
    feature: Feature
    answer_weight: float = 0.0  # eta: how much of the embedding's own score is added; 0 without an embedding
    plus: PlusParameters | None = None  # the network of RNNLogic+


class Store(Protocol):
    """Where finished stages are kept, so that an interrupted fit goes on where it stopped."""

    def load(self, stage: str) -> Arrays | None:
        """What was saved for a stage; None if it is not finished."""
        ...

    def save(self, stage: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the result of a stage, all or nothing."""
        ...

    def log(self, record: Mapping[str, Any]) -> None:
        """Note figures of a stage."""
        ...


class MemoryStore:
    """A store that forgets at the end of the process."""

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


def pack_rules(rules: RuleSet) -> Arrays:
    """Rules as arrays."""
    return {"heads": rules.heads, "body_ptr": rules.body_ptr, "body": rules.body}


def unpack_rules(arrays: Mapping[str, NDArray[Any]]) -> RuleSet:
    """Rules packed by `pack_rules`."""
    return RuleSet(arrays["heads"].copy(), arrays["body_ptr"].copy(), arrays["body"].copy())


def pack_learned(learned: Learned) -> Arrays:
    """Weighted rules as arrays."""
    figures = {name: getattr(learned, name) for name in FIGURES}
    network = {} if learned.plus is None else pack_plus(learned.plus)
    return pack_rules(learned.rules) | figures | {"answer_weight": np.array(learned.answer_weight)} | network


def unpack_learned(arrays: Mapping[str, NDArray[Any]], feature: Feature) -> Learned:
    """Weighted rules packed by `pack_learned`."""
    figures = {name: arrays[name] for name in FIGURES}
    answer_weight = float(arrays.get("answer_weight", 0.0))  # runs of earlier versions have none
    return Learned(
        rules=unpack_rules(arrays),
        feature=feature,
        answer_weight=answer_weight,
        plus=unpack_plus(arrays),
        **figures,
    )
