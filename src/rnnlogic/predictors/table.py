"""The table of predictors: what a fit has to know about each before it loads any.

A new predictor is a folder beside this file, an entry here (and a group, if it has settings of its own), a
packaged settings file and a row in the docs.
"""

from __future__ import annotations

from typing import NamedTuple

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.base.settings import Settings
from rnnlogic.predictors.loglinear.settings import LogLinearSettings
from rnnlogic.predictors.paths.settings import PathSettings
from rnnlogic.predictors.plus.settings import PlusSettings


class Entry(NamedTuple):
    """One predictor, by the name of its variant."""

    predictor: str  # "module:Class", imported on demand
    needs_embedding: bool
    given_rules_suffice: bool  # a fit that is given rules generates no others unless told to
    like: str | None  # the entry whose packaged settings it starts from
    help: str


PREDICTORS: dict[str, Entry] = {
    "rnnlogic": Entry(
        "rnnlogic.predictors.loglinear.predictor:RuleScorer",
        needs_embedding=False,
        given_rules_suffice=False,
        like=None,
        help="a weighted sum of the rules that reach an answer",
    ),
    "rnnlogic-emb": Entry(
        "rnnlogic.predictors.paths.predictor:PathRuleScorer",
        needs_embedding=True,
        given_rules_suffice=False,
        like=None,
        help="an embedding scores the paths of the rules",
    ),
    "plus": Entry(
        "rnnlogic.predictors.plus.predictor:PlusScorer",
        needs_embedding=False,
        given_rules_suffice=True,
        like=None,
        help="RNNLogic+: a network on top of the rules",
    ),
    "plus-emb": Entry(
        "rnnlogic.predictors.plus.predictor:PlusScorer",
        needs_embedding=True,
        given_rules_suffice=True,
        like="rnnlogic-emb",
        help="RNNLogic+ with an embedding",
    ),
}


class PredictorGroups(Settings):
    """The settings of all predictors, a group for each."""

    predictor: LogLinearSettings = LogLinearSettings()
    paths: PathSettings = PathSettings()
    plus: PlusSettings = PlusSettings()


def entry(name: str) -> Entry:
    """The entry of a variant; an unknown name is an error that names the nearest."""
    if name not in PREDICTORS:
        problem = UnknownNameError("variant", name, PREDICTORS)
        raise RNNLogicError(f"{problem} (known: {', '.join(PREDICTORS)})")
    return PREDICTORS[name]
