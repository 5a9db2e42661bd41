"""Search: every kind of match, in its order, also among names that hurt."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.serve.search import NameIndex

NAMES = ["amino_acid", "acid", "Acidosis", "placid", "anemia", "Q42", "antibiotic", "ACID rain"]
LABELS = [*NAMES[:5], "Douglas Adams", *NAMES[6:]]


@pytest.fixture
def index() -> NameIndex:
    return NameIndex(NAMES, LABELS, np.array([1, 1, 9, 1, 1, 1, 1, 5]))


def names(index, query, limit=10):
    return [NAMES[one.id] for one in index.find(query, limit)]


def test_equal_then_beginning_then_word_then_part(index):
    assert names(index, "acid") == ["acid", "Acidosis", "ACID rain", "amino_acid", "placid"]
    assert names(index, "acid", 2) == ["acid", "Acidosis"]


def test_misspelt_and_by_label(index):
    assert names(index, "antibotic")[0] == "antibiotic"
    assert names(index, "anaemia")[0] == "anemia"
    assert names(index, "douglas") == ["Q42"]
    assert names(index, "ADAMS") == ["Q42"]


def test_nothing(index):
    assert names(index, "") == []
    assert names(index, "   ") == []
    assert names(index, "xyzzy") == []
    assert NameIndex([], [], np.empty(0, int)).find("x", 3) == []


@settings(max_examples=20)
@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=20, unique=True), st.data())
def test_every_name_is_found_by_itself_and_by_its_parts(texts, data):
    index = NameIndex(texts, texts, np.ones(len(texts), int))
    wanted = data.draw(st.sampled_from(texts))
    assert not index.is_unknown(wanted)
    folded = " ".join(wanted.casefold().split())
    if folded and folded == wanted.casefold():
        assert texts.index(wanted) in [one.id for one in index.find(wanted, len(texts))]
        if len(folded) >= 5:
            assert texts.index(wanted) in [one.id for one in index.find(folded[1:], len(texts))]


def test_the_best_of_many_are_found():
    draw = random.Random(0)
    texts = [f"{draw.choice('abcdef')}{draw.choice('xyz')}{i:05d}" for i in range(20_000)]
    index = NameIndex(texts, texts, np.arange(20_000))
    (first, *_) = index.find(texts[777][1:], 5)
    assert texts[777][1:] in texts[first.id]
    heaviest = [i for i in range(20_000) if texts[i].startswith("ax")][-3:][::-1]
    assert [one.id for one in index.find("ax", 3)] == heaviest
