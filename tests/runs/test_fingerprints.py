"""A fit resumes only with the same data, settings and rules."""

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.config import make_config
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.runs.folder import (
    Run,
    fingerprint,
    fingerprint_of_rules,
    fingerprint_of_settings,
    first_difference,
)
from tests.helpers.family import family


def with_train(dataset: Dataset, train: np.ndarray) -> Dataset:
    return Dataset(dataset.name, dataset.vocab, train, dataset.valid, dataset.test)


def test_a_single_other_fact_is_seen(run):
    dataset = family()
    train = dataset.train.copy()
    train[0, 2] = (train[0, 2] + 1) % dataset.vocab.num_entities
    with pytest.raises(RNNLogicError, match=r"other data \(train: "):
        Run.start(run.folder, with_train(dataset, train), run.config())


def test_the_order_of_memory_does_not_matter():
    dataset = family()
    assert fingerprint(with_train(dataset, np.asfortranarray(dataset.train))) == fingerprint(dataset)


def test_the_seeded_split_is_part_of_the_data():
    facts = [(f"e{i}", "r", f"e{j}") for i in range(8) for j in range(8)]
    one, other = (fingerprint(load_dataset(facts, seed=seed)) for seed in (0, 1))
    assert first_difference(one, one) is None
    assert first_difference(one, other).key in ("train", "valid", "test")


def test_threads_change_no_result():
    one, other = (fingerprint_of_settings(make_config({"threads": threads})) for threads in (1, 2))
    assert one == other
    changed = fingerprint_of_settings(make_config({"em": {"rounds": 7}}))
    assert first_difference(one, changed) == ("em.rounds", one["em.rounds"], 7)


def test_keys_on_one_side_only_are_differences():
    assert first_difference({"a": 1, "b": 2}, {"a": 1}) == ("b", 2, None)
    assert first_difference({}, {"a": 1}) == ("a", None, 1)


def test_given_rules_are_told_apart():
    texts = ["", "a <- b\n", "a <- c\n"]
    assert len({fingerprint_of_rules(text)["given"] for text in texts}) == 3
