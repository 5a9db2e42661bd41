"""Features by their names: which rules of a set have one of some names, in the order of a kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import ClassVar

import numpy as np

from rnnlogic.features.base import Mask, Place, Source
from rnnlogic.rules.ruleset import RuleSet


class NamedSource(Source):
    """A source of features, which it knows by their names."""

    counts_paths = False
    names: ClassVar[Collection[str]]  # in the order of its kernel

    def owns(self, rules: RuleSet) -> Mask:
        """The features of these names."""
        return owned(rules, self.names)

    def wanted(self, place: Place) -> tuple[Mask, Place]:
        """Which of the names [n] the rules of a relation have, and the place with these in that order."""
        own = [np.flatnonzero(place.rules.are_feature(name)) for name in self.names]
        found = np.array([len(one) > 0 for one in own], bool)
        return found, place._replace(place=place.place[np.concatenate(own)])


def owned(rules: RuleSet, names: Iterable[str]) -> Mask:
    """Which rules [n] are features of these names."""
    found = np.zeros(len(rules), bool)
    for name in names:
        found |= rules.are_feature(name)
    return found
