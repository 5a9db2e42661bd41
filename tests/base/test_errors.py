"""Unknown names come with the nearest spellings, in vocabularies of any size."""

import difflib
import random

import pytest

from rnnlogic.base.errors import COMPARED, DataError, UnknownNameError, nearest_spellings

ENTITIES = [f"entity{i}" for i in range(50_000)]
IRIS = [f"http://www.example.org/resource/{word}" for word in ENTITIES]


def similarity(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, b, a).ratio()


def misspelt(name: str, rng: random.Random) -> str:
    """The name with a letter lost, swapped with the next or replaced."""
    i = rng.randrange(len(name) - 1)
    swapped = name[:i] + name[i + 1] + name[i] + name[i + 2 :]
    return rng.choice([name[:i] + name[i + 1 :], swapped, f"{name[:i]}?{name[i + 1 :]}"])


@pytest.mark.parametrize("known", [ENTITIES, IRIS], ids=["short", "long"])
def test_among_many_names_none_is_nearer_than_those_suggested(known):
    rng = random.Random(0)
    for _ in range(10):
        right = rng.choice(known)
        wrong = misspelt(right, rng)
        near = nearest_spellings(wrong, known)
        assert len(known) > COMPARED
        assert len(near) == 3
        assert right in near or similarity(right, wrong) <= min(similarity(n, wrong) for n in near)


def test_few_names_are_compared_letter_by_letter():
    rng = random.Random(0)
    known = ["".join(rng.choices("abc", k=rng.randint(0, 8))) for _ in range(COMPARED)]
    for name in ("", "a", "abcabc", "ccc", "zzz"):
        assert nearest_spellings(name, known) == difflib.get_close_matches(name, dict.fromkeys(known), 3, 0.5)


def test_short_names_among_many():
    assert nearest_spellings("y5", [*ENTITIES, "5y", "y", "y6"]) == ["y", "y6", "5y"]


def test_a_name_is_suggested_once():
    assert nearest_spellings("freind", ["friend", "friend"]) == ["friend"]


def test_messages():
    assert str(UnknownNameError("relation", "freind", ["friend"])) == (
        "unknown relation 'freind'; did you mean 'friend'?"
    )
    assert str(UnknownNameError("relation", "zzz", ["friend"])) == "unknown relation 'zzz'"
    assert str(DataError("bad", "a.txt", 3)) == "a.txt:3: bad"
    assert str(DataError("bad", "a.txt")) == "a.txt: bad"
    assert str(DataError("bad")) == "bad"
