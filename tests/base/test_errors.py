"""Unknown names come with the nearest spellings, in vocabularies of any size."""

import random

import pytest

from rnnlogic.base.errors import DataError, UnknownNameError, nearest_spellings

ENTITIES = [f"entity{i}" for i in range(50_000)]
IRIS = [f"http://www.example.org/resource/{word}" for word in ENTITIES]


def similarity(a: str, b: str) -> float:
    """2 * length of the longest common subsequence / length of both; 1 for two empty names."""
    row = [0] * (len(b) + 1)
    for x in a:
        above, row = row, [0]
        for j, y in enumerate(b):
            row.append(above[j] + 1 if x == y else max(row[j], above[j + 1]))
    return 2 * row[-1] / (len(a) + len(b)) if a or b else 1.0


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
        assert len(near) == 3
        assert right in near or similarity(right, wrong) <= min(similarity(n, wrong) for n in near)


def test_names_are_compared_letter_by_letter():
    rng = random.Random(0)
    known = list({"".join(rng.choices("abc", k=rng.randint(0, 8))): None for _ in range(500)})
    for name in ("", "a", "abcabc", "ccc", "zzz"):
        near = nearest_spellings(name, known)
        best = sorted((similarity(other, name) for other in known), reverse=True)[:3]
        assert [similarity(other, name) for other in near] == [score for score in best if score >= 0.5]


def test_short_names_among_many():
    near = nearest_spellings("y5", [*ENTITIES, "5y", "y", "y6"])
    assert near == ["y", "5y", "y6"]  # ties in the order given


def test_a_name_is_suggested_once():
    assert nearest_spellings("freind", ["friend", "friend"]) == ["friend"]
    twice = ["friends", "friend", "fiend"] * 2  # as names that are labels too
    assert set(nearest_spellings("freind", twice)) == set(twice)


def test_messages():
    assert str(UnknownNameError("relation", "freind", ["friend"])) == (
        "unknown relation 'freind'; did you mean 'friend'?"
    )
    assert str(UnknownNameError("relation", "zzz", ["friend"])) == "unknown relation 'zzz'"
    assert str(DataError("bad", "a.txt", 3)) == "a.txt:3: bad"
    assert str(DataError("bad", "a.txt")) == "a.txt: bad"
    assert str(DataError("bad")) == "bad"
