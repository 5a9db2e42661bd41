"""Settings of embeddings: the default ones can be read, mistakes are named."""

import pytest

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.embeddings.settings import ComplExSettings, RotatESettings, default_settings, override


def test_there_are_default_settings_of_every_model():
    assert isinstance(default_settings(), RotatESettings)
    assert isinstance(default_settings("complex"), ComplExSettings)
    with pytest.raises(UnknownNameError, match="did you mean 'rotate'"):
        default_settings("rotat")


def test_changes():
    changed = override(default_settings(), ["epochs=3", "margin=2.5"])
    assert (changed.epochs, changed.margin) == (3.0, 2.5)
    assert changed.dim == default_settings().dim


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("epoch=3", "unknown key 'epoch'; did you mean epochs"),
        ("epochs", "expected KEY=VALUE"),
        ("epochs=-1", "--set: epochs: .*greater than 0, found -1"),
        ("margin=[", "is not YAML"),
    ],
)
def test_mistakes_are_named(change, message):
    with pytest.raises(RNNLogicError, match=message):
        override(RotatESettings(), [change])
