"""Conditions through the whole model: learned, listed, explained, saved, moved, pinned and banned."""

import pytest

import rnnlogic as rl
from rnnlogic.config import changed, preset_for
from tests.golden.defaults import SMALL
from tests.helpers.commands import run
from tests.helpers.people import people

FACTS = people(80, noise=0.05)
OLD, ELDER = "risk(X,high) <- age(X) >= 60", "elder(X,Y) <- born(X) < born(Y)"


@pytest.fixture(scope="module")
def model():
    data = rl.load_dataset(FACTS, name="people")
    config = changed(preset_for(data), SMALL | {"pinned": [OLD, ELDER], "banned": ["peer <- ..."]})
    return rl.RNNLogic(config).fit(data)


def test_conditions_are_learned_and_listed(model):
    texts = [rule.text for rule in model.rules()]
    assert {OLD, ELDER} <= set(texts)
    assert not any(text.startswith(("peer(", "peer^-1(")) and "age" in text for text in texts)
    old = next(rule for rule in model.rules("risk") if rule.text == OLD)
    assert (old.weight > 0, old.confidence > 0.5, old.lift > 1) == (True, True, True)


def test_explanations_say_the_value_and_count_the_others(model):
    vocab, values = model.dataset.vocab, model.dataset.values
    person = next(
        head
        for head, relation, tail in FACTS
        if (relation, tail) == ("risk", "high") and values[0, vocab.entity_id(head)] >= 60
    )
    told = model.explain(person, "risk", "high")
    age = values[0, vocab.entity_id(person)]
    reasons = [one for one in told.summary.reasons if one.rule == OLD]
    assert reasons
    assert f"age of {person} ({age:.0f}) is at least 60, and " in reasons[0].sentence
    assert "others whose age is at least 60 have risk high" in reasons[0].sentence
    assert told.score == pytest.approx(sum(one.contribution for one in told.contributions))
    assert OLD in told._repr_html_().replace("&gt;", ">").replace("&lt;", "<")
    first, second = next((head, tail) for head, relation, tail in FACTS if relation == "elder")
    found = model.explain(first, "elder", second)
    assert found.as_dict()["score"] == pytest.approx(found.score)


def test_a_saved_model_answers_the_same_and_moves_to_other_people(model, tmp_path):
    saved = rl.RNNLogic.load(model.save(tmp_path / "run"))
    assert saved.learned.rules == model.learned.rules
    assert saved.dataset.vocab.attributes == model.dataset.vocab.attributes
    assert [one.score for one in saved.predict("p3", "risk", known="keep")] == [
        one.score for one in model.predict("p3", "risk", known="keep")
    ]
    new = [("new", "age", "77"), ("young", "age", "21"), ("a", "risk", "high"), ("b", "risk", "low")]
    moved = model.on([*new, ("c", "risk", "high")])
    assert [one.name for one in moved.dataset.vocab.attributes] == ["age"]
    score = {
        name: {one.entity: one.score for one in moved.predict(name, "risk")} for name in ("new", "young")
    }
    assert score["new"].get("high", -9) > score["young"].get("high", -9)
    assert moved.transfer.dropped > 0  # born is not there, nor are the people that rules name
    assert "born" in moved.transfer.missing


def test_values_of_new_people_can_be_told(model):
    told = model.with_facts([("n1", "age", "77"), ("n2", "age", "21")])
    high = [{a.entity: a.score for a in told.predict(name, "risk")}.get("high", -9) for name in ("n1", "n2")]
    assert high[0] > high[1]


def test_programs_from_the_command_line(model, tmp_path, monkeypatch):
    folder, files = str(model.save(tmp_path / "run")), (tmp_path / "rules.sql", tmp_path / "facts.sql")
    told = "-o", str(files[0]), "--format", "sql", "--facts", str(files[1])
    assert not run("rules", folder, "export", *told, monkeypatch=monkeypatch)
    assert "v0.attribute = 'age'" in files[0].read_text()
    assert "INSERT INTO attributes" in files[1].read_text()
