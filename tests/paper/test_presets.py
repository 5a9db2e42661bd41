"""The settings of the paper's benchmarks: whole, readable, and apart from what users get."""

import pytest

from paper.presets import embedding_preset, load_preset, preset_names
from rnnlogic.base.errors import UnknownNameError
from rnnlogic.config import changed
from rnnlogic.embeddings.settings import MODELS
from rnnlogic.predictors.table import PREDICTORS


def test_all_can_be_read():
    assert preset_names() == ["fb15k-237", "kinship", "umls", "wn18rr"]
    for name in preset_names():
        for variant in PREDICTORS:
            config = load_preset(name, variant)
            assert config.variant == variant
            assert config.max_length == (5 if name == "wn18rr" else 3)
        for model in MODELS:
            assert embedding_preset(name, model).seed == 0


@pytest.mark.parametrize("name", ["umls", "kinship"])
def test_a_variant_starts_from_the_one_it_is_like(name):
    plus, embedded = load_preset(name, "plus-emb"), load_preset(name, "rnnlogic-emb")
    assert (plus.predictor, plus.paths) == (embedded.predictor, embedded.paths)
    assert plus.predictor != load_preset(name).predictor


@pytest.mark.parametrize("name", ["wn18rr", "fb15k-237"])
def test_where_paths_are_not_scored_the_weights_are_learned_as_without_an_embedding(name):
    plus, plain = load_preset(name, "plus-emb"), load_preset(name)
    assert not plus.plus.path_scores
    assert (plus.predictor, plus.paths) == (plain.predictor, plain.paths)
    assert changed(plain, {"variant": "rnnlogic-emb"}) != load_preset(name, "rnnlogic-emb")


def test_unknown_names():
    with pytest.raises(UnknownNameError, match="unknown preset 'ulms'; did you mean 'umls'"):
        load_preset("ulms")
    with pytest.raises(UnknownNameError, match="unknown model 'rotat'; did you mean 'rotate'"):
        embedding_preset("umls", "rotat")
