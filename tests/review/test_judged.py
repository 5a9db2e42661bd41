"""What decisions mean for a model: its answers, its known facts, and the data of its next fit."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.annotations import Annotations
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.saving import pack_dataset, unpack_dataset
from rnnlogic.model import RNNLogic
from rnnlogic.review.decision import Decision
from rnnlogic.review.judged import reviewed
from rnnlogic.review.log import DecisionLog
from rnnlogic.runs.folder import fingerprint
from tests.helpers.family import family, given_rules, tiny_config


@pytest.fixture
def model():
    data = family()
    return RNNLogic()._take(data, tiny_config(), given_rules(data))


def first_proposal(model):
    return next(iter(model.complete(most=1, facts="train")))


def named(fact):
    return fact.head, fact.relation, fact.tail


def test_a_rejected_fact_is_gone_from_answers_and_proposals_at_once(model):
    fact = first_proposal(model)
    proposals = [named(one) for one in model.complete(most=5, facts="train")]
    model.review(*named(fact), "reject", by="ada")
    for known in ("drop", "keep"):
        there = model.predict(fact.head, fact.relation, 100, known=known)
        back = model.predict(relation=fact.relation, tail=fact.tail, most=100, known=known)
        assert fact.tail not in [one.entity for one in there]
        assert fact.head not in [one.entity for one in back]
    after = [named(one) for one in model.complete(most=4, facts="train")]
    assert after == proposals[1:]
    model.undo_review()
    assert named(first_proposal(model)) == named(fact)


def test_an_accepted_fact_is_known_at_once(model):
    fact = first_proposal(model)
    before = len(model.graph("train"))
    inverse = f"{fact.relation}^-1"
    made = model.review(fact.tail, inverse, fact.head, "accept")
    assert made.fact == named(fact)
    assert len(model.graph("train")) == before + 1
    assert len(model.dataset.graph("train")) == before
    answers = {one.entity: one.is_known for one in model.predict(fact.head, fact.relation, 100, known="keep")}
    assert answers[fact.tail]
    assert fact.tail not in [one.entity for one in model.predict(fact.head, fact.relation, 100)]
    assert named(first_proposal(model)) != named(fact)
    assert model.explain(*named(fact)).is_known
    assert pickle.loads(pickle.dumps(model)).decisions == model.decisions
    assert model.with_facts([]).decisions == model.decisions
    assert model.undo_review(*named(fact)) == made
    assert model.undo_review(*named(fact)) is None
    assert model.graph("train") is model.dataset.graph("train")


def test_other_programs_see_a_decision_at_once(model, tmp_path):
    folder = model.save(tmp_path / "run")
    assert not list(tmp_path.glob("*.jsonl"))
    one, other = RNNLogic.load(folder), RNNLogic.load(folder)
    fact = first_proposal(one)
    one.review(*named(fact), "reject")
    assert other.decisions.current()[named(fact)].run == "run"
    assert fact.tail not in [a.entity for a in other.predict(fact.head, fact.relation, 100)]
    other.save(tmp_path / "copy")
    assert RNNLogic.load(tmp_path / "copy").decisions == one.decisions


def decisions(*made):
    log = DecisionLog()
    log.extend(Decision(*fact, verdict) for verdict, *fact in made)
    return log.read()


def test_the_data_of_the_next_fit():
    facts = {
        "train": [("a", "r", "b"), ("b", "r", "c")],
        "valid": [("c", "r", "a")],
        "test": [("a", "r", "c")],
    }
    data = load_dataset([fact for part in facts.values() for fact in part], ratios=(100, 0, 0))
    ids = {
        split: np.array(
            [
                [data.vocab.entity_id(h), data.vocab.relation_id(r), data.vocab.entity_id(t)]
                for h, r, t in part
            ],
            np.int32,
        )
        for split, part in facts.items()
    }
    data = type(data)("letters", data.vocab, **ids)
    made = decisions(
        ("accept", "b", "r", "a"),
        ("accept", "c", "r", "a"),
        ("reject", "a", "r", "c"),
        ("reject", "c", "r", "c"),
        ("unsure", "b", "r", "b"),
        ("accept", "somebody", "r", "b"),
    )
    learned, notes = reviewed(data, made, "x.jsonl")
    assert (len(learned.train), len(learned.valid), len(learned.test)) == (3, 1, 0)
    assert (len(learned.accepted), len(learned.rejected)) == (2, 2)
    assert notes == [
        "x.jsonl: 1 decisions name what the graph lacks; they are not used",
        "review: 1 accepted facts added to train, 2 rejected, 1 of them taken out of the data",
    ]
    again = unpack_dataset(*pack_dataset(learned))
    assert np.array_equal(again.rejected, learned.rejected)
    assert fingerprint(again) == fingerprint(learned) != fingerprint(data)


def test_a_file_of_another_graph_is_refused():
    data = load_dataset([("a", "r", "b"), ("b", "r", "c")], ratios=(100, 0, 0))
    with pytest.raises(DataError, match=r"^x.jsonl: none of its 1 decisions is about"):
        reviewed(data, decisions(("accept", "a", "likes", "b")), "x.jsonl")


def weighted(data):
    """The family; each fact has a weight of .5, and comes from the register."""
    facts = np.concatenate([data.train, data.valid, data.test])
    told = Annotations(facts, np.full(len(facts), 0.5), np.zeros(len(facts), np.int32), (("register",),))
    return replace(data, annotations=told)


def test_weights_and_sources_are_shown_with_reasons_and_proposals():
    data = weighted(family())
    model = RNNLogic()._take(data, tiny_config(), given_rules(data))
    fact = next(one for one in model.complete(most=20, facts="train") if len(one.facts) == 2)
    assert fact.as_dict()["told"] == [{"weight": 0.5, "sources": ["register"]}] * 2
    assert fact.path.count("(.5, register)") == 2
    told = model.explain(*named(fact), facts="train")
    assert "(.5, register)" in str(told)
    assert "2 of 2 facts from register" in "\n".join(told.lines(everything=True, width=400))
    assert "(.5, register)" in told.page()
    assert told.as_dict()["reasons"][0]["told"][0]["sources"] == ["register"]
    assert told.contributions[0].count < 1
    assert "paths worth 0." in "\n".join(told.lines(everything=True))
    whole = sum(one.contribution for one in told.contributions)
    assert whole + (told.embedding or 0) == pytest.approx(told.score)
    model.review(*fact.facts[0], "accept")
    shown = "\n".join(model.explain(*named(fact), facts="train").lines(everything=True))
    assert "(register, review)" in shown


def test_a_bad_reason_loses_its_place_at_once(model):
    fact = next(one for one in model.complete(most=50, facts="train") if one.rule)
    told = model.explain(*named(fact), facts="train")
    first = told.reasons[0].rule
    model.review(*named(fact), "other-reason", rule=first.rule)
    model.review(*named(fact), "unsure")
    assert model.records.doubted == {}  # the last decision on a fact counts
    model.review(*named(fact), "other-reason", rule=first.rule)
    for other in ("nonsense(", "r(X,Y) <- nowhere(X,Y)"):
        model.review("grandpa0", "married", f"grandma{len(other) % 2}", "other-reason", rule=other)
    record = next(
        one for one in model.explain(*named(fact), facts="train").contributions if one.rule == first.rule
    ).record
    assert record.doubted == 1
    assert record.standing == record.confidence / 2
    assert record.as_dict()["doubted"] == 1


def test_without_a_rule_the_first_reason_is_the_bad_one(model):
    fact = next(one for one in model.complete(most=50, facts="train") if one.rule)
    first = model.explain(*named(fact)).reasons[0].rule.rule
    assert model.review(*named(fact), "other-reason").rule == first
