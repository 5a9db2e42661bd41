"""Named evidence: what speaks for or against an answer besides chains, as rules whose body is a name.

`hobby(X,Y) <- @taken(X,Y)` has a weight like any rule. Its body is one negative id, which no relation has.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from rnnlogic.rules.constants import CONSTANT

MARK = "@"  # begins a name in the text of a rule
Switch = Literal["negative_evidence", "prior", "constants", "surest"]  # the setting that adds it


class Named(NamedTuple):
    """One kind of evidence."""

    name: str
    switch: Switch
    sentence: str  # in the words of people


FIRST = -10  # ids count down from here; -1 and -2 stand for any relation and any steps in patterns
KINDS = (
    Named("turned", "negative_evidence", "the relation is known to lead from Y to X"),
    Named("linked", "negative_evidence", "another relation leads from X to Y already"),
    Named("linked_back", "negative_evidence", "another relation leads from Y to X already"),
    Named("itself", "negative_evidence", "Y is X itself"),
    Named("taken", "prior", "Y is an answer for others already"),
    Named("frequent", "prior", "Y is often an answer of this relation"),
    Named("degree", "prior", "Y has many facts"),
    Named("kind_of_head", "constants", "what is true of X goes with Y"),
    Named("kinds_of_head", "constants", "more that is true of X goes with Y"),
    Named("kind_of_answer", "constants", "what is true of Y goes with X"),
    Named("kinds_of_answer", "constants", "more that is true of Y goes with X"),
    Named("surest", "surest", "a rule that is often right leads from X to Y"),
)
SPEAKS_ONLY = {"negative_evidence", "surest"}  # switches of what only speaks about answers found otherwise
READ = [kind.name for kind in KINDS if kind.switch != "surest"]  # what a network reads: the first of them
IDS = {kind.name: FIRST - place for place, kind in enumerate(KINDS)}


def kind_of(relation: int) -> Named | None:
    """The evidence that an id in a body stands for; None if it is a relation."""
    return KINDS[FIRST - relation] if FIRST - len(KINDS) < relation <= FIRST else None


def is_evidence(body: tuple[int, ...]) -> bool:
    """Whether a body is named evidence."""
    return len(body) == 1 and CONSTANT < body[0] <= FIRST


def makes_candidates(body: tuple[int, ...]) -> bool:
    """Whether a body reaches answers by itself."""
    kind = kind_of(body[0]) if is_evidence(body) else None
    return kind is None or kind.switch not in SPEAKS_ONLY


def ids_of(switches: set[str]) -> list[int]:
    """The ids that some switches add, in order."""
    return [IDS[kind.name] for kind in KINDS if kind.switch in switches]
