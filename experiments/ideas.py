"""Ideas beyond the paper, tried on the validation set: how much each adds to finished runs.

    python -m experiments.ideas ensemble runs/experiments/umls/ours/seed-{0,1,2}  # mean of several seeds
    python -m experiments.ideas prior runs/experiments/umls/ours/seed-0           # frequent answers first
    python -m experiments.ideas turned runs/experiments/umls/ours/seed-0          # inverted and abduced rules

Evidence train, both sides, expected ties. Nothing is written; research/lab-notes.md has the outcome.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from rnnlogic.base.executor import default_threads
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import Scorer, evaluate
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.base import Task
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.rule import Chain, Rule
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.pairs import amie_statistics

PRIORS = (0.05, 0.1, 0.25, 0.5, 1.0)
CONFIDENCES = (0.5, 0.2, 0.05)  # minimum PCA confidence of a new rule
ADDED = 300  # most new rules per relation: those of highest PCA confidence


@dataclass(frozen=True)
class Ensemble:
    """Mean probability of several models."""

    scorers: list[Scorer]

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Log of the summed probabilities, which ranks like their mean; -inf where no model has an answer."""
        total = np.zeros((len(heads), graph.num_entities))
        with np.errstate(divide="ignore", invalid="ignore"):
            for scorer in self.scorers:  # a query that reaches nothing has no softmax
                total += np.nan_to_num(softmax(scorer.score(graph, heads, relations), axis=1))
            return np.asarray(np.log(total))


@dataclass(frozen=True)
class WithPrior:
    """A score plus weight * log(1 + n) for an entity that answers the relation n times in the evidence."""

    scorer: Scorer
    weight: float

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores with the prior."""
        scores = self.scorer.score(graph, heads, relations)
        for relation in np.unique(relations):
            answers = graph.edges(int(relation))[1]
            often = np.bincount(answers, minlength=graph.num_entities)
            scores[relations == relation] += self.weight * np.log1p(often)
        return scores


def turned(rules: RuleSet, inverse: dict[int, int]) -> Iterator[Rule]:
    """Each rule read backwards, and each atom of its body inferred from the head and the other atoms."""
    for rule in rules:
        if not isinstance(rule, Chain):
            continue
        head, body = rule
        yield Chain(inverse[head], tuple(inverse[r] for r in reversed(body)))
        for i, atom in enumerate(body):
            before, after = body[:i], body[i + 1 :]
            way = (*(inverse[r] for r in reversed(before)), head, *(inverse[r] for r in reversed(after)))
            yield Chain(atom, way)


def mrr(scorer: Scorer, model: RNNLogic) -> float:
    """Validation MRR."""
    return evaluate(scorer, model.dataset, "valid").metrics()["mrr"]


def try_turned(model: RNNLogic) -> None:
    """Add inverted and abduced rules of high PCA confidence and relearn all weights."""
    graph, threads = model.dataset.graph("train"), default_threads()
    own, relations = model.learned.rules, 2 * model.dataset.vocab.num_relations
    inverse = {r: graph.inverse(r) for r in range(relations)}
    new = RuleSet.from_rules(dict.fromkeys(rule for rule in turned(own, inverse) if rule not in own))
    new = new.without_trivial()
    found = amie_statistics(graph, new, threads=threads)
    print(
        f"{len(own):,} own rules: MRR {mrr(model.scorer, model):.4f}; {len(new):,} new ones by turning them"
    )
    for least in CONFIDENCES:
        confidence = np.where(found.support >= 2, found.pca_confidence, 0)
        by_head = (new.by_head(int(relation)) for relation in new.head_relations())
        best = [ids[np.argsort(-confidence[ids], kind="stable")[:ADDED]] for ids in by_head]
        kept = np.concatenate(best)
        kept = kept[confidence[kept] >= least]
        rules = own | new[np.sort(kept)]
        scorer = RuleScorer.fit(Task(model.dataset, rules, model.config, threads))
        print(
            f"PCA confidence >= {least}: {len(rules) - len(own):,} added: MRR {mrr(scorer, model):.4f}",
            flush=True,
        )


def main() -> None:
    """Try one idea."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("idea", choices=["ensemble", "prior", "turned"])
    parser.add_argument("runs", nargs="+", type=Path)
    options = parser.parse_args()
    models = [RNNLogic.load(run) for run in options.runs]
    if options.idea == "turned":
        for model in models:
            try_turned(model)
        return
    for run, model in zip(options.runs, models, strict=True):
        print(f"{run}: {mrr(model.scorer, model):.4f}", flush=True)
    if options.idea == "ensemble":
        together = Ensemble([model.scorer for model in models])
        print(f"together: {mrr(together, models[0]):.4f}")
    else:
        for weight in PRIORS:
            print(f"prior {weight}: {mrr(WithPrior(models[0].scorer, weight), models[0]):.4f}", flush=True)


if __name__ == "__main__":
    main()
