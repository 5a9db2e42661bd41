"""The whole learner on a small family graph whose rule is known."""

import numpy as np
import pytest

from rnnlogic.config import Config, override
from rnnlogic.data.dataset import load_dataset
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.fit.pipeline import learn
from rnnlogic.fit.result import MemoryStore
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.parse import parse_rule

SMALL = [
    "generator.embedding_size=16",
    "generator.hidden_size=16",
    "generator.pretrain_steps=30",
    "generator.tune_steps=15",
    "em.rules=20",
    "em.selected=5",
    "em.rounds=2",
    "final.rules=20",
    "predictor.weight_decay=1",
    "compact.enabled=false",
]


@pytest.fixture(scope="module")
def family():
    """grandparent(X,Y) <- parent(X,Z) & parent(Z,Y), in 40 families of four generations."""
    triples = []
    for i in range(40):
        a, b, c, d = (f"{name}{i}" for name in "abcd")
        triples += [(a, "parent", b), (b, "parent", c), (c, "parent", d)]
        triples += [(a, "grandparent", c), (b, "grandparent", d), (a, "lives_in", f"town{i % 5}")]
    return load_dataset(triples, name="family")


def run(dataset, *settings, store=None):
    seen = []
    store = store or MemoryStore()
    learned = learn(
        dataset, override(Config(threads=2), [*SMALL, *settings]), store, lambda *event: seen.append(event)
    )
    return learned, store, seen


def best_rule(learned, dataset, relation):
    ids = learned.rules.by_head(dataset.vocab.relation_id(relation))
    return learned.rules[int(ids[np.argmax(learned.weights[ids])])]


@pytest.mark.parametrize(("patience", "rounds"), [(1, [1, 2]), (2, [1, 2, 3])])
def test_rounds_end_when_they_gain_too_little(family, patience, rounds):
    _, store, _ = run(family, "em.rounds=4", "em.least_gain=0.99", f"em.patience={patience}")
    assert [record["round"] for record in store.records if record["stage"] == "round"] == rounds


@pytest.mark.parametrize("optimizer", ["em", "reinforce", "none"])
def test_the_known_rule_comes_out_on_top(family, optimizer):
    learned, _, _ = run(family, f"em.optimizer={optimizer}")
    expected = parse_rule("grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)", family.vocab)
    assert best_rule(learned, family, "grandparent") == expected
    report = evaluate(RuleScorer(learned.rules, learned.weights, learned.feature), family, "test")
    assert report.by_relation()["grandparent"]["both"]["mrr"] > 0.7  # some of the parents are test facts too


def test_from_scratch_nothing_is_mined_and_em_finds_the_rule_by_itself(family):
    scratch = ("generator.pretrain_steps=0", "generator.tune_steps=60", "generator.tune_learning_rate=0.01")
    learned, store, _ = run(family, *scratch, "em.replay=false", "em.rules=100")
    assert set(store.stages) == {"round-1", "round-2", "rules", "statistics", "full"}
    expected = parse_rule("grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)", family.vocab)
    assert best_rule(learned, family, "grandparent") == expected
    partial = MemoryStore()
    partial.save("round-1", store.stages["round-1"])
    resumed, _, _ = run(family, *scratch, "em.replay=false", "em.rules=100", store=partial)
    assert np.array_equal(resumed.weights, learned.weights)


@pytest.mark.parametrize("setting", ["em.replay=false", "predictor.feature=count"])
def test_options_of_the_rounds_work(family, setting):
    learned, store, _ = run(family, setting)
    assert len(learned.rules) > 0
    rounds = [record for record in store.records if record["stage"] == "round"]
    assert [record["round"] for record in rounds] == [1, 2]
    assert all(0 < record["valid_mrr"] <= 1 for record in rounds)


def test_same_seed_same_result_and_another_seed_another(family):
    one, two, other = run(family)[0], run(family, "threads=1")[0], run(family, "seed=1")[0]
    assert one.rules == two.rules
    assert np.array_equal(one.weights, two.weights)
    assert not np.array_equal(one.log_prior, other.log_prior)


def test_an_interrupted_fit_goes_on_and_ends_the_same(family):
    whole, store, _ = run(family)
    stages = ["mined", "pretrained", "round-1", "round-2", "rules", "statistics", "full"]
    assert list(store.stages) == stages
    for last in stages:
        partial = MemoryStore()
        for stage, arrays in store.stages.items():
            partial.save(stage, arrays)
            if stage == last:
                break
        resumed, _, _ = run(family, store=partial)
        assert resumed.rules == whole.rules
        assert np.array_equal(resumed.weights, whole.weights)


def test_finished_stages_are_not_done_again(family):
    _, store, _ = run(family)
    _, _, seen = run(family, store=store)
    assert not seen


def test_no_round_is_begun_after_the_deadline(family):
    store = MemoryStore()
    learn(family, override(Config(), SMALL), store, lambda *_: None, deadline=0.0)
    assert "round-1" not in store.stages
    assert "rules" in store.stages


def test_progress_names_the_stages(family):
    _, _, seen = run(family)
    stages = list(dict.fromkeys(stage for stage, *_ in seen))
    assert stages == [
        "mine",
        "pretrain",
        "round 1/2",
        "round 2/2",
        "final rules",
        "rule statistics",
        "weights",
    ]
    assert any("valid MRR" in str(note) for *_, note in seen)


def test_statistics_of_the_known_rule(family):
    learned, _, _ = run(family)
    i = learned.rules.index(parse_rule("grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)", family.vocab))
    assert learned.support[i] > 20
    assert learned.confidence[i] == 1.0
    assert np.isfinite(learned.log_prior).all()


def test_without_validation_facts_rounds_and_rules_are_learned_all_the_same(family):
    import dataclasses

    learned, store, _ = run(dataclasses.replace(family, valid=family.valid[:0]))
    expected = parse_rule("grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)", family.vocab)
    assert best_rule(learned, family, "grandparent") == expected
    assert "round-1" in store.stages


def test_a_round_that_made_it_worse_is_undone(family):
    _, store, _ = run(family)
    unlucky = MemoryStore()
    for stage in ("mined", "pretrained", "round-1", "round-2"):
        unlucky.save(stage, store.stages[stage])
    unlucky.stages["round-1"] = {**store.stages["round-1"], "valid_mrr": np.array(0.9)}
    unlucky.stages["round-2"] = {**store.stages["round-2"], "valid_mrr": np.array(0.1)}
    kept, _, _ = run(family, store=unlucky)
    pretrained, _, _ = run(family, "em.optimizer=none")
    assert kept.rules == pretrained.rules
    assert np.array_equal(kept.log_prior, pretrained.log_prior)
