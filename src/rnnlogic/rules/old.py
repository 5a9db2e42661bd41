"""What files of earlier versions hold: features called `@name`, and bodies with negative ids.

There -10 and below stood for features, -1000 and below for entities. Nothing writes either any more.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RuleError
from rnnlogic.rules.rule import NONE, Chain, Constant, Feature, Rule

MARK = "@"  # began the name of a feature
OLD_NAMES = {
    "turned": "reversed",
    "linked": "linked",
    "linked_back": "linked_back",
    "itself": "itself",
    "taken": "seen",
    "frequent": "frequency",
    "degree": "degree",
    "kind_of_head": "best_constant_of_x",
    "kinds_of_head": "constants_of_x",
    "kind_of_answer": "best_constant_of_y",
    "kinds_of_answer": "constants_of_y",
    "surest": "best_chain",
}
_FEATURE, _ENTITY = -10, -1000  # ids counted down from these
_BY_ID = {_FEATURE - place: name for place, name in enumerate(OLD_NAMES.values())}


def old_rules(
    heads: NDArray[np.integer], body_ptr: NDArray[np.integer], body: NDArray[np.integer]
) -> list[Rule]:
    """Rules whose bodies [steps] have negative ids; RuleError where these make no sense."""
    ends = body_ptr.tolist()
    bodies = [tuple(body[first:last].tolist()) for first, last in pairwise(ends)]
    return [_rule(head, steps) for head, steps in zip(heads.tolist(), bodies, strict=True)]


def _rule(head: int, body: tuple[int, ...]) -> Rule:
    if all(step >= 0 for step in body):
        return Chain(head, body)
    if len(body) == 1 and body[0] in _BY_ID:
        return Feature(head, _BY_ID[body[0]])
    at_head = body[0] <= _ENTITY
    step, *entities = reversed(body) if at_head else body
    found = [_ENTITY - entity for entity in reversed(entities)]
    if step < 0 or not 1 <= len(found) <= 2 or min(found) < 0:
        raise RuleError("a rule has a step that is neither a relation nor a feature: its file is damaged")
    return Constant(head, step, found[0], found[1] if len(found) > 1 else NONE, at_head)
