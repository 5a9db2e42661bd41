"""Every experiment file loads, gives valid settings, and carries published numbers with a source."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "experiments"
sys.path.insert(0, str(FOLDER))

from experiment import ROTATE, experiment_names, load_experiment  # noqa: E402


def test_one_file_for_each_dataset_of_the_paper():
    assert set(experiment_names()) >= {"kinship", "umls", "wn18rr", "fb15k-237"}


@pytest.mark.parametrize("name", experiment_names())
def test_experiment_files(name):
    experiment = load_experiment(name)
    assert experiment.dataset == name
    assert "ICLR 2021" in experiment.source
    assert set(experiment.published["rnnlogic"]["both"]) == {"mr", "mrr", "hits@1", "hits@3", "hits@10"}
    assert {"ours", "paper"} <= set(experiment.settings)
    for setting in set(experiment.settings) - {ROTATE}:
        assert experiment.config(setting, seed=3).seed == 3
    assert experiment.config("paper", 0).predictor.feature == "count"
    assert experiment.config("paper", 0).em.selected == 300
