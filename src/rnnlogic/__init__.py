"""Reasoning on knowledge graphs with logic rules that people can read.

The public names are loaded on first use, so that `import rnnlogic` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rnnlogic.base.errors import RNNLogicError
    from rnnlogic.config import preset_for
    from rnnlogic.constraints.constraints import find_constraints
    from rnnlogic.data.dataset import Dataset, load_dataset
    from rnnlogic.data.graph import Graph
    from rnnlogic.data.saving import save_dataset
    from rnnlogic.data.vocab import Vocab
    from rnnlogic.evaluation.evaluate import evaluate
    from rnnlogic.explain.asking import Question
    from rnnlogic.features.chains.paths import paths
    from rnnlogic.features.ground import Grounder
    from rnnlogic.model import RNNLogic
    from rnnlogic.predictors.loglinear.predictor import RuleScorer
    from rnnlogic.rules.conditions import Condition
    from rnnlogic.rules.formats import read_rules, write_rules
    from rnnlogic.rules.parse import parse_rule
    from rnnlogic.rules.rule import Chain, Constant, Feature, Rule, format_rule
    from rnnlogic.rules.ruleset import RuleSet

__all__ = [
    "Chain",
    "Condition",
    "Constant",
    "Dataset",
    "Feature",
    "Graph",
    "Grounder",
    "Question",
    "RNNLogic",
    "RNNLogicError",
    "Rule",
    "RuleScorer",
    "RuleSet",
    "Vocab",
    "evaluate",
    "find_constraints",
    "format_rule",
    "load_dataset",
    "parse_rule",
    "paths",
    "preset_for",
    "read_rules",
    "save_dataset",
    "write_rules",
]

_MODULES = {
    "constraints.constraints": ("find_constraints",),
    "data.dataset": ("Dataset", "load_dataset"),
    "data.graph": ("Graph",),
    "data.saving": ("save_dataset",),
    "data.vocab": ("Vocab",),
    "base.errors": ("RNNLogicError",),
    "evaluation.evaluate": ("evaluate",),
    "explain.asking": ("Question",),
    "features.ground": ("Grounder",),
    "features.chains.paths": ("paths",),
    "predictors.loglinear.predictor": ("RuleScorer",),
    "config": ("preset_for",),
    "model": ("RNNLogic",),
    "rules.formats": ("read_rules", "write_rules"),
    "rules.parse": ("parse_rule",),
    "rules.conditions": ("Condition",),
    "rules.rule": ("Chain", "Constant", "Feature", "Rule", "format_rule"),
    "rules.ruleset": ("RuleSet",),
}

if not TYPE_CHECKING:  # a type checker would take any name for granted

    def __getattr__(name: str) -> object:
        """Load a public name from its module, and keep it."""
        for module, names in _MODULES.items():
            if name in names:
                globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
