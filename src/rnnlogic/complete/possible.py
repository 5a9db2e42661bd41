"""Which proposals are possible: those that break no constraint; the others are counted."""

from __future__ import annotations

from collections import Counter

from rnnlogic.constraints.constraints import Codes, Constraints
from rnnlogic.data.graph import Triples


class PossibleFacts:
    """Leaves out facts that break a constraint, and counts them by its kind."""

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.left_out: Counter[str] = Counter()  # facts so far, counted by who asks

    def codes(self, facts: Triples) -> Codes:
        """What facts [n, 3] of one relation break; 0 where they are possible."""
        return self.constraints.broken(facts)

    def count(self, codes: Codes) -> None:
        """Add what was left out."""
        self.left_out.update(self.constraints.left_out(codes))
