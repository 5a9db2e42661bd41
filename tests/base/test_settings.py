"""Settings of any kind, flat or nested: checked, read, changed, and their mistakes named."""

from typing import ClassVar

import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.settings import (
    Settings,
    all_keys,
    changed,
    checked,
    merged,
    override,
    packaged,
    read_values,
)


class Inner(Settings):
    former: ClassVar = {"how_often": "times"}

    times: int = 1
    names: tuple[str, ...] = ()


class Middle(Settings):
    inner: Inner = Inner()
    share: float = 0.5


class Outer(Settings):
    seed: int = 0
    middle: Middle = Middle()
    most: int | None = None
    on: bool = False


KEYS = ["seed", "middle.inner.times", "middle.inner.names", "middle.share", "most", "on"]


def test_all_keys_of_all_groups():
    assert all_keys(Outer) == KEYS


def test_values_are_checked():
    made = checked(Outer, {"middle": {"inner": {"times": 3}}, "on": True})
    assert (made.middle.inner.times, made.middle.share, made.on) == (3, 0.5, True)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sed": 1}, "^here: unknown key 'sed'; did you mean seed\\?$"),
        ({"middle": {"iner": 1}}, "^here: unknown key 'middle.iner'; did you mean middle.inner.times"),
        (
            {"middle": {"inner": {"how_often": 1}}},
            "'middle.inner.how_often'; it is called middle.inner.times",
        ),
        ({"zzzzzzzzz": 1}, f"known: {', '.join(KEYS)}"),
        ({"seed": "one"}, "^here: seed: Input should be a valid integer.*, found 'one'"),
        ({"seed": True}, "^here: seed: expected a number, found True"),
        ({"middle": {"share": False}}, "^here: middle.share: expected a number, found False"),
        ({"most": True}, "^here: most: expected a number, found True"),
        ({"middle": 3}, "^here: middle: Input should be a valid dictionary.*, found 3"),
        ({"seed": {"middle": 1}}, "^here: seed: Input should be a valid integer"),
        ({1: 2}, "^here: .*1"),
        ({"seed": "a", "middle": {"share": "b"}}, "(?s)here: seed: .*\nhere: middle.share: "),
    ],
)
def test_mistakes_are_named(values, message):
    with pytest.raises(RNNLogicError, match=message):
        checked(Outer, values, "here")
    with pytest.raises(RNNLogicError, match=message):
        changed(Outer(seed=3), values, "here")


def test_changes_leave_the_rest_of_a_group():
    before = Outer(seed=3, middle=Middle(share=0.25))
    after = changed(before, {"middle": {"inner": {"names": ["a"]}}})
    assert after == Outer(seed=3, middle=Middle(share=0.25, inner=Inner(names=("a",))))
    assert before == Outer(seed=3, middle=Middle(share=0.25))


def test_merged():
    assert merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 4}, "e": 5}) == {
        "a": {"b": 4, "c": 2},
        "d": 3,
        "e": 5,
    }
    assert merged({"a": 1}, {"a": {"b": 2}}) == {"a": {"b": 2}}


def test_assignments_are_yaml():
    after = override(Outer(), ["seed=7", "middle.inner.names=[x, 'y z']", " middle.share = 1e-1", "seed=8"])
    assert after == Outer(seed=8, middle=Middle(share=0.1, inner=Inner(names=("x", "y z"))))
    assert override(Outer(), []) == Outer()
    assert override(Inner(), ["times=2"]) == Inner(times=2)
    assert override(Inner(), ["names=[a=b]"]).names == ("a=b",)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("seed", "^--set seed: expected KEY=VALUE, for example seed=VALUE$"),
        ("middle.inner.times=[", "^--set middle.inner.times=\\[: is not YAML: .*found '<stream end>'$"),
        ("seed=2020-13-01", "^--set seed=2020-13-01: is not YAML: month must be in 1..12$"),
        ("seed.x=1", "^--set seed.x: 'seed' is a value, not a group of settings$"),
        ("middle.inner.times.x=1", "'times' is a value, not a group of settings$"),
        ("midle.share=1", "^--set: unknown key 'midle'; did you mean middle.share"),
        ("middle=1", "^--set: middle: Input should be a valid dictionary"),
        ("=1", "^--set: unknown key ''; known: seed, "),
    ],
)
def test_mistakes_in_assignments(assignment, message):
    with pytest.raises(RNNLogicError, match=message):
        override(Outer(), [assignment])


def test_files(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("seed: 3\nmiddle: {share: 0.1}\n", encoding="utf-8")
    assert read_values(path) == {"seed": 3, "middle": {"share": 0.1}}
    path.write_text("# nothing yet\n", encoding="utf-8")
    assert read_values(path) == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"seed: 3\nmiddle: [\n", r"my.yaml:3: is not YAML: expected the node content"),
        (b"- seed\n", "my.yaml: expected 'key: value' lines, found list"),
        (b"\xff\xfe\x00", "my.yaml: cannot be read"),
        (None, "my.yaml: cannot be read"),
    ],
)
def test_broken_files(tmp_path, content, message):
    path = tmp_path / "my.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RNNLogicError, match=message):
        read_values(path)


def test_packaged_files():
    assert packaged("rotate")["dim"] == 200
    assert packaged("no such variant") == {}
