"""`rnnlogic compare`: runs, embeddings and kept ranks; what is shown, and what is refused."""

import json
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli import app, main
from rnnlogic.data.dataset import load_dataset
from rnnlogic.embeddings.files import save_embedding
from rnnlogic.evaluation.compare import compare
from rnnlogic.evaluation.evaluate import FrequencyScorer, evaluate
from rnnlogic.evaluation.report import save_ranks
from rnnlogic.fit.result import FIGURES, Learned
from rnnlogic.model import RNNLogic
from rnnlogic.runs.compare import compare_runs
from rnnlogic.runs.files import ranks_path
from rnnlogic.runs.folder import Run, fingerprint
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import family, family_facts, given_rules, tiny_config


@pytest.fixture
def runs(tmp_path):
    """A finished run, and one of a single rule on the same data under another name."""
    full = given_rules(family())
    few = Learned(
        replace(full.predictor, rules=full.rules[:1], weights=full.weights[:1]),
        *(getattr(full, name)[:1] for name in FIGURES),
    )
    for name, learned in (("full", full), ("few", few)):
        Run.create(tmp_path / name, family(name), tiny_config()).finish(learned)
    return str(tmp_path / "full"), str(tmp_path / "few")


def test_table(runs):
    shown = CliRunner().invoke(app, ["compare", *runs, "--samples", "50"]).stdout.splitlines()
    assert shown[0] == f"A: {runs[0]}"
    assert "facts, 50 bootstrap samples, 95 % intervals" in " ".join(shown[2:4])
    assert shown[4].split() == ["metric", "A", "B", "A", "-", "B", "from", "to", "p"]
    assert [line.split()[0] for line in shown[5:8]] == ["mrr", "hits@1", "hits@10"]
    assert shown[8].startswith("queries: A wins ")
    assert {line.split()[0] for line in shown[11:]} == {"parent", "married", "grandparent"}


def test_json_is_the_comparison_of_the_evaluations(runs):
    arguments = ["compare", *runs, "--json", "--split", "valid", "--samples", "50", "--seed", "3"]
    found = json.loads(CliRunner().invoke(app, arguments).stdout)
    reports = [RNNLogic.load(run).evaluate("valid") for run in runs]
    expected = json.loads(json.dumps(compare(*reports, samples=50, seed=3).as_dict()))
    assert found == {"a": runs[0], "b": runs[1], **expected}
    assert found["metrics"][0]["difference"] != 0


def test_an_embedding_and_kept_ranks_are_runs_too(runs, tmp_path):
    dataset = family()
    embedding = random_embedding(dataset.vocab.num_entities, dataset.vocab.num_relations)
    save_embedding(tmp_path / "emb", embedding, dataset.vocab, {})
    assert compare_runs(runs[0], tmp_path / "emb", samples=5).queries == 2 * len(dataset.test)
    report = evaluate(FrequencyScorer(), dataset, "test")
    save_ranks(ranks_path(tmp_path / "frequency", "test"), report, fingerprint(dataset))
    found = compare_runs(tmp_path / "frequency", runs[0], samples=5)
    assert found.metrics[0].a == pytest.approx(report.metrics()["mrr"])
    with pytest.raises(RNNLogicError, match="an embedding has no facts to evaluate"):
        compare_runs(tmp_path / "emb", tmp_path / "frequency")


def test_other_data_and_other_folders_are_refused(runs, tmp_path, monkeypatch, capsys):
    other = load_dataset(family_facts(), ratios=(60, 20, 20), seed=1)
    Run.create(tmp_path / "other", other, tiny_config()).finish(given_rules(other))
    with pytest.raises(RNNLogicError, match=r"than the run it is compared with \((train|valid|test):"):
        compare_runs(runs[0], tmp_path / "other")
    monkeypatch.setattr(sys, "argv", ["rnnlogic", "compare", runs[0], str(tmp_path)])
    with pytest.raises(SystemExit):
        main()
    assert "is neither a run nor an embedding, and has no ranks of test facts" in capsys.readouterr().err
