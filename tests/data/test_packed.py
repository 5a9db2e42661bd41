"""A dataset as values and arrays, and what is refused on the way back."""

import json

import numpy as np
import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.saving import facts_by_split, pack_dataset, unpack_dataset
from tests.helpers.family import family


def packed() -> tuple[dict, dict]:
    names, arrays = pack_dataset(family())
    return json.loads(json.dumps(names)), arrays


def test_a_dataset_comes_back_through_json():
    dataset, back = family(), unpack_dataset(*packed())
    assert isinstance(back, Dataset)
    assert (back.name, back.source, back.report) == (dataset.name, dataset.source, dataset.report)
    assert back.vocab == dataset.vocab
    for split, facts in facts_by_split(dataset).items():
        np.testing.assert_array_equal(back.facts(split), facts)


@pytest.mark.parametrize("key", ["name", "source", "entities", "relation_labels", "cleaning"])
def test_a_missing_part_is_named(key):
    names, arrays = packed()
    del names[key]
    with pytest.raises(DataError, match=f"'{key}' is missing"):
        unpack_dataset(names, arrays)


def test_a_missing_split_or_an_unknown_figure_is_named():
    names, arrays = packed()
    with pytest.raises(DataError, match="'valid' is missing"):
        unpack_dataset(names, {name: array for name, array in arrays.items() if name != "valid"})
    names["cleaning"]["typo"] = 1
    with pytest.raises(DataError, match="typo"):
        unpack_dataset(names, arrays)


@pytest.mark.parametrize("fact", [(-1, 0, 0), (0, 3, 0), (0, 0, 10**6), (10**6, 0, 0)])
def test_ids_without_a_name_are_refused(fact):
    names, arrays = packed()
    with pytest.raises(DataError, match="test facts have ids without a name"):
        unpack_dataset(names, arrays | {"test": np.array([fact], np.int32)})


@pytest.mark.parametrize("facts", [np.zeros((1, 3)), np.zeros((1, 2), np.int32), np.zeros(3, np.int32)])
def test_arrays_of_another_kind_are_refused(facts):
    names, arrays = packed()
    with pytest.raises(DataError, match=r"train facts are .* not int32 \[n, 3\]"):
        unpack_dataset(names, arrays | {"train": facts})
