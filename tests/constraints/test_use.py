"""Answers that break constraints are left out everywhere, counted, and explained."""

import json

import numpy as np
import pytest

from rnnlogic.data.dataset import load_dataset
from rnnlogic.evaluation.evaluate import evaluate
from tests.helpers.commands import run
from tests.helpers.impossible import WRONG, model_of_packages, model_with, packages


@pytest.fixture(scope="module")
def model():
    return model_of_packages()


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    model.level("train"), model.level("all")
    return str(model.save(tmp_path_factory.mktemp("constraints") / "run"))


@pytest.fixture
def shown(capsys, monkeypatch):
    def shown(*args, code=0):
        assert run(*args, monkeypatch=monkeypatch) == code
        told = capsys.readouterr()
        return told.err if code else told.out

    return shown


def test_no_second_section_is_predicted(model):
    answers = model.predict("package100", "section", facts="all")
    assert answers == []
    assert answers.left_out["functional"] > 0
    allowed = model.predict("package100", "section", facts="all", allow_violations=True)
    assert 0 < len(allowed) <= answers.left_out["functional"]
    assert allowed.left_out == {}


def test_known_answers_are_kept(model):
    asked = [(f"package{i}", "depends") for i in range(60, 90)]
    reached = 0
    for found in model.predict_many(asked, 500, facts="all", known="keep"):
        assert found.left_out["functional"] > 0  # each has its three
        assert all(one.is_known for one in found)
        reached += len(found)
    assert reached > 0


def test_complete_leaves_out_and_counts(model):
    found = model.complete(most=100_000)
    facts = list(found)
    assert facts
    assert not [one for one in facts if one.relation == "section" or one.head == one.tail]
    graph, ids = model.graph("all"), model.dataset.vocab
    depends = ids.relation_id("depends")
    assert not [one for one in facts if graph.has(ids.entity_id(one.tail), depends, ids.entity_id(one.head))]
    every = list(model.complete(most=100_000, allow_violations=True))
    assert len(every) == len(facts) + sum(found.left_out.values())
    assert {one.relation for one in every} == {"section", "depends"}


def test_the_explanation_says_why(model):
    told = model.explain("package100", "section", "section1", facts="all")
    assert told.broken == "package100 already has section: section4"
    assert told.as_dict()["breaks"] == told.broken
    assert any(
        line.startswith("against") and "already has section: section4" in line for line in told.lines()
    )
    assert "already has section: section4" in told.page()
    assert model.explain("package100", "section", "section4", facts="all").broken == ""
    itself = model.explain("package5", "depends", "package5", facts="train")  # has fewer than three there
    assert any("never joins" in line for line in itself.lines())


def test_what_would_be_an_exception_is_told_among_what_speaks_against():
    data = load_dataset([*packages(), ("package1", "section", "section5")], ratios=(100, 0, 0))
    model = model_with(WRONG, data)
    told = model.explain("package100", "section", "section1", facts="all")
    against = "package100 already has section: section4; 119 of 120 heads have one answer"
    assert (told.broken, told.doubt) == ("", against)
    assert f"against {against}" in " ".join("\n".join(told.lines()).split())
    assert model.explain("package100", "section", "section4", facts="all").doubt == ""


def test_evaluation_puts_them_last_and_says_so(model):
    with_them, without = model.evaluate(), model.evaluate(allow_violations=True)
    assert "break constraints" in with_them.protocol
    assert "break constraints" not in without.protocol
    limits = model.constraints("train")
    ids = with_them.asked
    for i, (head, relation, answer) in enumerate(ids.tolist()):
        scores = model.scorer.score(model.dataset.graph("train"), np.array([head]), np.array([relation]))[0]
        allowed = limits.allowed(head, relation, np.arange(len(scores)))
        scores = np.where(allowed, scores, -np.inf)
        others = np.ones(len(scores), bool)
        others[model.dataset.graph("all").neighbours(head, relation)] = False
        assert with_them.ranks.better[i] == np.count_nonzero(scores[others] > scores[answer])
    assert with_them.metrics()["mrr"] > without.metrics()["mrr"]


def test_scores_of_any_scorer_are_treated_alike(model):
    class Dense:
        def score(self, graph, heads, relations):
            return model.scorer.score(graph, heads, relations)

    limits = model.constraints("train")
    dense = evaluate(Dense(), model.dataset, constraints=limits)
    ours = evaluate(model.scorer, model.dataset, constraints=limits)
    assert dense.metrics() == pytest.approx(ours.metrics())


def test_types_keep_impossible_facts_out():
    """By the rule drugs would treat viruses, which none does."""
    kinds = [(f"{kind}{i}", "type", kind) for kind in ("drug", "illness", "virus") for i in range(60)]
    treats = [(f"drug{i}", "treats", f"illness{7 * i % 60}") for i in range(60)]
    near = [(f"illness{i}", "causes", f"virus{i}") for i in range(60)]
    data = load_dataset([*kinds, *treats, *near], ratios=(90, 5, 5), name="drugs")
    model = model_with({"treats(X,Y) <- treats(X,Z) & causes(Z,Y)": 1.0}, data)
    drops = [f"drop: {kind} treats{end}" for kind in ("functional", "roles") for end in ("", "^-1")]
    model = model.with_constraints(drops)
    every = list(model.complete("treats", types="off"))
    assert any(one.tail.startswith("virus") for one in every)
    found = model.complete("treats")
    assert list(found) == []
    assert found.left_out == {"types": len(every)}
    told = model.explain("drug3", "treats", "virus1", facts="all").broken
    assert told == "virus1 is of type virus, and tails of treats never are"


def test_the_setting_switches_them_off():
    model = model_of_packages()
    model._config = model.config.model_copy(
        update={"constraints": model.config.constraints.model_copy(update={"enabled": False})}
    )
    assert len(model.predict("package100", "section", facts="all"))


def test_stated_ones_travel_with_the_run(model, tmp_path):
    other = model.with_constraints(["drop: section"])
    assert len(other.predict("package100", "section", facts="all"))
    kept = type(model).load(other.save(tmp_path / "run"))
    assert kept.config.constraints.stated == ("drop: section",)
    assert len(kept.predict("package100", "section", facts="all"))
    assert model.predict("package100", "section", facts="all") == []


def test_on_the_command_line(folder, shown, tmp_path):
    asked = ("--head", "package100", "--relation", "section", "--facts", "all")
    assert "left out; --allow-violations keeps them" in shown("predict", folder, *asked)
    told = json.loads(shown("predict", folder, *asked, "--json"))
    assert told["answers"] == []
    assert told["left_out"]["functional"] > 0
    assert json.loads(shown("predict", folder, *asked, "--allow-violations", "--json"))["answers"]
    file = tmp_path / "c.yaml"
    file.write_text("drop: section\n")
    assert json.loads(shown("predict", folder, *asked, "--constraints", str(file), "--json"))["answers"]
    out = shown("complete", folder, "-o", str(tmp_path / "new.tsv"))
    assert "break constraints and were left out (" in out
    assert "\tsection\t" not in (tmp_path / "new.tsv").read_text()
    told = json.loads(shown("complete", folder, "-o", str(tmp_path / "new.tsv"), "--json"))
    assert told["left_out"]["functional"] > 0
    assert "answers that break constraints come last" in shown("evaluate", folder)
    assert "come last" not in shown("evaluate", folder, "--allow-violations")


def test_listing(shown, tmp_path):
    path = tmp_path / "packages.tsv"
    path.write_text("".join("\t".join(fact) + "\n" for fact in packages()))
    assert "section: 120 of 120 heads have one answer" in shown("data", "constraints", str(path))
    rows = json.loads(shown("data", "constraints", str(path), "--json"))
    one = next(row for row in rows if row["kind"] == "functional" and row["relation"] == "section")
    assert (one["cases"], one["exceptions"], one["excludes"], one["most"]) == (120, 0, True, 1)
    stated = tmp_path / "c.yaml"
    stated.write_text("exclusive: depends section\n")
    out = shown("data", "constraints", str(path), "--constraints", str(stated))
    assert "stated: depends and section: 474 of 474 pairs have only one of them" in out
    stated.write_text("exclusive: depends sektion\n")
    problem = shown("data", "constraints", str(path), "--constraints", str(stated), code=2)
    assert "c.yaml:1: unknown relation 'sektion'" in problem


def test_over_http_and_for_agents(folder):
    client_of = pytest.importorskip("fastapi.testclient").TestClient
    from rnnlogic.mcp.tools import Tools
    from rnnlogic.model import RNNLogic
    from rnnlogic.serve.app import make_app

    with client_of(make_app([folder]), base_url="http://127.0.0.1") as client:
        asked = {"head": "package100", "relation": "section", "evidence": "all"}
        found = client.get("/v1/predict", params=asked).json()["results"][0]
        assert found["answers"] == []
        assert found["left_out"]["functional"] > 0
        more = client.get("/v1/predict", params=asked | {"allow_violations": "true"}).json()["results"][0]
        assert more["answers"]
        facts = client.get("/v1/complete", params={"relation": "section"}).text
        assert facts == ""
        told = client.get("/v1/explain", params=asked | {"tail": "section1"}).json()
        assert told["breaks"] == "package100 already has section: section4"
    tools = Tools(RNNLogic.load(folder), facts="all")
    assert tools.predict("section", head="package100")["answers"] == []
    assert tools.explain("package100", "section", "section1")["breaks"]
