"""The facade: answers, rules, saving and loading; with given rules, and once with the real learner."""

from dataclasses import replace

import numpy as np
import pytest

import rnnlogic
from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.config import make_config
from rnnlogic.evaluation.evaluate import FrequencyScorer, evaluate
from rnnlogic.explain.asking import Question
from rnnlogic.model import RNNLogic
from rnnlogic.runs.folder import Run
from tests.helpers.family import RULES, STAGES, fake_learn, family, family_facts, given_rules, tiny_config


@pytest.fixture
def model(monkeypatch) -> RNNLogic:
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
    return RNNLogic({"seed": 1}).fit(family())


def dense_scores(model, head, relation):
    vocab = model.dataset.vocab
    query = np.array([vocab.entity_id(head)]), np.array([vocab.relation_id(relation)])
    return model.scorer.score(model.dataset.graph("all"), *query)[0]


@pytest.mark.parametrize(
    ("head", "relation"),
    [("grandpa0", "grandparent"), ("grandpa0", "parent"), ("grandchild0_0", "parent^-1")],
)
def test_predict_gives_the_best_of_all_scores(model, head, relation):
    scores = dense_scores(model, head, relation)
    reached = np.flatnonzero(scores > -np.inf)
    assert len(reached) > 0
    answers = model.predict(head, relation, most=100, known="keep")
    names = model.dataset.vocab.entities
    assert {a.entity for a in answers} == {names[i] for i in reached}
    assert [a.score for a in answers] == sorted(scores[reached], reverse=True)
    assert sum(a.share for a in answers) == pytest.approx(1)
    assert all(0 < a.probability < 1 for a in answers)
    expected = np.exp(scores[reached]) / np.exp(scores[reached]).sum()
    assert sorted(a.share for a in answers) == pytest.approx(sorted(expected))
    graph, vocab = model.dataset.graph("all"), model.dataset.vocab
    ids = vocab.entity_id(head), vocab.relation_id(relation)
    assert all(a.is_known == graph.has(*ids, vocab.entity_id(a.entity)) for a in answers)


def test_known_answers_are_dropped_before_the_softmax(model):
    mixed = 0
    for head in [f"grandpa{i}" for i in range(8)]:
        everything = model.predict(head, "grandparent", most=100, facts="train", known="keep")
        new = model.predict(head, "grandparent", most=100, facts="train")
        mixed += 0 < len(new) < len(everything)
        assert [a.entity for a in new] == [a.entity for a in everything if not a.is_known]
        assert not new or sum(a.share for a in new) == pytest.approx(1)
    assert mixed > 3


def test_predict_and_explain_agree(model):
    answers = [
        (h, a) for h in ("grandpa0", "grandma3") for a in model.predict(h, "grandparent", facts="train")
    ]
    assert len(answers) > 3
    for head, answer in answers:
        told = model.explain(head, "grandparent", answer.entity, facts="train")
        assert told.score == pytest.approx(answer.score)
        assert told.share == pytest.approx(answer.share)
        assert told.probability == pytest.approx(answer.probability)


def test_many_answers_are_the_single_ones_in_order(model):
    queries = [("grandpa1", "parent"), ("child1_0", "married"), ("grandpa1", "grandparent")]
    queries += [("grandma2", "parent"), ("grandchild0_0", "grandparent^-1")]
    assert model.predict_many(queries, most=3) == [model.predict(*query, most=3) for query in queries]


def test_more_evidence_reaches_more(model):
    reached = {e: len(model.predict("grandpa0", "grandparent", 99, e, "keep")) for e in ("train", "all")}
    assert reached["all"] > reached["train"]


def test_unknown_names_come_with_the_nearest(model):
    with pytest.raises(UnknownNameError, match=r"unknown entity 'granpa0'; did you mean 'grandpa0'"):
        model.predict("granpa0", "parent")
    with pytest.raises(UnknownNameError, match=r"unknown relation 'parents'; did you mean 'parent'"):
        model.explain("grandpa0", "parents", "child0_0")


def test_rules_by_relation_heaviest_first(model):
    rules = model.rules("parent")
    assert [(r.text, r.weight) for r in rules] == [
        (t, w) for t, w in RULES.items() if t.startswith("parent(")
    ]
    assert [r.relation for r in model.rules(most=1)] == ["grandparent", "married", "parent", "parent^-1"]
    assert len(model.rules()) == len(RULES)
    inverse = model.rules("parent^-1")[0]
    assert inverse.prior is None
    assert model.rules("married")[0].prior == pytest.approx(2 / len(RULES))


def test_saved_and_loaded_it_answers_the_same(model, tmp_path):
    folder = model.save(tmp_path / "saved")
    loaded = RNNLogic.load(folder)
    assert loaded.config == model.config
    query = ("grandma1", "grandparent")
    assert loaded.predict(*query) == model.predict(*query)
    assert loaded.rules() == model.rules()
    ours, theirs = model.evaluate("test"), loaded.evaluate("test")
    assert ours.metrics() == theirs.metrics()
    with pytest.raises(RNNLogicError, match="holds a run already"):
        model.save(folder)


def test_a_model_that_is_not_fitted_says_so():
    for use in (lambda m: m.predict("a", "b"), lambda m: m.rules(), lambda m: m.evaluate()):
        with pytest.raises(RNNLogicError, match="not fitted yet"):
            use(RNNLogic())
    assert repr(RNNLogic()) == "RNNLogic(not fitted)"


def test_a_wrong_key_is_told():
    with pytest.raises(RNNLogicError, match=r"unknown key 'em.round'; did you mean em.rounds"):
        RNNLogic({"em": {"round": 3}})


def test_fit_goes_on_with_the_stages_that_are_there(monkeypatch, tmp_path):
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
    dataset, config = family(), make_config({})
    run = Run.create(tmp_path, dataset, config)
    run.save(STAGES[0], {"x": np.arange(3)})
    seen = []
    model = RNNLogic(config).fit(dataset, tmp_path, lambda stage, *rest: seen.append(stage), max_minutes=5)
    assert set(seen) == {"first look", *STAGES[1:], "calibrate"}
    assert Run.open(tmp_path).learned().rules == model.learned.rules


def test_fit_on_a_finished_run_changes_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
    RNNLogic({}).fit(family(), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", None)
    again = RNNLogic({}).fit(family(), tmp_path)
    assert again.learned.rules == given_rules(family()).rules
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_refit_takes_the_settings_for_the_new_dataset(monkeypatch):
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
    model = RNNLogic()
    dense = [(f"a{i}", f"r{k}", f"b{j}") for i in range(9) for j in range(9) for k in range(9)]
    chain = [(f"a{i}", "parent", f"a{i + 1}") for i in range(500)]
    first = model.fit(rnnlogic.load_dataset(family_facts() + chain, name="wn18rr")).config
    second = model.fit(rnnlogic.load_dataset(family_facts() + dense, name="wn18rr")).config
    assert (first.max_length, second.max_length) == (5, 3), "by the walks there are, not by the name"


def test_the_real_learner_finds_the_rules_of_the_family():
    model = rnnlogic.RNNLogic(tiny_config()).fit(family_facts())
    heaviest = model.rules("grandparent")[0]
    assert heaviest.text == "grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)"
    assert heaviest.support > 0
    floor = evaluate(FrequencyScorer(), model.dataset, "test")
    assert model.evaluate("test").metrics()["mrr"] > 2 * floor.metrics()["mrr"]


def test_questions_that_are_asked_together_are_asked_alike(model):
    alike = [Question(head=f"grandpa{i}", relation="grandparent", most=2) for i in range(2)]
    assert model.answers(alike) == [model.predict(one.head, one.relation, 2) for one in alike]
    assert model.answers([]) == []
    with pytest.raises(RNNLogicError, match="differ in their ends and relations only"):
        model.answers([alike[0], replace(alike[1], facts="train")])
