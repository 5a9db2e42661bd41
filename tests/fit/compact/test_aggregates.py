"""The rules that decide an aggregate are the last that compaction drops."""

import numpy as np
import pytest

from rnnlogic.features.aggregates import Best, Fold, NoisyOr
from rnnlogic.fit.compact.aggregates import LEAST_WORTH, REASONS, add_aggregates, reasons, with_aggregates
from rnnlogic.fit.compact.fit import Fit, Sparse, shrink
from rnnlogic.fit.compact.settings import CompactSettings
from rnnlogic.fit.compact.types import Columns, Imitation

RULES, QUERIES, EACH = 8, 30, 5


def problem_of(seed):
    """Random rules that reach random candidates."""
    random = np.random.default_rng(seed)
    reaches = random.random((RULES, QUERIES * EACH)) < 0.3
    rule, candidate = np.nonzero(reaches)
    target = random.dirichlet(np.ones(EACH), QUERIES).ravel() / QUERIES
    ptr = np.searchsorted(rule, np.arange(RULES + 1))
    columns = Columns(ptr, candidate.astype(np.int32), np.ones(len(rule), np.float32))
    ones, zeros = np.ones(len(target)), np.zeros(len(target))
    return Imitation(np.arange(QUERIES + 1) * EACH, target, ones, zeros, columns), reaches


def fold_of(seed):
    strength = np.random.default_rng(seed).integers(0, 5, RULES).astype(np.float32)
    return Fold(Best(), RULES, strength)


@pytest.mark.parametrize("weight", [-1.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_reasons_are_the_most_confident_rules_behind_most_answers(seed, weight):
    problem, reaches = problem_of(seed)
    fold, allowed = fold_of(seed), np.array([0, 1, 3, 4, 6, 7])
    worth = dict.fromkeys(range(RULES), 0.0)
    for c, target in enumerate(problem.target):
        trusted = [k for k in allowed if reaches[k, c] and fold.strength[k] > 0]
        highest = max((fold.strength[k] for k in trusted), default=0)
        for k in trusted:
            if fold.strength[k] == highest:
                worth[k] += target * highest * weight
    enough = [k for k in worth if worth[k] >= LEAST_WORTH]
    expected = sorted(enough, key=lambda k: -worth[k])[:REASONS]
    assert reasons(fold, problem, allowed, weight).tolist() == expected


@pytest.mark.parametrize("pinned", [(), (5,)])
def test_reasons_go_last_and_pinned_rules_never(pinned):
    problem, _ = problem_of(0)
    fit = Fit(0.001, 50, np.array(pinned, np.int64), np.zeros(RULES), np.zeros(RULES, np.int8))
    last = np.array([2, 7, 4])
    told = problem, np.ones(RULES), CompactSettings(first=RULES), fit, 0
    sizes = []
    for active, _, _ in shrink(*told, last):
        kept = last[: max(len(active) - len(pinned), 0)]
        assert {*kept.tolist(), *pinned} <= set(active.tolist())
        sizes.append(len(active))
    assert sizes[-1] == 1
    assert len(
        {tuple(active) for active, _, _ in shrink(*told)} - {tuple(a) for a, _, _ in shrink(*told, last)}
    )


@pytest.mark.parametrize("staying", [(), (0, 5), range(RULES)])
@pytest.mark.parametrize("seed", range(5))
def test_a_rule_that_decides_stays_without_a_weight_of_its_own(seed, staying):
    """Penalties drop weights, not what decides the value of an aggregate, nor rules that must stay."""
    problem, reaches = problem_of(seed)
    strength = np.append(np.random.default_rng(seed).integers(0, 5, RULES), 0).astype(np.float32)
    fold, active = Fold(Best(), RULES, strength), np.arange(RULES)
    penalty = np.append(np.full(RULES, 1e9), 0.0)
    fit = Fit(0.001, 50, np.empty(0, np.int64), penalty, np.zeros(RULES + 1, np.int8))
    joined = with_aggregates(
        [fold], problem, Sparse(active, np.zeros(RULES)), fit, np.array(staying, np.int64)
    )
    highest = np.where(reaches, strength[:RULES, None], 0).max(axis=0)
    trusted = [k for k in active if ((strength[k] == highest) & reaches[k]).any() and strength[k] > 0]
    assert joined.active.tolist() == [*sorted({*trusted, *staying}), RULES]
    assert not joined.weights[:-1].any()
    assert joined.weights[-1] != 0


@pytest.mark.parametrize("kind", [Best, NoisyOr])
def test_aggregates_of_a_model_are_folded_over_its_rules(kind):
    problem, reaches = problem_of(3)
    fold, model = (
        Fold(kind(), RULES, fold_of(3).strength),
        Sparse(np.array([1, 4, RULES]), np.array([1, 2, 0.5])),
    )
    scores = np.zeros(len(problem.target))
    others = add_aggregates([fold], problem.columns, model, scores)
    own = reaches[[1, 4]] * fold.strength[[1, 4], None]
    assert scores == pytest.approx(0.5 * (own.max(axis=0) if kind is Best else own.sum(axis=0)))
    assert (others.active.tolist(), others.weights.tolist()) == ([1, 4], [1, 2])
