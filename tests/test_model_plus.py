"""RNNLogic+ from fit to explanation, with the real learner on the family graph."""

import numpy as np
import pytest

from paper.baselines.pykeen_models import RECIPES, train_pykeen
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.config import changed, default_config
from rnnlogic.data.dataset import load_dataset
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.base import RuleValues, Task
from rnnlogic.predictors.plus.network import encode_rules
from rnnlogic.predictors.plus.train import Training
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.runs.folder import Run
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import family, tiny_config

DATA = family()
EMBEDDING = random_embedding(DATA.vocab.num_entities, DATA.vocab.num_relations, dim=3)
PLUS = {"epochs": 3, "dim": 4, "hidden": 5, "rule_vectors": "lstm", "learning_rate": 0.02, "patience": 9}
CHANGES = {"variant": "plus", "em": {"rounds": 1}, "predictor": {"weight_decay": 0.1}, "plus": PLUS}
CONFIG = changed(tiny_config(), CHANGES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "plus"
    RNNLogic(CONFIG).fit(DATA, folder)
    return folder


@pytest.fixture(scope="module")
def with_embedding() -> RNNLogic:
    plus = {"etas": (0.05, 20.0), "per_relation_eta": True, "eta_prior": 0.0, "keep": 5}
    return RNNLogic(changed(CONFIG, {"variant": "plus-emb", "plus": plus})).fit(DATA, embeddings=EMBEDDING)


def test_a_run_is_loaded_as_it_was_fitted(folder, tmp_path):
    loaded = RNNLogic.load(folder)
    again = RNNLogic.load(loaded.save(tmp_path / "copy"))
    assert loaded.scorer.parameters.encoder
    for name, array in again.scorer.parameters.encoder.items():
        np.testing.assert_array_equal(array, loaded.scorer.parameters.encoder[name])
    one, other = (model.predict("grandpa0", "grandparent", known="keep") for model in (loaded, again))
    assert one == other
    assert len(one) > 2
    assert again.evaluate("valid").metrics() == loaded.evaluate("valid").metrics()


def test_a_stopped_fit_goes_on_with_the_network(folder, monkeypatch):
    run = Run.open(folder)
    before = run.learned()
    for name in ("model.json", "model.safetensors"):
        (run.folder / name).unlink()
    monkeypatch.setattr("rnnlogic.generator.network.RuleGenerator.beam", None)  # rules and weights are there
    after = RNNLogic(CONFIG).fit(DATA, folder).learned
    np.testing.assert_array_equal(after.weights, before.weights)
    np.testing.assert_array_equal(after.predictor.parameters.vectors, before.predictor.parameters.vectors)


@pytest.mark.parametrize("variant", ["plus", "plus-emb"])
def test_packaged_settings(variant):
    config, plain = default_config(variant), default_config()
    assert config.variant == variant
    assert (config.final, config.em, config.max_length) == (plain.final, plain.em, plain.max_length)


@pytest.mark.parametrize(("variant", "expected"), [("plus", False), ("plus-emb", True)])
def test_the_unreached_take_part_beside_an_embedding(variant, expected):
    config = changed(CONFIG, {"variant": variant})
    rules = RuleSet.from_rules([])
    training = Training(Task(DATA, rules, config, 1), np.empty(0), RuleValues(rules, "log1p"))
    assert training.examples().unreached is expected


def test_the_explanation_says_what_its_numbers_are(folder):
    model = RNNLogic.load(folder)
    best = model.predict("grandpa0", "grandparent", most=1)[0]
    told = model.explain("grandpa0", "grandparent", best.entity)
    assert told.score == pytest.approx(best.score)
    assert "the score minus the score without it" in "\n".join(told.lines())
    assert sum(len(idea.rules) for idea in told.ideas) == len(told.contributions)
    plain = told.as_dict()
    assert plain["contributions"] == "leave-one-out"
    assert plain["embedding"] is None
    assert model.rules(most=1)[0].weight


def test_the_embedding_ranks_what_no_rule_reaches(with_embedding):
    model = with_embedding
    answers = model.predict("grandpa0", "grandparent", most=10**6, known="keep")
    assert len(answers) == DATA.vocab.num_entities
    assert set(model.scorer.parameters.eta.ravel()) <= {0.05, 20.0}
    told = model.explain("grandpa0", "grandparent", answers[0].entity)
    assert told.embedding
    assert told.contributions[0].phi is not None
    assert max(np.bincount(model.learned.rules.heads)) == 5


class Alphabet:
    """Finds later entities better, whatever is asked."""

    def score(self, graph, heads, relations):
        return np.tile(np.arange(graph.num_entities, dtype=float), (len(heads), 1))


def test_any_model_may_take_part_by_its_scores(tmp_path):
    plus = {"etas": (1000.0,), "path_scores": False, "epochs": 1}
    config = changed(CONFIG, {"variant": "plus-emb", "plus": plus})
    rules = ["grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)"]
    model = RNNLogic(config).fit(DATA, embeddings=Alphabet(), rules=rules, generate=False)
    answers = model.predict("grandpa0", "grandparent", most=10**6, known="keep")
    by_score = sorted(answers, key=lambda answer: -answer.score)  # `predict` orders by probability
    assert [answer.entity for answer in by_score] == list(reversed(DATA.vocab.entities))
    with pytest.raises(RNNLogicError, match="cannot be kept in a run folder"):
        model.save(tmp_path / "one")
    with pytest.raises(RNNLogicError, match="cannot be kept in a run folder: fit without one"):
        RNNLogic(config).fit(DATA, tmp_path / "two", embeddings=Alphabet())
    config = changed(config, {"plus": {"path_scores": True}})  # only RotatE can: all paths count alike
    again = RNNLogic(config).fit(DATA, embeddings=Alphabet(), rules=rules, generate=False)
    assert again.predict("grandpa0", "grandparent", most=10**6, known="keep") == answers


def test_a_model_of_pykeen_takes_part_in_scores_and_reasons():
    trained = train_pykeen("distmult", DATA, RECIPES["distmult"].grid[0], most_epochs=10).scorer
    plus = {"etas": (0.5,), "path_scores": False, "epochs": 1}
    config = changed(CONFIG, {"variant": "plus-emb", "plus": plus})
    rules = ["grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)"]
    model = RNNLogic(config).fit(DATA, embeddings=trained, rules=rules, generate=False)
    known = DATA.test[DATA.test[:, 1] == DATA.vocab.relation_id("grandparent")][0]
    names = [DATA.vocab.entities[known[0]], "grandparent", DATA.vocab.entities[known[2]]]
    why = model.explain(*names)
    alone = trained.score(DATA.graph("train"), known[:1], known[1:2])[0, known[2]]
    assert why.embedding == pytest.approx(0.5 * alone)
    assert model.evaluate("test").metrics()["mrr"] > 0


def test_embeddings_of_no_use_are_refused():
    with pytest.raises(RNNLogicError, match="variant plus has no use for them: take plus-emb"):
        RNNLogic(CONFIG).fit(DATA, embeddings=EMBEDDING)


def test_the_network_moves_to_another_graph(folder):
    model, vocab = RNNLogic.load(folder), DATA.vocab
    rows = [
        (vocab.entities[h][::-1], vocab.relations[r], vocab.entities[t][::-1]) for h, r, t in DATA.train[::-1]
    ]
    moved = model.on(load_dataset([*rows, ("a", "ancestor", "b")], ratios=(98, 1, 1)))
    assert moved.transfer.unknown == ("ancestor",)  # it comes first, so all ids differ
    more = moved.with_facts(rows)  # whatever the split took out
    there = {
        answer.entity: answer.score for answer in more.predict("grandpa0"[::-1], "grandparent", known="keep")
    }
    here = {
        answer.entity[::-1]: answer.score
        for answer in model.predict("grandpa0", "grandparent", facts="train", known="keep")
    }
    assert len(here) > 2
    assert there == pytest.approx(here)


def test_weights_of_a_run_are_taken_over(folder, monkeypatch):
    plain = changed(CONFIG, {"variant": "rnnlogic"})
    known = RNNLogic(plain).fit(DATA, folder.parent / "plain").learned
    monkeypatch.setattr("rnnlogic.predictors.plus.train.learn_weights", None)
    plus = changed(CONFIG, {"plus": {"epochs": 1}, "generate": False})
    taken = RNNLogic(plus).fit(DATA, rules=folder.parent / "plain", generate=False).learned
    assert taken.rules == known.rules
    np.testing.assert_array_equal(taken.weights, known.weights)


def test_an_lstm_gives_vectors_to_rules_that_it_has_never_seen(folder):
    model = RNNLogic.load(folder)
    learned, text = model.learned, "grandparent <- parent & parent & parent^-1 & parent"
    assert RuleSet.from_text([text], DATA.vocab)[0] not in learned.rules
    known = model.scorer.parameters
    np.testing.assert_allclose(encode_rules(known.encoder, learned.rules), known.vectors, atol=1e-6)
    more = model.with_rules([text, "grandparent <- parent & parent"])
    assert len(more.learned.rules) == len(learned.rules) + 1 == len(more.scorer.parameters.vectors)
    new = more.learned.rules[len(learned.rules)]
    reached = more.scorer.on(DATA.graph("train")).ground(DATA.train[:, 0], new.head)
    assert any((grounding.candidates().rule_id == len(learned.rules)).any() for grounding in reached)
    assert more.evaluate("valid").metrics()["mrr"] > 0
    with pytest.raises(RNNLogicError, match="LSTM"):
        more.on(DATA).with_rules([text])
