"""Comparisons of two evaluations: against plain loops, against themselves, and of pure noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.evaluation.compare import COMPARED, compare, facts_of, resampled_means
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.evaluation.ranks import Ranks
from rnnlogic.evaluation.report import Report, load_ranks, save_ranks
from tests.helpers.scorers import TableScorer, random_case


def made_report(ranks: np.ndarray, num_relations: int = 2) -> Report:
    """Untied ranks of both directions of facts (i, i % R, i + 1); asked in the order of the evaluator."""
    number = np.arange(len(ranks) // 2)
    relation = number % num_relations
    forth = np.stack([number, relation, number + 1], axis=1)
    back = np.stack([number + 1, relation + num_relations, number], axis=1)
    asked = np.concatenate([forth, back]).astype(np.int32)
    order = np.lexsort((asked[:, 2], asked[:, 0], asked[:, 1]))
    better = np.asarray(ranks, np.int64)[order] - 1
    sizes = Ranks(better, np.ones_like(better), np.full_like(better, 100))
    names = tuple(f"r{i}" for i in range(num_relations))
    return Report("made", "test", "train", 0.0, ("both", "tail", "head"), names, asked[order], sizes)


@pytest.fixture
def two():
    dataset, table = random_case(7, ties=True)
    other = np.random.default_rng(1).permuted(table, axis=2)
    return [evaluate(TableScorer(scores), dataset, "test") for scores in (table, other)]


def test_both_directions_of_a_fact_belong_together(two):
    report, size = two[0], len(two[0].relations)
    keys = [(t, r - size, h) if r >= size else (h, r, t) for h, r, t in report.asked.tolist()]
    numbers = facts_of(report)
    assert len(set(keys)) == numbers.max() + 1 == len(keys) // 2
    assert len(set(zip(keys, numbers.tolist(), strict=True))) == len(set(keys))


def test_means_are_those_of_a_plain_loop():
    class Recorded:
        """A generator that keeps what was drawn."""

        def __init__(self):
            self.rng, self.drawn = np.random.default_rng(3), []

        def integers(self, high, size):
            self.drawn.append(self.rng.integers(high, size=size))
            return self.drawn[-1]

    fact, values = np.array([0, 1, 1, 2, 0, 2, 3]), np.random.default_rng(0).normal(size=(7, 2))
    rng = Recorded()
    means = resampled_means(values, fact, 50, rng)
    for row, drawn in zip(means, np.concatenate(rng.drawn), strict=True):
        queries = [q for number in drawn for q in range(7) if fact[q] == number]
        np.testing.assert_allclose(row, np.mean([values[q] for q in queries], axis=0))


def test_chunks_cover_all_samples(monkeypatch):
    fact, values = np.arange(6), np.arange(6.0)[:, None]
    whole = resampled_means(values, fact, 25, np.random.default_rng(5))
    monkeypatch.setattr("rnnlogic.evaluation.compare.DRAWN_AT_ONCE", 6 * 4)
    np.testing.assert_array_equal(resampled_means(values, fact, 25, np.random.default_rng(5)), whole)


def test_interval_and_p_value_agree_with_a_plain_bootstrap():
    rng = np.random.default_rng(0)
    first = rng.integers(1, 20, 120)
    second = np.maximum(1, first + rng.integers(-3, 6, 120))
    found = compare(made_report(first), made_report(second), samples=4000, seed=1).metrics[0]
    gain = (1 / first - 1 / second).reshape(2, 60).mean(axis=0)  # of each fact
    means = np.array([rng.choice(gain, 60).mean() for _ in range(4000)])
    spread = means.std()
    assert found.difference == pytest.approx(gain.mean())
    assert found.low == pytest.approx(np.quantile(means, 0.025), abs=0.15 * spread)
    assert found.high == pytest.approx(np.quantile(means, 0.975), abs=0.15 * spread)
    assert found.p_value == pytest.approx(2 * (means <= 0).mean(), abs=0.03)


def test_a_run_against_itself(two):
    found = compare(two[0], two[0], samples=200)
    assert [(m.difference, m.low, m.high, m.p_value) for m in found.metrics] == [(0, 0, 0, 1)] * 3
    assert (found.wins, found.ties, found.losses) == (0, two[0].queries, 0)
    assert all(row.difference == row.wins == row.losses == 0 for row in found.relations)


def test_the_other_way_round(two):
    there, back = compare(*two, samples=500), compare(*two[::-1], samples=500)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    for a, b in zip(there.metrics, back.metrics, strict=True):
        assert (a.difference, a.low, a.high) == pytest.approx((-b.difference, -b.high, -b.low))
        assert a.p_value == b.p_value


def test_metrics_and_relations_are_those_of_the_reports(two):
    found = compare(*two, samples=10)
    for row in found.metrics:
        assert (row.a, row.b) == pytest.approx(tuple(report.metrics()[row.metric] for report in two))
    assert tuple(row.metric for row in found.metrics) == COMPARED
    by_relation = [report.by_relation() for report in two]
    assert {row.relation for row in found.relations} == set(by_relation[0])
    for row in found.relations:
        values = [relations[row.relation] for relations in by_relation]
        assert row.queries == values[0]["queries"]
        assert (row.mrr_a, row.mrr_b) == pytest.approx(tuple(v["both"]["mrr"] for v in values))
    sizes = [abs(row.difference) for row in found.relations]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(row.wins for row in found.relations) == found.wins
    assert sum(row.losses for row in found.relations) == found.losses


def test_queries_of_one_fact_widen_the_interval():
    """Where both directions always agree there are only half as many independent differences."""
    ranks = np.tile(np.random.default_rng(2).integers(1, 5, 200), 2)
    a, b = made_report(ranks), made_report(np.ones(400))
    found = compare(a, b, samples=2000).metrics[0]
    naive = resampled_means((1 / ranks - 1)[:, None], np.arange(400), 2000, np.random.default_rng(0))[:, 0]
    assert found.high - found.low == pytest.approx(4 * 2**0.5 * naive.std(), rel=0.15)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng, covered = np.random.default_rng(11), 0
    for seed in range(200):
        first, second = rng.integers(1, 11, (2, 160))  # both models are the same pure chance
        found = compare(made_report(first), made_report(second), samples=200, seed=seed).metrics[0]
        covered += found.low <= 0 <= found.high
    assert 178 <= covered <= 199


@given(st.integers(0, 1000))
def test_the_seed_decides(seed):
    first, second = made_report(np.arange(1, 21)), made_report(np.arange(20, 0, -1))
    assert compare(first, second, 20, seed) == compare(first, second, 20, seed)


def test_different_questions_are_refused(two):
    dataset, table = random_case(8, ties=True)
    foreign = evaluate(TableScorer(table), dataset, "test")
    with pytest.raises(RNNLogicError, match="differ in their queries: they are of different data"):
        compare(two[0], foreign)
    one_side = evaluate(TableScorer(table), dataset, "test", sides="tail")
    with pytest.raises(RNNLogicError, match="differ in their queries"):
        compare(foreign, one_side)
    with pytest.raises(RNNLogicError, match="samples must be at least 1"):
        compare(*two, samples=0)


def test_ranks_are_kept_in_a_file(two, tmp_path):
    save_ranks(tmp_path / "reports" / "test.safetensors", two[0], {"train": "3 (hash 1)"})
    report, data = load_ranks(tmp_path / "reports" / "test.safetensors")
    assert data == {"train": "3 (hash 1)"}
    assert report.as_dict(relations=True) == two[0].as_dict(relations=True)
    assert compare(report, two[0], samples=5).ties == two[0].queries
    with pytest.raises(RNNLogicError, match="cannot be read"):
        load_ranks(tmp_path / "nothing.safetensors")
