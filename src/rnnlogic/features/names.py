"""Features by their names: which rules of a set have one of some names, in the order of a kernel."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rnnlogic.features.base import Ids, Mask, Place
from rnnlogic.rules.ruleset import RuleSet


def owned(rules: RuleSet, names: Iterable[str]) -> Mask:
    """Which rules [n] are features of these names."""
    found = np.zeros(len(rules), bool)
    for name in names:
        found |= rules.are_feature(name)
    return found


def places_of(place: Place, names: Iterable[str]) -> tuple[Mask, Ids]:
    """Which of the names [n] the rules of a source have, and the positions of those, in that order."""
    own = [np.flatnonzero(place.rules.are_feature(name)) for name in names]
    wanted = np.array([len(one) > 0 for one in own], bool)
    return wanted, place.place[np.concatenate(own)]
