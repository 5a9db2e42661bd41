"""`rnnlogic diff`: what changed from one run to another."""

import json

import numpy as np
import pytest

from rnnlogic.complete.complete import NewFact
from rnnlogic.complete.difference import difference
from rnnlogic.fit.result import Learned
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.commands import run
from tests.helpers.family import RULES, family, given_rules, tiny_config


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two runs; the second has one rule less, and another weight."""
    data, base = family(), tmp_path_factory.mktemp("diff")
    whole = given_rules(data)
    texts, weights = list(RULES), np.array(list(RULES.values()), float)
    weights[1] += 0.5
    scorer = RuleScorer(RuleSet.from_text(texts[1:], data.vocab), weights[1:], "log1p")
    fewer = Learned(scorer, *(figure[1:] for figure in (whole.log_prior, whole.support, whole.confidence)))
    saved = []
    for name, learned in (("a", whole), ("b", fewer)):
        saved.append(str(RNNLogic()._take(data, tiny_config(), learned).save(base / name)))
    return saved


def test_rules_that_went_and_changed(folders, capsys, monkeypatch, tmp_path):
    page = tmp_path / "diff.html"
    assert run("diff", *folders, "--most", "0", "--json", "--html", str(page), monkeypatch=monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)["rules"]
    assert (len(found["went"]), len(found["came"]), len(found["changed"])) == (1, 0, 1)
    before, after = (found["changed"][0][when]["weight"] for when in ("before", "after"))
    assert after - before == pytest.approx(0.5)
    assert "Rules that went: 1" in page.read_text(encoding="utf-8")
    assert run("diff", *folders[::-1], "--most", "5", "--facts", "train", monkeypatch=monkeypatch) == 0
    told = capsys.readouterr().out
    assert "Rules that came: 1" in told
    assert "Proposals that went" in told


def test_proposals_that_changed():
    def fact(tail, probability):
        return NewFact("a", "r", tail, probability, None, None, ())

    found = difference(
        ([], []), ([fact("b", 0.9), fact("c", 0.5), fact("d", 0.4)], [fact("c", 0.8), fact("d", 0.41)])
    )
    assert [one.tail for one in found.proposals.went] == ["b"]
    assert not found.proposals.came
    assert [(a.probability, b.probability) for a, b in found.proposals.changed] == [(0.5, 0.8)]
    assert found.card("A", "B", 1).sections[-1].table.rows == (("a", "r", "c", 0.5, 0.8),)
