"""Every experiment file loads, gives valid settings, and carries published numbers with a source."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from .family import family

FOLDER = Path(__file__).parents[1] / "experiments"
sys.path.insert(0, str(FOLDER))

import report  # noqa: E402
from experiment import ROTATE, Setting, experiment_names, load_experiment, with_share  # noqa: E402


def test_one_file_for_each_dataset_of_the_paper():
    assert set(experiment_names()) >= {"kinship", "umls", "wn18rr", "fb15k-237"}


@pytest.mark.parametrize("name", experiment_names())
def test_experiment_files(name):
    experiment = load_experiment(name)
    assert experiment.dataset == name
    assert "ICLR 2021" in experiment.source
    assert set(experiment.published["rnnlogic"]["both"]) == {"mr", "mrr", "hits@1", "hits@3", "hits@10"}
    assert {"ours", "paper", "emb", ROTATE} <= set(experiment.settings)
    for setting in set(experiment.settings) - {ROTATE}:
        assert experiment.config(setting, seed=3).seed == 3
        assert experiment.model(setting) in report.NAMES
    assert experiment.config("paper", 0).predictor.feature == "count"
    assert experiment.config("paper", 0).em.selected == 300
    assert experiment.config("emb", 0).variant == "rnnlogic-emb"
    assert set(experiment.checkpoints) | set(experiment.rules) <= set(experiment.settings)


def test_points_of_figures():
    assert Setting.parse("ours") == ("ours", None, 100)
    assert Setting.parse("emb@dim=50") == ("emb", 50, 100)
    assert Setting.parse("rotate@facts=20") == ("rotate", None, 20)
    for text in ("ours", "emb@dim=50", "rotate@facts=20"):
        setting = Setting.parse(text)
        assert setting.name + setting.point() == text


def test_settings_of_points():
    experiment, dataset = load_experiment("kinship"), family()
    usual = experiment.rotate(ROTATE, dataset, seed=0)
    assert experiment.rotate("rotate@dim=50", dataset, seed=1) == usual.model_copy(
        update={"dim": 50, "seed": 1}
    )
    assert experiment.rotate("rotate@facts=20", dataset, seed=0).epochs == 5 * usual.epochs
    assert experiment.rules_of("emb", 0) is None
    assert experiment.rules_of("emb@dim=50", 2) == experiment.folder("ours", 2)


def test_a_larger_share_of_facts_holds_the_smaller_ones():
    dataset = family()
    shares = [with_share(dataset, share) for share in (0.2, 0.6, 1)]
    facts = [set(map(tuple, part.train.tolist())) for part in shares]
    assert facts[0] < facts[1] < facts[2]
    assert len(facts[1]) == round(0.6 * len(dataset.train))
    assert all(np.array_equal(part.test, dataset.test) for part in shares)


def test_a_report_of_run_folders(tmp_path, monkeypatch):
    metrics = {"mrr": 0.5, "mr": 2.0, "hits@1": 0.4, "hits@3": 0.6, "hits@10": 0.7}
    for seed, mrr in ((0, 0.5), (1, 0.7)):
        folder = tmp_path / "umls" / "ours" / f"seed-{seed}"
        (folder / "reports").mkdir(parents=True)
        side = {"expected": metrics | {"mrr": mrr}}
        for name in ("valid", "test", "test-train+valid"):
            text = json.dumps({"both": side, "tail": side, "seconds": 30})
            (folder / "reports" / f"{name}.json").write_text(text)
        (folder / "model.json").write_text(json.dumps({"minutes": 1.0}))
        (folder / "metrics.jsonl").write_text(json.dumps({"stage": "round", "valid_mrr": 0.61}) + "\n")
    monkeypatch.setattr(report, "RUNS", tmp_path)
    page = report.page()
    assert "| ours | 0.600 ± 0.141 | 2.0 ± 0.0 | 0.400 ± 0.000 |" in page
    assert "| *RNNLogic w/o emb., published* | 0.745 |" in page
    assert "| ours, seed 0 | 0.610 |" in page
    assert "## kinship" not in page
    assert "0.600 ± 0.141 (1.5)" in report.summary()
