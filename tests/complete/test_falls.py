"""What falls if facts go, and models without facts."""

import json

import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.model import RNNLogic
from tests.helpers.commands import run
from tests.helpers.family import family, given_rules, tiny_config


@pytest.fixture
def model():
    return RNNLogic()._take(family(), tiny_config(), given_rules(family()))


def names(one):
    return one.head, one.relation, one.tail


@pytest.fixture
def fallen_fact(model):
    """A proposal whose reason is a chain of two facts, and the first of these."""
    for one in model.complete(most=50, facts="train"):
        if len(one.facts) == 2 and one.probability > 0.2:
            return one
    raise AssertionError("the family has such a proposal")


def test_a_model_without_facts_does_not_know_them(model):
    data, names_of = model.dataset, model.dataset.vocab
    h, r, t = data.train[0].tolist()
    gone = names_of.entities[h], names_of.relations[r], names_of.entities[t]
    less = model.without_facts([gone])
    assert model.graph("train").has(h, r, t)
    assert not less.graph("train").has(h, r, t)
    assert not less.graph("all").has(h, r, t)
    assert len(less.dataset.train) == len(data.train) - 1
    back = less.with_facts([gone])
    assert back.graph("train").has(h, r, t)


def test_an_accepted_fact_can_be_taken_away(model):
    fact = names(next(iter(model.complete(most=1, facts="train"))))
    model.review(*fact, "accept")
    ids = model.dataset.vocab.entity_id(fact[0]), 0, model.dataset.vocab.entity_id(fact[2])
    ids = ids[0], model.dataset.vocab.relation_id(fact[1]), ids[2]
    assert model.graph("train").has(*ids)
    assert not model.without_facts([fact]).graph("train").has(*ids)


def test_what_is_not_known_cannot_be_taken_away(model):
    with pytest.raises(RNNLogicError, match="is no known fact"):
        model.without_facts([("grandpa0", "married", "grandma1")])
    with pytest.raises(RNNLogicError):
        model.without_facts(["married"])


def test_a_proposal_falls_with_its_reason(model, fallen_fact):
    gone = [fallen_fact.facts[0]]
    found = model.falls(gone, evidence="train")
    one = next((one for one in found if names(one) == names(fallen_fact)), None)
    assert one is not None
    assert one.after <= one.before - 0.05
    assert (one.reason, one.lost, one.is_accepted) == (fallen_fact.rule, tuple(gone), False)
    assert one.instead != one.reason or one.lost
    losses = [one.before - one.after for one in found]
    assert losses == sorted(losses, reverse=True)
    assert json.dumps(one.as_dict())


def test_a_threshold_keeps_what_crosses_it(model, fallen_fact):
    gone = [fallen_fact.facts[0]]
    every = {names(one): one for one in model.falls(gone, evidence="train")}
    one = every[names(fallen_fact)]
    middle = (one.before + one.after) / 2
    crossed = model.falls(gone, middle, evidence="train")
    assert names(fallen_fact) in map(names, crossed)
    assert all(one.after < middle <= one.before for one in crossed)
    assert names(fallen_fact) not in map(names, model.falls(gone, one.after, evidence="train"))


def test_accepted_facts_fall_too(model, fallen_fact):
    model.review(*names(fallen_fact), "accept")
    (one,) = [
        one
        for one in model.falls([fallen_fact.facts[0]], evidence="train")
        if names(one) == names(fallen_fact)
    ]
    assert one.is_accepted
    assert one.after < one.before


def test_on_the_command_line(model, fallen_fact, tmp_path, capsys, monkeypatch):
    model.level("train")
    folder, gone = model.save(tmp_path / "run"), tmp_path / "gone.tsv"
    gone.write_text("\t".join(fallen_fact.facts[0]) + "\n", encoding="utf-8")
    options = ["--without", str(gone), "--facts", "train"]
    assert run("falls", str(folder), *options, "--json", monkeypatch=monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    assert names(fallen_fact) in [(one["head"], one["relation"], one["tail"]) for one in found]
    assert run("falls", str(folder), *options, monkeypatch=monkeypatch) == 0
    assert fallen_fact.head in capsys.readouterr().out
    ask = ["predict", str(folder), "--head", fallen_fact.head, "--relation", fallen_fact.relation]
    ask += ["--facts", "train", "--json"]
    assert run(*ask, monkeypatch=monkeypatch) == 0
    before = json.loads(capsys.readouterr().out)["answers"]
    assert run(*ask, "--without", str(gone), monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["answers"] != before
    more = tmp_path / "more.tsv"
    more.write_text("\t".join(names(fallen_fact)) + "\n", encoding="utf-8")
    assert run(*ask, "--with", str(more), monkeypatch=monkeypatch) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert fallen_fact.tail not in [one["entity"] for one in answers]
    assert run("falls", str(folder), monkeypatch=monkeypatch) == 2
    assert "--source NAME" in capsys.readouterr().err
    missing = str(tmp_path / "none.tsv")
    assert run("falls", str(folder), "--without", missing, monkeypatch=monkeypatch) == 2
    assert "no such file" in capsys.readouterr().err
