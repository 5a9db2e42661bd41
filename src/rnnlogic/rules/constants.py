"""Rules with constants: `speaks(X,english) <- lives_in(X,london)`, `works_in(X,lab) <- uses(X,Z)`.

Their bodies are walks with entities in them, written as negative ids:

    r(X,c) <- b(X,d)    b, d, c        r(c,Y) <- b(d,Y)    c, d, b
    r(X,c) <- b(X,Z)    b, c           r(c,Y) <- b(Z,Y)    c, b

The entity at the end is the answer, the one at the beginning the entity that is asked about. Read backwards,
with relations turned round, a body is that of the mirror image for the inverse relation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.vocab import Vocab

CONSTANT = -1000  # the id of entity 0 in a body; those of the others count down from here
ANY_ENTITY = -3  # in patterns
NONE = -1


class Constants(NamedTuple):
    """The body of a rule with constants."""

    at_head: bool  # the constant is the entity that is asked about, not the answer
    constant: int
    other: int  # the entity in the body; NONE: any
    step: int  # the relation of the body, as it is walked

    @property
    def body(self) -> tuple[int, ...]:
        """The ids of the body."""
        ids = [constant_id(self.constant)]
        ids += [] if self.other == NONE else [constant_id(self.other)]
        return (*ids, self.step) if self.at_head else (self.step, *reversed(ids))


def constant_id(entity: int) -> int:
    """The id of an entity in a body; that of any entity, in patterns, is its own."""
    return entity if entity == ANY_ENTITY else CONSTANT - entity


def has_constants(body: tuple[int, ...]) -> bool:
    """Whether a body contains entities."""
    return len(body) > 1 and min(body[0], body[-1]) <= CONSTANT


def constants_of(body: tuple[int, ...]) -> Constants | None:
    """The parts of the body of a rule with constants; None if it has none."""
    if not has_constants(body):
        return None
    at_head = body[0] <= CONSTANT
    step, *entities = reversed(body) if at_head else body
    found = [CONSTANT - entity for entity in reversed(entities)]
    return Constants(at_head, found[0], found[1] if len(found) > 1 else NONE, step)


def new_entities(body: NDArray[np.int32], source: Vocab, target: Vocab) -> NDArray[np.int32]:
    """The id in another vocabulary of every entity that bodies name; -1 for those not there or not named."""
    found = np.full(source.num_entities, -1, np.int32)
    for entity in np.unique(CONSTANT - body[body <= CONSTANT]).tolist():
        name = source.entities[entity]
        found[entity] = target.entity_id(name) if target.has_entity(name) else -1
    return found


def moved_body(
    body: NDArray[np.int32], relations: NDArray[np.int32], entities: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The ids of bodies [n] on another graph, by the new ids of relations and entities; and which are lost.

    -1 stands for what is not there.
    """
    is_entity, is_relation = body <= CONSTANT, body >= 0
    moved = body.copy()
    moved[is_relation] = relations[body[is_relation]]
    new = entities[CONSTANT - body[is_entity]]
    moved[is_entity] = np.where(new < 0, -1, CONSTANT - new)
    return moved, moved == -1


def well_formed(body: NDArray[np.integer], body_ptr: NDArray[np.integer]) -> bool:
    """Whether entities stand only where the bodies of rules with constants have them."""
    is_entity = body <= CONSTANT
    if not is_entity.any():
        return True
    lengths = np.diff(body_ptr)
    numbers = np.diff(np.append(0, np.cumsum(is_entity))[body_ptr])
    with_them = np.flatnonzero(numbers)
    first, last = body_ptr[with_them], body_ptr[with_them + 1] - 1
    one_step = (lengths[with_them] == numbers[with_them] + 1) & (lengths[with_them] <= 3)
    return bool((one_step & (is_entity[first] != is_entity[last])).all())
