"""Which proposals teach most when somebody decides on them: uncertain ones, by rules that propose much."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from rnnlogic.complete.complete import NewFact


def most_teaching(proposals: Sequence[NewFact]) -> list[NewFact]:
    """Proposals in the order in which decisions teach most; equal ones in the order given.

    A decision on a proposal of chance p says something about all proposals of its rule: it is worth p(1 - p)
    times the root of their number. The second decision on a rule is worth half of the first, and so on.
    """
    used = Counter(one.rule for one in proposals)
    worth = [
        one.probability * (1 - one.probability) * math.sqrt(used[one.rule]) if one.rule else 0.0
        for one in proposals
    ]
    order = sorted(range(len(proposals)), key=lambda i: -worth[i])
    seen = Counter[str | None]()
    shared = list(worth)
    for place in order:
        rule = proposals[place].rule
        seen[rule] += 1
        shared[place] = worth[place] / seen[rule]
    return [proposals[i] for i in sorted(range(len(proposals)), key=lambda i: -shared[i])]
