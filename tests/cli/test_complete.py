"""`rnnlogic complete` and `RNNLogic.complete`: new facts only, best first, all or nothing on disk."""

import json

import numpy as np
import pytest

from rnnlogic.config import changed
from rnnlogic.model import RNNLogic
from tests.helpers.commands import run
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import family, tiny_config, write_family

TRAIN = ("--most", "9", "--facts", "train")


@pytest.fixture(scope="module")
def folder(family_run) -> str:
    return family_run


@pytest.fixture(scope="module")
def model(folder) -> RNNLogic:
    return RNNLogic.load(folder)


def triple(fact):
    return fact.head, fact.relation, fact.tail


def names_of(dataset, *splits):
    names = dataset.vocab
    return {
        (names.entities[h], names.relations[r], names.entities[t])
        for split in splits
        for h, r, t in dataset.facts(split).tolist()
    }


@pytest.mark.parametrize(
    ("evidence", "splits"),
    [("train", ["train"]), ("train+valid", ["train", "valid"]), ("all", ["train", "valid", "test"])],
)
def test_no_fact_of_the_evidence_is_proposed(model, evidence, splits):
    found = {triple(fact) for fact in model.complete(facts=evidence, most=10**5)}
    assert bool(found) == (evidence != "all")  # the family as a whole lacks nothing that the rules know
    assert not found & names_of(model.dataset, *splits)


def test_held_back_facts_come_first(model):
    proposals = list(model.complete(facts="train", most=100))
    held_back = names_of(model.dataset, "valid", "test")
    true = [triple(fact) in held_back for fact in proposals]
    assert len(true) >= 50
    assert sum(true[:20]) >= 19
    expected = sum(fact.probability for fact in proposals)
    assert expected == pytest.approx(sum(true), rel=0.2)


def test_a_model_with_more_facts_is_calibrated_anew(model):
    more = model.with_facts([("child0_0", "parent", "newborn")])
    assert any(fact.tail == "newborn" for fact in more.complete("grandparent"))
    assert more.calibration() is more.calibration()
    assert more.calibration() is not model.calibration()


@pytest.mark.parametrize("kind", ["tsv", "jsonl"])
def test_the_file_holds_what_the_model_says(folder, model, kind, tmp_path, monkeypatch, capsys):
    path = tmp_path / f"new.{kind}"
    arguments = ("--most", "7", "--facts", "train", "--relation", "grandparent", "--min-probability", "0.2")
    assert run("complete", folder, "-o", str(path), *arguments, monkeypatch=monkeypatch) == 0
    expected = list(model.complete("grandparent", 0.2, 7, "train"))
    assert expected
    lines = path.read_text(encoding="utf-8").splitlines()
    if kind == "jsonl":
        assert [json.loads(line) for line in lines] == [fact.as_dict() for fact in expected]
    else:
        assert [tuple(line.split("\t")[:3]) for line in lines[1:]] == [triple(fact) for fact in expected]
    out = capsys.readouterr().out
    assert f"{len(expected)} facts written to {path}" in out
    assert "calibration error" in out


def test_json_summary_with_reliability(folder, model, tmp_path, monkeypatch, capsys):
    path = tmp_path / "new.nt"
    assert run("complete", folder, "-o", str(path), *TRAIN, "--json", monkeypatch=monkeypatch) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["facts"], told["evidence"]) == (9, "train")
    assert told["calibration"] == model.level("train").as_dict()
    total = sum(fact.probability for fact in model.complete(most=9, facts="train"))
    assert told["expected_true"] == pytest.approx(total)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "new.doc"], "unknown kind of file '.doc'"),
        (["-o", "no/folder/new.tsv"], "its folder does not exist"),
        (["-o", "new.tsv", "--relation", "parnt"], "did you mean 'parent'"),
        (["-o", "new.tsv", "--relation", "parent^-1"], "ask for 'parent'"),
    ],
)
def test_mistakes_leave_no_file(folder, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run("complete", folder, *arguments, monkeypatch=monkeypatch) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_ctrl_c_leaves_no_file(folder, tmp_path, monkeypatch, capsys):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("rnnlogic.complete.reason.Reasons.of_many", interrupted)
    path = tmp_path / "new.tsv"
    assert run("complete", folder, "-o", str(path), *TRAIN, monkeypatch=monkeypatch) == 130
    assert "new.tsv was not written" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_on_another_graph(model, folder, tmp_path, monkeypatch, capsys):
    path, graph = tmp_path / "new.jsonl", tmp_path / "family.tsv"
    write_family(graph)
    options = ("-o", str(path), "--graph", str(graph), *TRAIN)
    assert run("complete", folder, *options, monkeypatch=monkeypatch) == 0
    expected = [fact.as_dict() for fact in model.on(str(graph)).complete(most=9, facts="train")]
    assert expected
    assert [json.loads(line) for line in path.read_text().splitlines()] == expected


def test_with_an_embedding_that_has_a_say_on_every_entity(tmp_path):
    data = family()
    embedding = random_embedding(data.vocab.num_entities, data.vocab.num_relations, dim=3)
    paths = {"temperature": 2.0, "etas": (0.01,)}
    config = changed(tiny_config(), {"variant": "rnnlogic-emb", "paths": paths, "em": {"rounds": 1}})
    model = RNNLogic(config).fit(data, embeddings=embedding)
    assert np.all(model.scorer.eta > 0)
    found = list(model.complete("married", facts="train", most=100))
    assert len(found) == 100
    assert {fact.rule is None for fact in found} == {True, False}
    assert all((fact.rule is None) == (fact.path is None) for fact in found)
