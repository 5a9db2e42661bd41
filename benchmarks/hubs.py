"""What a budget for hubs costs in accuracy, and saves in time, where it is off by default.

    rnnlogic fit fb15k-237 -o RUN --max-minutes 2 --set compact.enabled=false
    python benchmarks/hubs.py RUN [--facts N] [--budgets 2000:20000 200:2000 50:500]

The model of a run ranks the same validation facts exactly and within each budget (edges:results), on one
thread. Its weights were learned without a budget.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.features.base import Budget
from rnnlogic.features.ground import Grounder
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.loglinear.predictor import RuleScorer

BUDGETS = ("2000:20000", "200:2000", "50:500")
EXACT = "none"


@dataclass(eq=False)
class Within(RuleScorer):
    """The same rules and weights; grounded within a budget."""

    budget: Budget | None = None

    def on(self, graph: Graph) -> Grounder:
        """The rules made ready for a graph."""
        return self._grounders.get(
            graph, lambda: Grounder(graph, self.rules, self.threads, budget=self.budget)
        )


def parsed(text: str) -> Budget | None:
    """A budget from `edges:results`; None without one."""
    return None if text == EXACT else Budget(*map(int, text.split(":")))


def measured(scorer: RuleScorer, dataset: Dataset, text: str, facts: int | None) -> dict[str, Any]:
    """MRR and CPU seconds within a budget, and how often it left something out."""
    within = Within(scorer.rules, scorer.weights, scorer.feature, 1, parsed(text))
    evaluate(within, dataset, "valid", most_facts=20)  # compiled kernels are loaded, rules made ready
    started = time.process_time()
    report = evaluate(within, dataset, "valid", most_facts=facts)
    steps, hubs, results = report.cuts.tolist()
    return {
        "budget": text,
        "queries": report.queries,
        **{name: round(value, 4) for name, value in report.metrics().items()},
        "cpu": round(time.process_time() - started, 1),
        "steps": steps,
        "hubs_cut": hubs,
        "steps_cut": results,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--facts", type=int, help="a sample of the validation facts; default: all")
    parser.add_argument("--budgets", nargs="+", default=list(BUDGETS))
    options = parser.parse_args()
    model = RNNLogic.load(options.run)
    assert isinstance(model.scorer, RuleScorer), "a run without embeddings is needed"
    for text in (EXACT, *options.budgets):
        found = measured(model.scorer, model.dataset, text, options.facts)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
