"""The most trusted chain that reaches an answer, as a source: `r(X,Y) <- @surest(X,Y)`.

Its value is log(1 + 100 * trust) of that chain. So it depends on which rules are there: who leaves some out
has to look again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlogic.grounding.evidence.output.kernels import STRETCH
from rnnlogic.grounding.evidence.source import Told, Walked
from rnnlogic.grounding.evidence.trust.kernels import largest_by_query
from rnnlogic.grounding.scratch import zeros
from rnnlogic.rules.evidence import IDS
from rnnlogic.rules.ruleset import RuleSet

SUREST = IDS["surest"]
Ids = NDArray[np.int64]


def strengths(rules: RuleSet, ids: Ids) -> NDArray[np.float32]:
    """What each of some rules [ids] counts if it is the most trusted one; 0 for rules with constants."""
    trust = np.where(rules.have_constants[ids], 0.0, rules.trust[ids])
    return np.asarray(np.log1p(STRETCH * trust), np.float32)


def are_surest(rules: RuleSet, ids: Ids) -> NDArray[np.bool_]:
    """Which of some rules [ids] are this evidence."""
    found = rules.are_evidence[ids]
    found[found] = rules.body[rules.body_ptr[ids[found]]] == SUREST
    return found


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
