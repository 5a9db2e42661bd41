"""Every experiment file loads, gives valid settings, and carries published numbers with a source."""

import numpy as np
import pytest

from paper.experiment import (
    EMBEDDINGS,
    ROTATE,
    Bench,
    Setting,
    experiment_names,
    load_experiment,
    merged,
    with_share,
)
from paper.presets import embedding_preset
from paper.report import NAMES
from rnnlogic.base.errors import RNNLogicError
from tests.helpers.family import family


def test_one_file_for_each_dataset_of_the_paper():
    assert set(experiment_names()) >= {"kinship", "umls", "wn18rr", "fb15k-237"}


@pytest.mark.parametrize("name", experiment_names())
def test_experiment_files(name):
    experiment = load_experiment(name)
    assert experiment.dataset == name
    assert "ICLR 2021" in experiment.source
    assert set(experiment.published["rnnlogic"]["both"]) == {"mr", "mrr", "hits@1", "hits@3", "hits@10"}
    assert {"ours", "paper", "emb", *EMBEDDINGS} <= set(experiment.settings)
    assert {experiment.model(setting) for setting in EMBEDDINGS} == set(EMBEDDINGS)
    for setting in set(experiment.settings) - set(EMBEDDINGS):
        assert experiment.config(setting, seed=3).seed == 3
        assert experiment.model(setting) in NAMES
    assert experiment.config("paper", 0).predictor.feature == "count"
    assert experiment.config("paper", 0).em.selected == 300
    assert experiment.config("emb", 0).variant == "rnnlogic-emb"
    for setting, taken in experiment.embeddings.items():
        assert experiment.embeddings_from(setting) == taken
        assert set(taken) <= set(EMBEDDINGS)
    named = {*experiment.checkpoints, *experiment.embeddings, *experiment.rules, *experiment.notes}
    assert named <= set(experiment.settings)


def test_points_of_figures():
    assert Setting.parse("ours") == ("ours", None, 100)
    assert Setting.parse("emb@dim=50") == ("emb", 50, 100)
    assert Setting.parse("rotate@facts=20") == ("rotate", None, 20)
    for text in ("ours", "emb@dim=50", "rotate@facts=20"):
        setting = Setting.parse(text)
        assert setting.name + setting.point() == text


def test_settings_of_points():
    experiment = load_experiment("kinship")
    for name, alone in EMBEDDINGS.items():
        usual = experiment.training(name, seed=0)
        assert usual == embedding_preset("kinship", alone.model)
        changed = usual.model_copy(update={"dim": 50, "seed": 1})
        assert experiment.training(f"{name}@dim=50", seed=1) == changed
        assert experiment.training(f"{name}@facts=20", seed=0).epochs == 5 * usual.epochs
    assert experiment.rules_from("emb") is None
    assert experiment.rules_from("plus") == experiment.rules_from("emb@dim=50") == "ours"
    for setting in ("ours", "emb-authors", *EMBEDDINGS):
        assert experiment.embeddings_from(setting) == []
    assert experiment.embeddings_from("plus-emb") == ["rotate"]
    assert experiment.embeddings_from("emb@dim=50") == ["rotate@dim=50"]
    assert experiment.embeddings_from("both-evidence@facts=20") == ["rotate@facts=20", "complex-own@facts=20"]


def test_evaluations():
    experiment = load_experiment("umls")
    both = (("valid", "train"), ("test", "train"))
    assert experiment.evaluations("ours@facts=20") == (*both, ("test", "train+valid"))
    assert experiment.evaluations("emb-authors") == experiment.evaluations("ours")
    for name in ("plus", "alone-emb", "rotate@dim=50", "complex-own", "drum"):
        assert experiment.evaluations(name) == both


def test_a_larger_share_of_facts_holds_the_smaller_ones():
    dataset = family()
    shares = [with_share(dataset, share) for share in (0.2, 0.6, 1)]
    facts = [set(map(tuple, part.train.tolist())) for part in shares]
    assert facts[0] < facts[1] < facts[2]
    assert len(facts[1]) == round(0.6 * len(dataset.train))
    assert all(np.array_equal(part.test, dataset.test) for part in shares)


@pytest.mark.parametrize("text", ["ours@facts=", "ours@size=3", "rotate@dim=-1"])
def test_points_that_are_none(text):
    with pytest.raises(RNNLogicError, match=r"dim=NUMBER or facts=PERCENT"):
        Setting.parse(text)


@pytest.mark.parametrize("name", ["kinship", "umls"])
def test_the_small_size_is_cheaper_and_valid(name):
    usual, small = load_experiment(name), load_experiment(name).sized(True)
    assert small.seeds == 1 < usual.seeds
    assert small.training(ROTATE, 0).dim < 1000
    for setting in set(small.settings) - set(EMBEDDINGS):
        assert small.config(setting, 0).variant == usual.config(setting, 0).variant
    assert small.config("plus", 0).plus.epochs < usual.config("plus", 0).plus.epochs


def test_large_graphs_have_no_small_size():
    with pytest.raises(RNNLogicError, match="wn18rr: there is no small size"):
        load_experiment("wn18rr").sized(True)


def test_changes_are_merged_group_by_group():
    own = {"variant": "plus", "plus": {"epochs": 8, "dim": 4}}
    assert merged(own, {"plus": {"epochs": 1}}) == {"variant": "plus", "plus": {"epochs": 1, "dim": 4}}
    assert merged(own, {"em": {"rounds": 1}})["em"] == {"rounds": 1}
    assert own["plus"]["epochs"] == 8


def test_data_that_are_not_there(tmp_path):
    with pytest.raises(RNNLogicError, match=r"umls: there is no such folder.*authors' splits"):
        Bench(tmp_path, tmp_path).load("umls")
