"""`rnnlogic fit --variant plus` on the rules of another run, and what can be done with it."""

import json

import pytest
from typer.testing import CliRunner

from rnnlogic.cli import app
from rnnlogic.predictors.plus.predictor import PlusScorer
from rnnlogic.runs.folder import Run
from tests.helpers.family import RULES, write_family

QUICK = ["--set", "plus.epochs=2", "--set", "plus.dim=4", "--set", "plus.hidden=4", "--json"]


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of plus on the rules of a file, and one of it on the rules of the first."""
    folder = tmp_path_factory.mktemp("plus")
    data = write_family(folder / "family.tsv")
    (folder / "rules.txt").write_text("\n".join(RULES), encoding="utf-8")
    found = []
    for name, source in (("first", "rules.txt"), ("second", "first")):
        run = str(folder / name)
        told = invoke("fit", data, "-o", run, "--variant", "plus", "--rules", str(folder / source), *QUICK)
        found.append((run, json.loads(told)))
    return found


def test_only_the_given_rules_take_part(runs):
    for run, told in runs:
        assert told["rules"] == len(RULES)
        assert told["valid"]["mrr"] > 0.3
        assert Run.open(run).config().generate is False
        assert isinstance(Run.open(run).learned().predictor, PlusScorer)


def test_all_commands_work(runs):
    run = runs[1][0]
    asked = ["--head", "grandpa0", "--relation", "grandparent"]
    best = json.loads(invoke("predict", run, *asked, "--known", "keep", "--json"))
    assert "grandchild" in best["answers"][0]["entity"]
    told = invoke("explain", run, *asked, "--tail", best["answers"][0]["entity"])
    assert "the score minus the score without it" in told
    plain = json.loads(invoke("explain", run, *asked, "--tail", best["answers"][0]["entity"], "--json"))
    assert plain["contributions"] == "leave-one-out"
    assert "grandparent" in invoke("rules", run)
    assert "mrr" in invoke("evaluate", run, "--split", "valid").lower()
