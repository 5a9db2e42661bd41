"""Features that are not chains: `hobby(X,Y) <- [linked]` has a weight like any rule.

A feature is known by its name. `FEATURES` says what each means; `rnnlogic.features` computes them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Group = Literal["exclusions", "base_rate", "constants", "best_rule"]  # features are switched on by group


class Named(NamedTuple):
    """What a feature means."""

    name: str
    group: Group
    sentence: str  # for people, about X and Y
    makes_candidates: bool  # whether it adds answers, or only speaks about answers found otherwise


FEATURES: dict[str, Named] = {}
_NAMES: list[str] = []  # by code; codes are for arrays in memory, files have the names


def register(named: Named) -> Named:
    """Add a feature, so that rules may have its name; a known name gets the new meaning."""
    if named.name not in FEATURES:
        _NAMES.append(named.name)
    FEATURES[named.name] = named
    return named


def code_of(name: str) -> int:
    """The code of a feature in the arrays of a rule set."""
    return _NAMES.index(name)


def name_of(code: int) -> str:
    """The feature that a code stands for."""
    return _NAMES[code]


def of_groups(groups: set[str]) -> list[str]:
    """The names of the features of some groups, in the order of the table."""
    return [named.name for named in FEATURES.values() if named.group in groups]


for _named in (
    Named("reversed", "exclusions", "the relation is known to lead from Y to X", False),
    Named("linked", "exclusions", "another relation leads from X to Y already", False),
    Named("linked_back", "exclusions", "another relation leads from Y to X already", False),
    Named("itself", "exclusions", "Y is X itself", False),
    Named("seen", "base_rate", "Y is an answer for others already", True),
    Named("frequency", "base_rate", "Y is often an answer of this relation", True),
    Named("degree", "base_rate", "Y has many facts", True),
    Named("best_constant_of_x", "constants", "what is true of X goes with Y", True),
    Named("constants_of_x", "constants", "more that is true of X goes with Y", True),
    Named("best_constant_of_y", "constants", "what is true of Y goes with X", True),
    Named("constants_of_y", "constants", "more that is true of Y goes with X", True),
    Named("best_chain", "best_rule", "a rule that is often right leads from X to Y", False),
):
    register(_named)
