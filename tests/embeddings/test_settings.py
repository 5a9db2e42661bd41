"""Settings of RotatE: packaged ones can be read, mistakes are named."""

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.settings import RotatESettings, override, packaged, settings_for


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [("umls", 5, "umls"), ("WN18RR", 5, "wn18rr"), ("mine", 20_000, "small"), ("mine", 200_001, "large")],
)
def test_by_name_then_by_size(name, facts, expected):
    none = np.zeros((0, 3), np.int32)
    dataset = Dataset(name, Vocab(("e",), ("r",)), np.zeros((facts, 3), np.int32), none, none)
    assert settings_for(dataset) == packaged(expected)


def test_all_packaged_ones_can_be_read():
    names = ("fb15k-237", "wn18rr", "kinship", "umls", "small", "medium", "large")
    assert {packaged(name).seed for name in names} == {0}
    with pytest.raises(UnknownNameError, match="did you mean 'umls'"):
        packaged("ulms")


def test_changes():
    changed = override(packaged("umls"), ["epochs=3", "patience=null", "schedule=step"])
    assert (changed.epochs, changed.patience, changed.schedule) == (3.0, None, "step")
    assert changed.margin == packaged("umls").margin


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("epoch=3", "unknown key 'epoch'; did you mean epochs"),
        ("epochs", "expected KEY=VALUE"),
        ("epochs=-1", "--set: epochs: .*greater than 0, found -1"),
        ("schedule=[", "is not YAML"),
    ],
)
def test_mistakes_are_named(change, message):
    with pytest.raises(RNNLogicError, match=message):
        override(RotatESettings(), [change])
