"""The most trusted chain that reaches an answer, as a source: `r(X,Y) <- [best_chain]`.

Its value is log(1 + 100 * trust) of that chain. So it depends on which rules are there: who leaves some out
has to look again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlogic.features.chains.scratch import zeros
from rnnlogic.features.evidence.output.kernels import STRETCH
from rnnlogic.features.evidence.source import Told, Walked
from rnnlogic.features.evidence.trust.kernels import largest_by_query
from rnnlogic.rules.ruleset import RuleSet

SUREST = "best_chain"
Ids = NDArray[np.int64]


def strengths(rules: RuleSet, ids: Ids) -> NDArray[np.float32]:
    """What each of some rules [ids] counts if it is the most trusted one; 0 for rules with constants."""
    trust = np.where(rules.have_constants[ids], 0.0, rules.trust[ids])
    return np.asarray(np.log1p(STRETCH * trust), np.float32)


@dataclass(frozen=True, eq=False)
class Surest:
    """What the rules of one relation count, and where the evidence stands among them."""

    strength: NDArray[np.float32]  # [rules of the relation]
    place: int

    def told(self, walked: Walked, queries: int, entities: int) -> Told:
        """What the most trusted rule of each candidate counts."""
        with zeros("largest", entities, np.float32) as largest:
            found = walked.entity, walked.ptr, self.strength[walked.place], queries
            ptr, entity, value = largest_by_query(*found, largest)
        return Told(np.array([self.place]), np.diff(ptr), entity, value)
