"""Rules on other graphs, and on more facts: the same walks, whoever the entities are."""

import json
import math

import numpy as np
import pytest

from rnnlogic.base.budget import Work
from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.saving import save_dataset
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.fit.result import Learned
from rnnlogic.mining.mine import mine_rules
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.runs.folder import Run
from tests.helpers.commands import run
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import RULES, fake_learn, family, family_facts, given_rules, tiny_config
from tests.helpers.scorers import NothingScorer


@pytest.fixture
def model(monkeypatch) -> RNNLogic:
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
    return RNNLogic({}).fit(family())


def renamed(name: str) -> str:
    return f"other {name[::-1]}"


def other_family(relations=None):
    relations = relations or {}
    facts = [(renamed(h), relations.get(r, r), renamed(t)) for h, r, t in family_facts(5, 2)]
    return load_dataset(facts, ratios=(60, 20, 20), name="others")


def mined_learner(dataset, config, store, progress, deadline=None, embedding=None, given=None):
    """Rules of the miner, weighted by their confidence."""
    rules, statistics, _ = mine_rules(dataset.graph("train"), config.mine, config.max_length, work=Work(1))
    prior = np.zeros(len(rules))
    scorer = RuleScorer(rules, statistics.confidence, "binary")
    return Learned(scorer, prior, statistics.support, statistics.confidence)


def disjoint_halves(name):
    """Two graphs of the facts inside each half of the entities."""
    whole = load_dataset(name)
    facts, names = whole.graph("all").triples(), whole.vocab
    is_left = np.random.default_rng(0).permutation(names.num_entities) % 2 == 0
    for side in (is_left, ~is_left):
        inside = facts[side[facts[:, 0]] & side[facts[:, 2]]]
        rows = [(names.entities[h], names.relations[r], names.entities[t]) for h, r, t in inside.tolist()]
        yield load_dataset(rows, name=name)


def test_rules_learned_on_one_half_of_the_entities_answer_on_the_other(monkeypatch):
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", mined_learner)
    here, there = disjoint_halves("umls")
    assert not set(here.vocab.entities) & set(there.vocab.entities)
    moved = RNNLogic({"max_length": 2, "mine": {"keep": 50}}).fit(here).on(there)
    assert moved.transfer.matched == tuple(r for r in here.vocab.relations if r in there.vocab.relations)
    for negatives in (None, 50):
        found = moved.evaluate("test", negatives=negatives).metrics()["mrr"]
        assert found > 3 * evaluate(NothingScorer(), there, "test", negatives=negatives).metrics()["mrr"]


def test_the_same_rules_with_the_same_weights(model):
    other = other_family()
    moved = model.on(other)
    assert moved.dataset is other
    assert [(r.text, r.weight) for r in moved.rules()] == [(r.text, r.weight) for r in model.rules()]
    assert moved.transfer.lines() == []
    direct = given_rules(other)
    assert moved.learned.rules == direct.rules
    head = renamed("grandpa0")
    answers = moved.predict(head, "grandparent", facts="all", known="keep")
    assert {answer.entity for answer in answers} >= {renamed("grandchild0_0"), renamed("grandchild0_1")}
    why = moved.explain(head, "grandparent", answers[0].entity, facts="all")
    assert why.is_known
    assert math.fsum(c.contribution for c in why.contributions) == pytest.approx(why.score)


def test_relations_are_matched_by_name_whatever_their_ids(model):
    other = other_family({"grandparent": "zz", "parent": "parent"})
    moved = model.on(other)
    assert moved.transfer.missing == ("grandparent",)
    assert moved.transfer.unknown == ("zz",)
    kept = [text for text in RULES if "grandparent" not in text]
    assert moved.learned.rules == RuleSet.from_text(kept, other.vocab)
    assert moved.learned.weights.tolist() == [RULES[text] for text in kept]
    assert (moved.transfer.kept, moved.transfer.dropped) == (4, 2)
    missing, unknown = moved.transfer.lines()
    assert "not in the graph: grandparent; 2 of 6 rules use them and were dropped" in missing
    assert "of the graph are new: zz" in unknown


def test_a_graph_without_any_of_the_relations_is_refused(model):
    with pytest.raises(RNNLogicError, match=r"any of its relations \(likes\)"):
        model.on([("a", "likes", "b"), ("b", "likes", "c")])


def test_an_embedding_stays_with_its_entities():
    data = family()
    config = changed(tiny_config(), {"variant": "rnnlogic-emb"})
    embedding = random_embedding(data.vocab.num_entities, data.vocab.num_relations, dim=3)
    model = RNNLogic(config).fit(data, embeddings=embedding)
    with pytest.raises(RNNLogicError, match="embedding knows only the entities that it was trained with"):
        model.on(other_family())
    with pytest.raises(
        RNNLogicError, match=r"unknown entity 'grandpa00'; did you mean 'grandpa0'.*embedding"
    ):
        model.with_facts([("grandpa00", "parent", "child0_0")])
    more = model.with_facts([("grandpa0", "parent", "child3_2")])
    assert more.explain("grandpa0", "parent", "child3_2").is_known


def test_new_facts_change_answers_at_once(model):
    names, graph = model.dataset.vocab, model.dataset.graph("train")
    elder, child = (names.entities[e[0]] for e in graph.edges(names.relation_id("parent")))
    before = model.predict(elder, "grandparent", most=100, known="keep")
    more = model.with_facts([(child, "parent", "newborn"), ("newborn", "married^-1", "new spouse")])
    after = {a.entity for a in more.predict(elder, "grandparent", most=100, known="keep")}
    assert after == {a.entity for a in before} | {"newborn"}
    assert [a.entity for a in more.predict("newborn", "married")] == ["new spouse"]
    assert model.predict(elder, "grandparent", most=100, known="keep") == before
    assert "newborn" not in names.entities
    assert more.dataset.vocab.entities[: names.num_entities] == names.entities


def test_a_held_back_fact_that_is_added_is_asked_for_no_more(model):
    names = model.dataset.vocab
    head, relation, tail = model.dataset.test[0].tolist()
    fact = names.entities[head], names.relations[relation], names.entities[tail]
    more = model.with_facts([fact, fact])
    assert len(more.dataset.test) == len(model.dataset.test) - 1
    assert len(more.dataset.train) == len(model.dataset.train) + 1
    assert more.evaluate("test").queries == model.evaluate("test").queries - 2


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        (("a", "parnet", "b"), "unknown relation 'parnet'; did you mean 'parent'"),
        (("a", "parent"), "is not a fact"),
        ("abc", "is not a fact"),
        (("a", "parent", 3), "is not a fact"),
    ],
)
def test_bad_facts_are_told(model, fact, message):
    with pytest.raises((RNNLogicError, UnknownNameError), match=message):
        model.with_facts([fact])


def test_on_the_command_line(model, tmp_path, monkeypatch, capsys):
    folder = str(model.save(tmp_path / "run"))
    graph = str(save_dataset(other_family({"married": "wed"}), tmp_path / "others"))
    moved = model.on(graph)
    options = ("--graph", graph, "--negatives", "5", "--seed", "3")
    assert run("evaluate", folder, *options, "--json", monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert told["both"]["expected"] == moved.evaluate("test", negatives=5, seed=3).metrics()
    assert told["transfer"]["missing"] == ["married"]
    assert "note: 1 relation(s) of the rules are not in the graph: married" in shown.err
    assert Run.open(folder).report("test-on-others-5-negatives")["both"] == told["both"]
    assert run("evaluate", folder, "--graph", graph, monkeypatch=monkeypatch) == 0
    assert "each ranked among all entities, known answers left out" in capsys.readouterr().out
    question = ("--head", renamed("grandpa0"), "--relation", "grandparent")
    assert run("predict", folder, "--graph", graph, *question, "--json", monkeypatch=monkeypatch) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert answers == [a.as_dict() for a in moved.predict(renamed("grandpa0"), "grandparent")]
    tail = ("--tail", renamed("grandchild0_0"))
    assert run("explain", folder, "--graph", graph, *question, *tail, monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.startswith(f"{renamed('grandpa0')} grandparent ")


def test_a_moved_model_is_saved_with_its_graph(model, tmp_path):
    moved = model.on(other_family())
    loaded = RNNLogic.load(moved.save(tmp_path / "moved"))
    assert loaded.dataset.vocab == moved.dataset.vocab
    assert loaded.evaluate("test").metrics() == moved.evaluate("test").metrics()
    assert isinstance(loaded.config, Config)
