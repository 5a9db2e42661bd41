"""How much work one query may cost: hubs make it grow faster than the graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph

LARGE = 1_000_000  # facts from which on a graph has a budget by default
NO_CUTS: NDArray[np.int64] = np.zeros(3, np.int64)
NO_CUTS.setflags(write=False)


class Budget(NamedTuple):
    """Edges followed at an entity, and entities reached by a query along a body; random samples beyond."""

    edges: int = 2_000
    results: int = 20_000
    seed: int = 0


def default_budget(graph: Graph) -> Budget | None:
    """A budget for large graphs; none for others, whose counts are exact."""
    return Budget() if len(graph) >= LARGE else None


def may_cut(budget: Budget, graph: Graph) -> bool:
    """Whether there is any query that the budget does not suffice for."""
    return budget.results < graph.num_entities or budget.edges < int(graph.max_degree.max(initial=0))


def cuts_in_words(cuts: NDArray[np.int64]) -> str:
    """How often the budget left something out; empty if it never did."""
    steps, hubs, results = cuts.tolist()
    if not hubs + results:
        return ""
    return (
        f"the budget left out edges at {hubs:,} hubs and results of {results:,} steps, of {steps:,} steps in"
        " all; counts there are estimates"
    )
