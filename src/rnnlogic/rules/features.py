"""Features that are not chains: `hobby(X,Y) <- [linked]` has a weight like any rule.

A feature is known by its name. `FEATURES` says what each means; `rnnlogic.features` computes them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Group = Literal["exclusions", "base_rate", "constants", "best_rule"]  # features are switched on by group


class Meaning(NamedTuple):
    """What a feature means."""

    name: str
    group: Group
    sentence: str  # for people, about X and Y
    makes_candidates: bool  # whether it adds answers, or only speaks about answers found otherwise


FEATURES: dict[str, Meaning] = {
    meaning.name: meaning
    for meaning in (
        Meaning("reversed", "exclusions", "the relation is known to lead from Y to X", False),
        Meaning("linked", "exclusions", "another relation leads from X to Y already", False),
        Meaning("linked_back", "exclusions", "another relation leads from Y to X already", False),
        Meaning("itself", "exclusions", "Y is X itself", False),
        Meaning("seen", "base_rate", "Y is an answer for others already", True),
        Meaning("frequency", "base_rate", "Y is often an answer of this relation", True),
        Meaning("degree", "base_rate", "Y has many facts", True),
        Meaning("reflexive", "base_rate", "Y is X itself, as for other entities", True),
        Meaning("best_constant_of_x", "constants", "the best rule about X leads to Y", True),
        Meaning("constants_of_x", "constants", "several rules about X lead to Y", True),
        Meaning("best_constant_of_y", "constants", "the best rule about Y leads to X", True),
        Meaning("constants_of_y", "constants", "several rules about Y lead to X", True),
        Meaning("best_chain", "best_rule", "a rule that is often right leads from X to Y", False),
    )
}


def code_of(name: str) -> int:
    """The code of a feature in the arrays of a rule set; -2 where there is none of this name."""
    return _names().index(name) if name in FEATURES else -2  # not in the table


def name_of(code: int) -> str:
    """The feature that a code stands for."""
    return _names()[code]


def _names() -> list[str]:
    """Names by code; codes are for arrays in memory, files have the names."""
    return list(FEATURES)


def of_groups(groups: set[str]) -> list[str]:
    """The names of the features of some groups, in the order of the table."""
    return [meaning.name for meaning in FEATURES.values() if meaning.group in groups]
