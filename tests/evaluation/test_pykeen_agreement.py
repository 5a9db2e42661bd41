"""Our evaluation and PyKEEN's, on the same facts and the same scores."""

from __future__ import annotations

import numpy as np
import pytest

from rnnlogic.evaluation.evaluate import evaluate
from tests.helpers.scorers import TableScorer, random_case

NAMES = {
    "mrr": "inverse_harmonic_mean_rank",
    "mr": "arithmetic_mean_rank",
    "hits@1": "hits_at_1",
    "hits@3": "hits_at_3",
    "hits@10": "hits_at_10",
}


def pykeen_results(dataset, table):
    """PyKEEN's own filtered evaluation of a model that looks its scores up in the table [2R, E, E]."""
    import torch
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import FixedModel
    from pykeen.triples import CoreTriplesFactory

    scores = torch.as_tensor(table)
    num_relations = dataset.vocab.num_relations

    class TableModel(FixedModel):
        def score_t(self, hr_batch, tails=None, **kwargs):
            return scores[hr_batch[:, 1], hr_batch[:, 0]]

        def score_h(self, rt_batch, heads=None, **kwargs):
            return scores[rt_batch[:, 0] + num_relations, rt_batch[:, 1]]

    train, valid, test = (
        torch.as_tensor(dataset.facts(split).astype(np.int64)) for split in ("train", "valid", "test")
    )
    factory = CoreTriplesFactory(
        train, num_entities=dataset.vocab.num_entities, num_relations=dataset.vocab.num_relations
    )
    evaluator = RankBasedEvaluator(filtered=True, metrics=[*list(NAMES.values())[:2], "hits_at_k"])
    return evaluator.evaluate(
        model=TableModel(triples_factory=factory),
        mapped_triples=test,
        additional_filter_triples=[train, valid],
        batch_size=32,
        use_tqdm=False,
    )


@pytest.fixture(scope="module", params=[(1, False), (2, False), (3, True), (4, True)])
def compared(request):
    seed, ties = request.param
    dataset, table = random_case(seed, ties)
    return ties, evaluate(TableScorer(table), dataset), pykeen_results(dataset, table)


def theirs_for(results, side, rule):
    return {name: results.get_metric(f"{side}.{rule}.{theirs}") for name, theirs in NAMES.items()}


@pytest.mark.parametrize("side", ["both", "tail", "head"])
@pytest.mark.parametrize("rule", ["realistic", "pessimistic"])
def test_same_rules_give_the_same_metrics(compared, side, rule):
    _, report, results = compared
    assert report.metrics(side, rule) == pytest.approx(theirs_for(results, side, rule), rel=1e-6)


@pytest.mark.parametrize("side", ["both", "tail", "head"])
def test_expected_differs_from_realistic_only_by_ties(compared, side):
    ties, report, results = compared
    ours, theirs = report.metrics(side, "expected"), theirs_for(results, side, "realistic")
    if ties:  # the mean rank is linear in the rank, the reciprocal rank is convex
        assert ours["mr"] == pytest.approx(theirs["mr"], rel=1e-6)
        assert ours["mrr"] > theirs["mrr"]
    else:
        assert ours == pytest.approx(theirs, rel=1e-6)
