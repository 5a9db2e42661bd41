"""The stages of a fit: one table of what makes each, its share of the time, and what it holds.

A new stage gets a row here; without one it can be neither made, kept nor resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration, Declared, WrongArraysError, require_arrays
from rnnlogic.base.budget import Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Arrays
from rnnlogic.config import Config, changed
from rnnlogic.data.vocab import Vocab
from rnnlogic.fit.result import FRONTIER, Store, learned_arrays
from rnnlogic.predictors.loglinear.settings import DECAYS
from rnnlogic.rules.ruleset import RULE_ARRAYS

if TYPE_CHECKING:
    from rnnlogic.fit.pipeline import Fit

PRELIMINARY = "preliminary"
GENERATOR: Declaration = {"generator.*": Declared("float32", None)}  # torch checks the shapes
MINED: Declaration = {
    "joined": Declared("int64", ("rules",), least=0),
    "is_cut": Declared("bool", optional=True),
}
FRONTIER_ARRAYS: Declaration = {
    "rules": Declared("int64", ("levels",), least=0),
    "mrr": Declared("float64", ("levels",)),
    "drop": Declared("float64", ("levels",)),
    "error": Declared("float64", ("levels",)),
    "chosen": Declared("int64", least=0, below="levels"),
    "full_rules": Declared("int64", least=0),
}


class Made(NamedTuple):
    """What a stage made, and what is logged about it."""

    arrays: Arrays
    figures: Mapping[str, Any] = {}


class At(NamedTuple):
    """Where a stage is at work."""

    name: str  # of the stage, such as round-2
    budget: Budget  # its share of the time


@dataclass(frozen=True)
class Stage:
    """One row of the table."""

    name: str  # or a pattern of names
    run: str  # "module:function" of (Fit, At) -> Made, imported on demand; "": another stage makes it
    share: float  # of the time that is left when it begins, under a budget; the rest is for what follows
    arrays: Callable[[Config], Declaration]

    def make(self, fit: Fit, at: At) -> Made:
        """Run the stage."""
        module, _, function = self.run.partition(":")
        made: Made = getattr(import_module(module), function)(fit, at)
        return made


def _each(*names: str, finite: bool = True) -> Declaration:
    return {name: Declared("float64", ("rules",), finite=finite) for name in names}


def _always(declaration: Declaration) -> Callable[[Config], Declaration]:
    def declared(config: Config) -> Declaration:
        del config
        return declaration

    return declared


def _of_preliminary(config: Config) -> Declaration:
    return learned_arrays(changed(config, {"variant": "rnnlogic"}))


_ROUND = GENERATOR | RULE_ARRAYS | _each("selections") | {"valid_mrr": Declared("float64")}
_STATISTICS: Declaration = {
    "support": Declared("int64", ("rules",), least=0),
    "confidence": Declared("float64", ("rules",), least=0, most=1.0),
}
_CHOICE: Declaration = {name: Declared("float64") for name in DECAYS}
_RULES, _WEIGHTS = "rnnlogic.fit.rules", "rnnlogic.fit.weights"

# In the order in which they are made
STAGES = (
    Stage(PRELIMINARY, "", 0.15, _of_preliminary),
    Stage("mined", f"{_RULES}:mined", 0.35, _always(RULE_ARRAYS | _each("quality") | MINED)),
    Stage("pretrained", f"{_RULES}:pretrained", 0.2, _always(GENERATOR)),
    Stage("round-*", f"{_RULES}:one_round", 0.35, _always(_ROUND)),
    Stage("rounds", "", 0.0, _always({"number": Declared("int64", least=0)})),
    Stage("rules", f"{_RULES}:best_rules", 0.3, _always(RULE_ARRAYS | _each("log_prior", finite=False))),
    Stage("statistics", f"{_WEIGHTS}:statistics", 0.3, _always(_STATISTICS)),
    Stage("choice", f"{_WEIGHTS}:choice", 0.25, _always(_CHOICE)),
    Stage("weighted", "", 0.0, _always(RULE_ARRAYS | _each("weights"))),
    Stage("full", f"{_WEIGHTS}:full", 0.55, learned_arrays),
    Stage(FRONTIER, "", 0.0, _always(FRONTIER_ARRAYS)),
    Stage("compact", f"{_WEIGHTS}:compact", 0.6, learned_arrays),
)


def stage_called(name: str) -> Stage:
    """The row of a stage."""
    for stage in STAGES:
        if fnmatchcase(name, stage.name):
            return stage
    raise RNNLogicError(f"stage {name!r} is not in the table (rnnlogic.fit.stages)")


@dataclass(frozen=True, eq=False)
class CheckedStore:
    """A store whose stages are as declared."""

    store: Store
    config: Config
    vocab: Vocab

    def load(self, stage: str) -> Arrays | None:
        """What was saved for a stage; None if it is not finished."""
        arrays = self.store.load(stage)
        if arrays is not None:
            self._require(stage, arrays)
        return arrays

    def save(self, stage: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the result of a stage."""
        self._require(stage, arrays)
        self.store.save(stage, arrays)

    def log(self, record: Mapping[str, Any]) -> None:
        """Note figures of a stage."""
        self.store.log(record)

    def _require(self, stage: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        sizes = {"E": self.vocab.num_entities, "R": self.vocab.num_relations}
        try:
            require_arrays(arrays, stage_called(stage).arrays(self.config), sizes)
        except WrongArraysError as error:
            raise RNNLogicError(
                f"stage {stage!r} of this fit cannot be used ({error}); start over with --restart"
            ) from None
