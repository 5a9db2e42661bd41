"""Packaged settings: all of them can be read, and every dataset gets the right one."""

import numpy as np
import pytest

from rnnlogic.base.errors import UnknownNameError
from rnnlogic.config import load_preset, preset_for, preset_name, preset_names
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.vocab import Vocab


def dataset(name: str, facts: int) -> Dataset:
    train, none = np.zeros((facts, 3), np.int32), np.zeros((0, 3), np.int32)
    return Dataset(name, Vocab(("e",), ("r",)), train, none, none)


def test_all_can_be_read():
    assert {"umls", "kinship", "wn18rr", "fb15k-237", "small", "medium", "large"} == set(preset_names())
    for name in preset_names():
        assert load_preset(name).max_length == (5 if name == "wn18rr" else 3)


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("umls", 10, "umls"),
        ("WN18RR", 10, "wn18rr"),
        ("nations", 10, "small"),
        ("large", 10, "small"),
        ("mine", 20_000, "small"),
        ("mine", 20_001, "medium"),
        ("mine", 200_001, "large"),
    ],
)
def test_by_name_then_by_size(name, facts, expected):
    assert preset_name(dataset(name, facts)) == expected
    assert preset_for(dataset(name, facts)) == load_preset(expected)


def test_a_variant_changes_some_settings_of_the_same_name():
    plain, embedded = load_preset("kinship"), load_preset("kinship", "rnnlogic-emb")
    assert (plain.variant, embedded.variant) == ("rnnlogic", "rnnlogic-emb")
    assert embedded.em == plain.em
    assert embedded.paths != plain.paths
    assert embedded.predictor.feature == plain.predictor.feature
    assert preset_for(dataset("mine", 10), "rnnlogic-emb") == load_preset("small").model_copy(
        update={"variant": "rnnlogic-emb"}
    )
    for name in preset_names():
        assert load_preset(name, "rnnlogic-emb").max_length == load_preset(name).max_length


def test_unknown_name():
    with pytest.raises(UnknownNameError, match="unknown preset 'ulms'; did you mean 'umls'"):
        load_preset("ulms")
