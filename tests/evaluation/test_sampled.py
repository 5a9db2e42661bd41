"""Ranking among sampled negatives against a slow reading of the protocol, and what the sample is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.evaluation.ranks import NegativeSampler
from tests.helpers.scorers import NothingScorer, TableScorer, make_dataset, random_case

seeds = st.integers(0, 10**6)


@given(seeds, st.integers(1, 8), st.integers(1, 20))
def test_ranks_are_those_among_the_entities_drawn(seed, negatives, chunk):
    dataset, table = random_case(seed, True)
    report = evaluate(TableScorer(table), dataset, chunk=chunk, negatives=negatives, seed=seed)
    facts = np.concatenate([dataset.train, dataset.valid, dataset.test]).tolist()
    known = {(h, r, t) for h, r, t in facts} | {(t, r + 3, h) for h, r, t in facts}
    sampler = NegativeSampler(negatives, seed)
    for i, (head, relation, answer) in enumerate(report.asked.tolist()):
        others = [e for e in range(dataset.vocab.num_entities) if (head, relation, e) not in known]
        excluded = np.setdiff1d(np.arange(dataset.vocab.num_entities), others)
        drawn = sampler.draw(excluded, dataset.vocab.num_entities).tolist()
        assert len(set(drawn)) == len(drawn) == min(negatives, len(others))
        assert set(drawn) <= set(others)
        scores = table[relation, head]
        assert report.ranks.better[i] == sum(scores[e] > scores[answer] for e in drawn)
        assert report.ranks.tied[i] == 1 + sum(scores[e] == scores[answer] for e in drawn)
        assert report.ranks.candidates[i] == len(drawn) + 1


@given(seeds)
def test_with_as_many_negatives_as_there_are_it_is_the_full_ranking(seed):
    dataset, table = random_case(seed, True)
    whole, sampled = (evaluate(TableScorer(table), dataset, negatives=n) for n in (None, 1000))
    assert whole.metrics() == sampled.metrics()
    assert whole.protocol == "ranked among all entities, known answers left out"
    assert sampled.protocol == "ranked among 1,000 sampled negatives (seed 0), known answers left out"


def test_every_entity_is_as_likely_as_any_other():
    sampler, known = NegativeSampler(3, 0), np.array([0, 4, 5, 9])
    counts = np.bincount(np.concatenate([sampler.draw(known, 10) for _ in range(4000)]), minlength=10)
    assert counts[known].sum() == 0
    others = np.delete(counts, known)
    assert np.abs(others / 4000 - 3 / 6).max() < 0.04  # five standard deviations


def test_the_seed_decides():
    dataset, table = random_case(7, False)
    reports = [evaluate(TableScorer(table), dataset, negatives=3, seed=seed) for seed in (1, 1, 2)]
    ranks = [report.ranks.better.tolist() for report in reports]
    assert ranks[0] == ranks[1] != ranks[2]


def test_expected_hits_of_knowing_nothing():
    dataset = make_dataset([[0, 0, 1]], [], [[0, 0, 2]], 200, 1)
    assert evaluate(NothingScorer(), dataset, negatives=50).metrics()["hits@10"] == pytest.approx(10 / 51)


def test_no_negatives_is_refused():
    with pytest.raises(RNNLogicError, match="at least 1 sampled negative, not 0"):
        evaluate(NothingScorer(), make_dataset([[0, 0, 1]], [], [[0, 0, 2]], 3, 1), negatives=0)
