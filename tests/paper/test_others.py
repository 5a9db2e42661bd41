"""Published numbers of other methods, and what running them leaves behind."""

import json

import pytest

from paper import others
from paper.baselines.pykeen_models import RECIPES, Trained
from paper.experiment import (
    EMBEDDINGS,
    OTHERS,
    PYKEEN,
    experiment_names,
    load_experiment,
)
from paper.published import load_published
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import silent
from rnnlogic.evaluation.evaluate import FrequencyScorer
from rnnlogic.runs.compare import compare_runs
from tests.helpers.family import family


def test_published_numbers_of_other_methods():
    published = load_published()
    assert "ICLR 2021" in published.source
    assert set(published.results) == set(published.tables) == set(experiment_names())
    shown = set()
    for sides in published.results.values():
        for methods in sides.values():
            for method, values in methods.items():
                shown.add(method)
                assert values["from"] in ("quoted", "rerun", "run", "its own")
                numbers = {name: value for name, value in values.items() if name != "from"}
                assert {"mrr"} <= set(numbers) <= {"mr", "mrr", "hits@1", "hits@3", "hits@10"}
                hits = [numbers[name] for name in ("hits@1", "mrr", "hits@10") if name in numbers]
                assert hits == sorted(hits)
                assert 0 < hits[0] < hits[-1] < 1
    assert shown == set(published.methods)
    runnable = {method.ours for method in published.methods.values() if method.ours is not None}
    assert runnable <= set(others.MODELS)


def test_embeddings_are_published_alike_in_both_files():
    for name, sides in load_published().results.items():
        for setting, alone in EMBEDDINGS.items():
            stated = sides["both"][alone.published].items()
            numbers = {key: value for key, value in stated if key != "from"}
            assert numbers == load_experiment(name).published[setting]["both"]


def test_the_first_code_is_published_as_the_paper():
    for name, sides in load_published().results.items():
        stated = {key: value for key, value in sides["both"].get("first-code", {}).items() if key != "from"}
        assert stated in ({}, load_experiment(name).published["rnnlogic"]["both"])


def test_a_baseline_leaves_what_report_and_compare_read(tmp_path, monkeypatch):
    made = []

    def make(job):
        made.append(job.seed)
        return FrequencyScorer(), {"settings": {"x": 1}}

    monkeypatch.setitem(others.MODELS, "drum", make)
    job = others.Job(family(), "drum", 3, tmp_path / "drum" / "seed-3", silent)
    folder = others.run_job(job)
    assert others.run_job(job) == folder
    assert made == [3]  # a finished one stays
    about = json.loads((folder / "model.json").read_text())
    assert (about["model"], about["seed"], about["settings"]) == ("drum", 3, {"x": 1})
    assert about["minutes"] >= 0
    reports = [json.loads((folder / "reports" / f"{split}.json").read_text()) for split in ("valid", "test")]
    assert [report["split"] for report in reports] == ["valid", "test"]
    assert compare_runs(folder, folder, samples=5).metrics[0].a == reports[1]["both"]["expected"]["mrr"]


def test_settings_are_chosen_once_and_a_stopped_choice_goes_on(tmp_path, monkeypatch):
    grid, trained = others.grid_of("tucker"), []
    quality = [0.1, 0.5, 0.9, 0.3]

    def train(name, dataset, settings, seed, *more):
        trained.append((grid.index(settings), seed))
        if len(trained) == 3:
            raise KeyboardInterrupt
        return Trained(FrequencyScorer(), settings, 20, quality[grid.index(settings)], 1.5)

    monkeypatch.setattr(others, "train_pykeen", train)
    jobs = [
        others.Job(family(), "tucker", seed, tmp_path / "tucker" / f"seed-{seed}", silent) for seed in (0, 1)
    ]
    with pytest.raises(KeyboardInterrupt):
        others.run_job(jobs[0])
    assert not (tmp_path / "tucker" / "chosen.json").exists()
    tried = tmp_path / "tucker" / "tried.json"
    outcomes = json.loads(tried.read_text())["tried"]
    of_another_grid = {"settings": {"learning_rate": 1}, "valid_mrr": 1.0, "minutes": 9.0}
    tried.write_text(json.dumps({"tried": [of_another_grid, *outcomes]}))
    for job in jobs:
        about = json.loads((others.run_job(job) / "model.json").read_text())
        assert about["settings"] == grid[2]
    assert trained == [(0, 0), (1, 0), (2, 0), (2, 0), (3, 0), (2, 0), (2, 1)]
    assert json.loads((tmp_path / "tucker" / "chosen.json").read_text())["minutes_of_choice"] == 6.0


def test_the_small_size_takes_the_first_settings(tmp_path, monkeypatch):
    trained = []

    def train(name, dataset, settings, seed, show, epochs):
        trained.append((settings, epochs))
        return Trained(FrequencyScorer(), settings, 20, 0.5, 1.5)

    monkeypatch.setattr(others, "train_pykeen", train)
    others.run_job(others.Job(family(), "tucker", 0, tmp_path / "tucker" / "seed-0", silent, is_small=True))
    assert trained == [(others.grid_of("tucker")[0], others.SMALL_EPOCHS["pykeen"])]
    assert not (tmp_path / "tucker" / "chosen.json").exists()


def test_the_models_that_experiment_files_name():
    for name in experiment_names():
        assert set(load_experiment(name).baselines) <= set(others.MODELS)
    assert set(OTHERS) == set(others.MODELS)
    assert set(PYKEEN) == set(RECIPES)


def test_anyburl_needs_its_rules(tmp_path):
    with pytest.raises(RNNLogicError, match="anyburl needs --anyburl FILE"):
        others.run_job(others.Job(family(), "anyburl", 0, tmp_path / "anyburl" / "seed-0", silent))
