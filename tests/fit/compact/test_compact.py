"""The whole compaction: what it may keep, how good it is by the real evaluation, and that it repeats."""

from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import load_dataset
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.fit.compact.compact import chosen, compact_paths, compacted, pack_frontier, teacher_of
from rnnlogic.fit.compact.validation import Level, chosen_level, level_at, model_at
from rnnlogic.fit.result import Learned
from rnnlogic.predictors.loglinear.fit import signs_of
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.predictors.paths.predictor import PathRuleScorer
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import rule_statistics, training_queries
from tests.helpers.embeddings import random_embedding

ENTITIES, RELATIONS, EMPTY = 24, 4, 3  # the last relation has no training fact
SEEDS = pytest.mark.parametrize("seed", range(3))


def random_dataset(seed):
    """Facts at random, apart from two relations that follow from the first ones; r1 is functional."""
    rng = np.random.default_rng(seed)
    first = {(int(h), int(t)) for h, t in rng.integers(ENTITIES, size=(50, 2))}
    second = {(h, int(rng.integers(ENTITIES))) for h in range(ENTITIES)}
    third = {(a, d) for a, b in first for c, d in second if b == c}
    fourth = {(b, a) for a, b in first}
    named = {"r0": first, "r1": second, "r2": third, "r3": fourth}
    facts = [(f"e{h}", name, f"e{t}") for name, pairs in named.items() for h, t in sorted(pairs)]
    dataset = load_dataset(facts, ratios=(60, 20, 20), seed=seed, name="random")
    return replace(dataset, train=dataset.train[dataset.train[:, 1] != EMPTY])


def random_rules(seed, number=80):
    rng = np.random.default_rng([seed, 1])
    rules = set()
    for head in range(2 * RELATIONS):
        for _ in range(number):
            body = tuple(rng.integers(2 * RELATIONS, size=rng.integers(1, 4)).tolist())
            rules |= {Chain(head, body)} - {Chain(head, (head,))}
    return RuleSet.from_rules(sorted(rules, key=lambda rule: (rule.head, rule.body)))


def full_model(seed, predictor=None, **changes):
    """Random rules, fitted in no time: weights are confidence and noise, of both signs."""
    dataset, rules = random_dataset(seed), random_rules(seed)
    config = changed(Config(threads=1), {"compact": {"first": 40}, **changes})
    graph = dataset.graph("train")
    found = rule_statistics(graph, rules, training_queries(graph, None, 0), 1)
    weights = found.confidence - 0.02 + np.random.default_rng([seed, 2]).normal(size=len(rules)) / 50
    make = predictor or (lambda rules, weights: RuleScorer(rules, weights, config.predictor.feature, 1))
    prior = np.zeros(len(rules))
    return Learned(make(rules, weights), prior, found.support, found.confidence), dataset, config


def with_settings(teacher, **settings):
    return teacher._replace(settings=teacher.settings.model_copy(update=settings))


def mrr(learned, dataset, ids, weights):
    scorer = learned.predictor.reduced(learned.rules[ids], weights)
    return evaluate(scorer, dataset, "valid").metrics()["mrr"]


def walks(dataset, body):
    """Walk counts [E, E] of a body on the training graph, by multiplying matrices."""
    total = np.eye(ENTITIES, dtype=np.int64)
    graph = dataset.graph("train")
    for relation in body:
        step = np.zeros((ENTITIES, ENTITIES), np.int64)
        step[graph.edges(relation)] = 1
        total = total @ step
    return total


@SEEDS
@pytest.mark.parametrize("cap", [None, 2, 7])
def test_what_is_never_kept(seed, cap):
    full, dataset, config = full_model(seed)
    teacher = with_settings(teacher_of(full, dataset, config), rules=cap, tolerance=0.05)
    found = compacted(teacher, 1)
    assert found.levels[found.chosen].chosen, "the full model itself was taken"
    rules = full.rules[found.rules]
    graph = dataset.graph("train")
    assert (rule_statistics(graph, rules, training_queries(graph, None, 0), 1).support > 0).all()
    assert not np.isin(rules.heads, [EMPTY, EMPTY + RELATIONS]).any()
    for head in np.unique(rules.heads).tolist():
        own = [rule for rule in rules if rule.head == head]
        assert cap is None or len(own) <= cap
        reached = {walks(dataset, rule.body).tobytes() for rule in own}
        assert len(reached) == len(own)


@SEEDS
def test_some_rules_do_have_twins_and_no_support(seed):
    """Otherwise the test above shows nothing."""
    full, dataset, _ = full_model(seed)
    reached = {(rule.head, walks(dataset, rule.body).tobytes()) for rule in full.rules}
    assert len(reached) < len(full.rules)
    assert (full.support == 0).any()
    assert np.isin(full.rules.heads, [EMPTY, EMPTY + RELATIONS]).any()


@SEEDS
@pytest.mark.parametrize("cap", [None, 3])
def test_pinned_rules_stay(seed, cap):
    full, dataset, config = full_model(seed)
    pinned = np.zeros(len(full.rules), bool)
    pinned[np.flatnonzero(full.support == 0)[::17]] = True  # none of them would be kept for its own sake
    pinned[full.rules.by_head(EMPTY)[:2]] = True
    pinned[full.rules.by_head(0)[:5]] = True  # more than the cap allows
    found = compacted(with_settings(teacher_of(full, dataset, config, pinned), rules=cap, tolerance=0.3), 1)
    assert set(np.flatnonzero(pinned)) <= set(found.rules.tolist())
    assert len(found.rules) < len(full.rules)


@SEEDS
@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.1])
def test_validation_mrr_stays_within_the_tolerance(seed, tolerance):
    full, dataset, config = full_model(seed)
    found = compacted(with_settings(teacher_of(full, dataset, config), tolerance=tolerance), 1)
    before = evaluate(full.predictor, dataset, "valid").metrics()["mrr"]
    assert mrr(full, dataset, found.rules, found.weights) >= before * (1 - tolerance) - 1e-9
    if tolerance == 0.1:
        assert len(found.rules) < len(full.rules) / 4


@SEEDS
@pytest.mark.parametrize("feature", ["log1p", "binary"])
def test_the_judge_measures_what_evaluation_measures(seed, feature):
    full, dataset, config = full_model(seed, predictor=lambda r, w: RuleScorer(r, w, feature, 1))
    teacher = teacher_of(full, dataset, changed(config, {"predictor": {"feature": feature}}))
    paths = compact_paths(teacher, 1)
    judged = np.concatenate([path.full for path in paths]).mean()
    assert judged == pytest.approx(evaluate(full.predictor, dataset, "valid").metrics()["mrr"], abs=1e-9)
    for price in (0.0, 1e-4, 1e-3, 1e-2, np.inf):
        level = level_at(paths, price)
        ids, weights = model_at(paths, level, len(full.rules))
        assert len(ids) == level.rules
        assert level.mrr == pytest.approx(mrr(full, dataset, ids, weights), abs=1e-6)


@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_path_scores_and_the_embeddings_own_say_count(eta):
    embedding = random_embedding(ENTITIES, RELATIONS, dim=3)
    config = changed(Config(threads=1), {"variant": "rnnlogic-emb", "paths": {"temperature": 2.0}})

    def predictor(rules, weights):
        values = PathRuleScorer.values(rules, config, embedding)
        return PathRuleScorer(rules, weights, values.feature, values.paths, eta, 1)

    full, dataset, _ = full_model(0, predictor)
    teacher = teacher_of(full, dataset, config)
    paths = compact_paths(teacher, 1)
    judged = np.concatenate([path.full for path in paths]).mean()
    assert judged == pytest.approx(evaluate(full.predictor, dataset, "valid").metrics()["mrr"], abs=1e-9)
    for price in (0.0, 1e-3, np.inf):
        level = level_at(paths, price)
        found = mrr(full, dataset, *model_at(paths, level, len(full.rules)))
        assert level.mrr == pytest.approx(found, abs=1e-6)


@SEEDS
def test_compact_models_keep_the_signs_of_lift(seed):
    full, dataset, config = full_model(seed)
    lift = np.random.default_rng([seed, 3]).choice([0.1, 1.0, 9.0, np.nan], len(full.rules))
    signs = signs_of(lift, config.predictor.sign_lift)
    weights = np.where(full.weights * signs < 0, 0.0, full.weights)
    honest = replace(full, predictor=full.predictor.reduced(full.rules, weights), lift=lift)
    for path in compact_paths(teacher_of(honest, dataset, config), 1):
        assert all((model.weights * signs[model.rules] >= 0).all() for model in path.models)
    unknown = compact_paths(teacher_of(replace(full, lift=lift * np.nan), dataset, config), 1)
    weights = [(model.rules, model.weights) for path in unknown for model in path.models]
    assert any((own * signs[rules] < 0).any() for rules, own in weights)


def test_the_number_of_threads_changes_nothing():
    full, dataset, config = full_model(1)
    teacher = teacher_of(full, dataset, config)
    one, three = compacted(teacher, 1), compacted(teacher, 3)
    assert one.rules.tobytes() == three.rules.tobytes()
    assert one.weights.tobytes() == three.weights.tobytes()
    for name, column in pack_frontier(one).items():
        np.testing.assert_array_equal(column, pack_frontier(three)[name])


def test_a_direction_that_validation_never_asks_about_keeps_rules():
    full, dataset, config = full_model(2)
    silent = replace(dataset, valid=dataset.valid[dataset.valid[:, 1] != 2])
    found = compacted(with_settings(teacher_of(full, silent, config), tolerance=0.05), 1)
    assert found.levels[found.chosen].chosen
    assert {2, 2 + RELATIONS} <= set(full.rules[found.rules].heads.tolist())


def test_a_direction_without_rules_is_asked_about_all_the_same():
    full, dataset, config = full_model(2)
    some = full.rules.heads != 2
    few = Learned(full.predictor.reduced(full.rules[some], full.weights[some]), *(
        getattr(full, name)[some] for name in ("log_prior", "support", "confidence")
    ))  # fmt: skip
    paths = {path.relation: path for path in compact_paths(teacher_of(few, dataset, config), 1)}
    asked = int((dataset.valid[:, 1] == 2).sum())
    assert len(paths[2].full) == asked > 0
    assert (paths[2].full < 0.5).all()  # nothing is reached


def test_the_frontier_starts_with_the_full_model_and_gets_smaller():
    full, dataset, config = full_model(0)
    teacher = teacher_of(full, dataset, config)
    paths = compact_paths(teacher, 1)
    levels = chosen(teacher, paths).levels
    sizes = [level.rules for level in levels]
    assert sizes[0] == len(full.rules)
    assert sizes == sorted(sizes, reverse=True)
    assert levels[0].drop == 0
    capped = chosen(with_settings(teacher, rules=5), paths).levels
    assert max(level.rules for level in capped) <= 5 * 2 * RELATIONS


def level(rules, mrr, error=0.0, is_full=False):
    return Level(0.0, [] if is_full else [0], rules, mrr, 0.8 - mrr, error)


def test_which_level_is_chosen():
    full = level(1000, 0.8, is_full=True)
    sure, likely = level(100, 0.799, 0.004), level(70, 0.796, 0.004)
    unsure, bad = level(50, 0.793, 0.005), level(10, 0.6, 0.01)
    assert chosen_level([full, sure, likely, unsure, bad], 0.0125) is likely
    assert chosen_level([full, sure, unsure, bad], 0.0125) is sure
    assert chosen_level([full, unsure, bad], 0.0125) is unsure  # none is sure
    assert chosen_level([full, bad], 0.0125) is full  # none is good


def test_with_a_limit_what_a_level_saves_says_what_it_may_lose():
    best, half, less, few = level(20, 0.6), level(10, 0.596), level(19, 0.598), level(8, 0.593)
    assert chosen_level([best, less, half, few], 0.0167) is half
    assert chosen_level([best, less, few], 0.0167) is best  # one rule of twenty is not worth .002
    assert chosen_level([level(20, 0.5), level(12, 0.6)], 0.01).rules == 12  # the best is not the largest
    assert chosen_level([level(1000, 0.795), level(5, 0.794)], 0.01).rules == 5  # near the full model


def test_a_weak_model_may_lose_as_large_a_share_as_a_strong_one():
    full, few = Level(0.0, [], 1000, 0.085, 0.0, 0.0), Level(0.0, [0], 16, 0.076, 0.009, 0.0)
    assert chosen_level([full, few], 0.02) is full
    assert chosen_level([full, few._replace(mrr=0.084)], 0.02).rules == 16
