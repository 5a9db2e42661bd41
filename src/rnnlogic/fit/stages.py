"""The stages of a fit as arrays: what each holds, so that nothing else is resumed from.

A new stage gets its declaration here; without one it can be neither kept nor resumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration, Declared, WrongArraysError, require_arrays
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Arrays
from rnnlogic.config import Config, changed
from rnnlogic.data.vocab import Vocab
from rnnlogic.fit.preliminary import STAGE as FIRST
from rnnlogic.fit.result import FRONTIER, Store, learned_arrays
from rnnlogic.rules.ruleset import RULE_ARRAYS

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


def _each(*names: str, finite: bool = True) -> Declaration:
    return {name: Declared("float64", ("rules",), finite=finite) for name in names}


def stage_arrays(stage: str, config: Config) -> Declaration:
    """What a stage holds."""
    known: dict[str, Declaration] = {
        "mined": RULE_ARRAYS | _each("quality") | MINED,
        "pretrained": GENERATOR,
        "round-*": GENERATOR | RULE_ARRAYS | _each("selections") | {"valid_mrr": Declared("float64")},
        "rules": RULE_ARRAYS | _each("log_prior", finite=False),
        "weighted": RULE_ARRAYS | _each("weights"),
        "rounds": {"number": Declared("int64", least=0)},
        FRONTIER: FRONTIER_ARRAYS,
    }
    if stage in ("full", "compact"):
        return learned_arrays(config)
    if stage == FIRST:
        return learned_arrays(changed(config, {"variant": "rnnlogic"}))
    for pattern, declaration in known.items():
        if fnmatchcase(stage, pattern):
            return declaration
    raise RNNLogicError(f"the arrays of stage {stage!r} are not declared (rnnlogic.fit.stages)")


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
            require_arrays(arrays, stage_arrays(stage, self.config), sizes)
        except WrongArraysError as error:
            raise RNNLogicError(
                f"stage {stage!r} of this fit cannot be used ({error}); start over with --restart"
            ) from None
