"""Evidence besides chains takes part in a whole fit: learned, chosen, saved, explained, moved."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import rnnlogic as rl
from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.errors import RuleError
from rnnlogic.config import changed, override
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.features.aggregates import BEST_CHAIN
from rnnlogic.fit.choice import preferred, regularised
from rnnlogic.fit.compact.compact import compact_paths, teacher_of
from rnnlogic.fit.compact.validation import frontier, model_at
from rnnlogic.fit.given import NOTHING_GIVEN, Edits, edits_of
from rnnlogic.mining.constants import mine_constants
from rnnlogic.mining.links import hidden_answers
from rnnlogic.predictors.base import Task, predictor_class
from rnnlogic.rules.features import FEATURES
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import Constant, Feature, format_rule
from rnnlogic.statistics.statistics import training_queries
from tests.helpers.family import family, family_facts, tiny_config

ON = [
    "evidence.negative_evidence=learned",
    "evidence.constants=true",
    "evidence.prior=true",
    "evidence.surest=true",
    "evidence.constant_rules=5",
    "em.rounds=1",
]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "run"
    settings = override(tiny_config(), ON)
    return rl.RNNLogic(settings).fit(family(), run=run), run


def test_every_kind_of_evidence_is_a_rule_with_a_weight(fitted):
    model, _ = fitted
    assert {rule.name for rule in model.learned.rules if isinstance(rule, Feature)} == set(FEATURES)
    assert np.isfinite(model.learned.weights).all()
    texts = {rule.text for rule in model.rules()}
    assert "parent(X,Y) <- [linked]" in texts
    assert "parent^-1(X,Y) <- [frequency]" in texts
    words = {rule.label for rule in model.rules()}
    assert "parent(X,Y) <- another relation leads from X to Y already" in words


def test_a_loaded_model_answers_as_the_fitted_one(fitted):
    model, run = fitted
    loaded = rl.RNNLogic.load(run)
    assert loaded.learned.rules == model.learned.rules
    facts = model.dataset.test
    head, relation = model.dataset.vocab.entities[facts[0][0]], model.dataset.vocab.relations[facts[0][1]]
    assert [(a.entity, a.score) for a in loaded.predict(head, relation)] == [
        (a.entity, a.score) for a in model.predict(head, relation)
    ]


@pytest.mark.parametrize("vectors", ["lstm", "embedding"])
def test_a_network_reads_the_evidence_of_a_run(fitted, vectors, tmp_path):
    of_run, run = fitted
    plus = {"rule_vectors": vectors, "epochs": 1, "queries_per_relation": 20}
    config = changed(tiny_config(), {"variant": "plus", "plus": plus})
    model = rl.RNNLogic(config).fit(family(), run=tmp_path / "plus", rules=str(run))
    rules = of_run.learned.rules
    chains_and_evidence = rules.filter(
        ~(rules.have_constants | rules.are_feature(BEST_CHAIN))
    )  # a network sees for itself which rules are good
    names = model.learned.predictor.pack().get("plus.encoder.named.weight")
    assert (names is None) == (vectors == "embedding")
    assert names is None or len(names) == 11, "as in earlier runs, which must stay readable"
    assert model.learned.rules == chains_and_evidence
    assert chains_and_evidence.are_features.any()
    again, graph = rl.RNNLogic.load(tmp_path / "plus"), family().graph("train")
    heads, relations = np.arange(6, dtype=np.int32), np.zeros(6, np.int32)
    scores = model.scorer.score(graph, heads, relations)
    np.testing.assert_array_equal(again.scorer.score(graph, heads, relations), scores)
    head, relation, tail = model.dataset.train[0].tolist()
    vocab = model.dataset.vocab
    told = model.explain(vocab.entities[head], vocab.relations[relation], vocab.entities[tail])
    assert any(isinstance(rule.chain, Feature) for rule in told.contributions)


def test_explanations_with_evidence_sum_to_the_score(fitted):
    model, _ = fitted
    vocab, told = model.dataset.vocab, []
    for h, r, t in model.dataset.train[:20].tolist():
        one = model.explain(vocab.entities[h], vocab.relations[r], vocab.entities[t])
        if math.isfinite(one.score):
            assert math.fsum(rule.contribution for rule in one.contributions) == pytest.approx(one.score)
            told += [rule for rule in one.contributions if isinstance(rule.chain, Constant)]
            assert "\n".join(one.lines(everything=True))
    assert any(rule.record is not None and rule.record.cases for rule in told), (
        "rules with constants have records"
    )


GRID = ["choice.decays=[[10.0,0.01,1.0],[100.0,0.01,1.0],[10.0,1.0,1.0]]", "choice.facts=20"]


def test_regularisation_is_chosen_and_all_features_stay(tmp_path):
    model = rl.RNNLogic(override(tiny_config(), [*ON, *GRID])).fit(family(), run=tmp_path / "run")
    records = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    (choice,) = [record for record in records if record["stage"] == "choice"]
    assert set(choice["tried"]) == {
        "weight decay 100, of features 100",
        "weight decay 100, of features 1",
        "weight decay 10, of features 10",
        "weight decay 10, of features 0.1",
    }
    assert choice["facts"] == 20
    assert choice["tried"][choice["chosen"]] > max(choice["tried"].values()) - 0.05
    assert {rule.name for rule in model.learned.rules if isinstance(rule, Feature)} == set(FEATURES)


def task_of(model, data, budget=UNLIMITED, seen=None):
    def show(stage, done, total, note=""):
        if seen is not None:
            seen.append((stage, done, total))

    return Task(
        data, model.learned.rules, override(tiny_config(), [*ON, *GRID]), 1, progress=show, budget=budget
    )


def test_the_choice_tells_how_far_it_is(fitted):
    seen = []
    regularised(task_of(fitted[0], fitted[0].dataset, seen=seen), predictor_class("rnnlogic"))
    assert seen[0] == ("choice", 0, seen[0][2])
    assert [done for _, done, _ in seen[1:-1]] == list(range(1, seen[0][2] + 1))


def test_without_time_to_choose_the_settings_stay_and_so_do_all_features(fitted):
    cuts = []
    task = task_of(fitted[0], fitted[0].dataset, Budget(0.0, lambda *cut: cuts.append(cut)))
    chosen, figures = regularised(task, predictor_class("rnnlogic"))
    assert chosen == {"weight_decay": 100.0, "evidence_decay": 1.0, "length_decay": 1.0}
    assert not figures
    assert [stage for stage, _ in cuts] == ["choice"]


def test_without_validation_facts_a_fit_has_all_features(fitted):
    data = replace(fitted[0].dataset, valid=fitted[0].dataset.valid[:0])
    model = rl.RNNLogic(override(tiny_config(), [*ON, *GRID])).fit(data)
    assert {rule.name for rule in model.learned.rules if isinstance(rule, Feature)} == set(FEATURES)


def test_compact_models_keep_evidence_and_answer_as_they_were_judged(fitted):
    model, _ = fitted
    full, dataset = model.learned, model.dataset
    teacher = teacher_of(full, dataset, override(tiny_config(), ["compact.enabled=true"]))
    paths, kept = compact_paths(teacher, 1), set()
    for level in frontier(paths, points=4):
        ids, weights = model_at(paths, level, len(full.rules))
        report = evaluate(full.predictor.reduced(full.rules[ids], weights), dataset, "valid")
        assert report.metrics()["mrr"] == pytest.approx(level.mrr)
        kept |= set(ids[full.rules.are_features[ids]].tolist())
    assert kept
    assert (full.support[sorted(kept)] == 0).any(), "what speaks against an answer needs no support"


def test_links_are_hidden_as_validation_facts_tell():
    train = [(i, 0, i + 1) for i in range(0, 200, 2)] + [(i, 1, i + 1) for i in range(0, 200, 2)]
    graph = Graph.from_triples(train, 260, 2)
    queries = training_queries(graph, None, 0)
    apart = np.array([(i, 0, i + 3) for i in range(40)], np.int32)
    linked = np.array([(i, 0, i + 1) for i in range(0, 80, 2)], np.int32)
    hidden = hidden_answers(graph, apart, queries, 0)
    assert (hidden < -1)[queries[:, 1] % 2 == 0].mean() > 0.9
    assert ((hidden == queries[:, 2]) | (hidden == -2 - queries[:, 2])).all()
    assert (hidden_answers(graph, linked, queries, 0)[queries[:, 1] % 2 == 0] >= 0).all()


def test_rules_with_constants_are_rules_like_others(fitted):
    model, run = fitted
    rules, vocab = model.learned.rules, model.dataset.vocab
    stated = np.flatnonzero(rules.have_constants)
    sides = {rules[int(i)].at_head for i in stated}
    assert sides == {False, True}
    assert np.bincount(rules.heads[stated]).max() == 10, "five that name the answer, five that name the head"
    assert (model.learned.weights[stated] > 0).any()
    assert (model.learned.support[stated] > 0).any()
    texts = {rule.text: rule for rule in model.rules()}
    shown = [texts[format_rule(rules[int(i)], vocab)] for i in stated]
    assert any(rule.support > 0 and 0 < rule.confidence <= 1 for rule in shown)
    assert all(parse_rule(rule.text, vocab) in rules for rule in shown)
    lines = (run / "rules.txt").read_text()
    assert all(rule.text in lines for rule in shown)


def test_what_the_most_trusted_rule_adds_is_shown_with_that_rule(fitted):
    model, _ = fitted
    vocab, rules, shown = model.dataset.vocab, model.learned.rules, 0
    for h, r, t in model.dataset.valid.tolist():
        one = model.explain(vocab.entities[h], vocab.relations[r], vocab.entities[t])
        if one.contributions:
            assert math.fsum(rule.contribution for rule in one.contributions) == pytest.approx(one.score)
        assert not any(rule.chain == Feature(r, BEST_CHAIN) for rule in one.contributions)
        told = [rule for rule in one.contributions if any("most trusted" in line for line in rule.because)]
        chains = [rule.chain for rule in one.contributions if rule.chain in rules]
        trust = {chain: rules.trust[rules.index(chain)] for chain in chains}
        if told:
            assert trust[told[0].chain] == max(trust[chain] for chain in chains) > 0
            assert "most trusted" in "\n".join(one.lines(everything=True))
        shown += len(told)
    assert shown


def test_facts_of_rules_with_constants_are_shown(fitted):
    model, _ = fitted
    vocab, facts = model.dataset.vocab, []
    for h, r, t in model.dataset.valid.tolist():
        one = model.explain(vocab.entities[h], vocab.relations[r], vocab.entities[t])
        told = [rule for rule in one.contributions if isinstance(rule.chain, Constant)]
        facts += [path for rule in told for path in rule.paths]
        assert all(rule.count == 1 for rule in told)
        assert all(len(path.entities) == 2 for rule in told for path in rule.paths)
        assert "\n".join(one.lines(everything=True))
    assert facts


def test_rules_with_constants_stay_behind_where_their_entities_are_unknown(fitted):
    model, _ = fitted
    renamed = [(f"other {h}", r, f"other {t}") for h, r, t in family_facts()]
    moved = model.on(rl.load_dataset(renamed, ratios=(60, 20, 20), name="renamed"))
    number = int(model.learned.rules.have_constants.sum())
    assert moved.transfer.constants == moved.transfer.dropped == number > 0
    assert any(f"{number:,} of" in line and "left behind" in line for line in moved.transfer.lines())
    assert not moved.learned.rules.have_constants.any()
    same = model.on(family("again"))
    assert same.transfer.dropped == 0
    assert same.learned.rules == model.learned.rules


def test_rules_with_constants_can_be_pinned_and_banned():
    vocab = family().vocab
    pinned = "parent(X,child0_0) <- married(X,grandma0)"
    config = override(tiny_config(), []).model_copy(
        update={"pinned": (pinned,), "banned": ("grandparent(X,*) <- *(X,*)",)}
    )
    edits = edits_of(config, NOTHING_GIVEN, vocab)
    assert [format_rule(rule, vocab) for rule in edits.constants] == [pinned]
    assert not len(edits.pinned), "no generator writes them"
    mined = mine_constants(family().graph("train"), 5)
    kept = edits.banned.keep(mined)
    grandparents = {vocab.relation_id("grandparent"), vocab.relation_id("grandparent^-1")}
    assert 0 < len(kept) < len(mined)
    lost = [rule for rule in mined if rule not in kept]
    assert {rule.head for rule in lost} <= grandparents
    assert all(rule.other >= 0 for rule in lost)
    with pytest.raises(RuleError, match="all given rules have constants"):
        Edits(edits.constants, edits.banned, None).for_predictor(uses_constants=False)


@pytest.mark.parametrize(("gain", "taken"), [(0.001, 0), (0.2, 1), (-0.2, 0)])
def test_the_first_option_is_kept_unless_another_is_better_by_more_than_chance(gain, taken):
    noise = np.random.default_rng(0).normal(scale=0.3, size=(2, 100))
    noise -= noise.mean(axis=1, keepdims=True)
    assert preferred(noise + gain * np.arange(2)[:, None]) == taken
