"""Rules with conditions: text, mirror images, arrays, patterns."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RuleError
from rnnlogic.data.attributes import Attribute
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.sentences import rule_sentence
from rnnlogic.rules.conditions import Condition, Interval, after
from rnnlogic.rules.parse import parse_pattern, parse_rule
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Chain, Constant, Feature, format_rule, mirrored
from rnnlogic.rules.ruleset import RuleSet, attributes_by_name, pack_rules, unpack_rules

ATTRIBUTES = (Attribute("age", "number"), Attribute("born", "date"), Attribute("seen at", "time"))
VOCAB = Vocab(("high", "X"), ("risk", "elder"), attributes=ATTRIBUTES)
TEXTS = [
    ("risk(X,high) <- age(X) >= 60", "age of X is at least 60 and Y is high"),
    ("risk(X,high) <- 30 < age(X) <= 60.5", "age of X is more than 30 and at most 60.5 and Y is high"),
    ("risk(X,high) <- age(X) = 7", "age of X is 7 and Y is high"),
    ("risk(high,Y) <- born(Y) < 1990-01-31", "born of Y is below 1990-01-31 and X is high"),
    ('risk("X",Y) <- "seen at"(Y) >= 1990-01-31T00:01:00Z', None),
    ("elder(X,Y) <- born(X) < born(Y)", "born of X is below born of Y"),
    ("elder(X,Y) <- born(X) >= born(Y)", "born of X is at least born of Y"),
    ("elder(X,Y) <- |age(X) - age(Y)| <= 2", "age of X and age of Y differ by at most 2"),
    ("elder(X,Y) <- |born(X) - born(Y)| < 30", "born of X and born of Y differ by less than 30 days"),
    ("elder(X,Y) <- 2 <= age(Y) - age(X) < 7", "age of Y minus age of X is at least 2 and below 7"),
]
numbers = st.one_of(st.just(math.inf), st.floats(-1e9, 1e9), st.integers(-99, 99).map(float))


@pytest.mark.parametrize(("text", "words"), TEXTS)
def test_text_and_words(text, words):
    rule = parse_rule(text, VOCAB)
    assert format_rule(rule, VOCAB) == text
    assert words is None or rule_sentence(rule, VOCAB) == words
    turned = mirrored(rule, 2)
    assert turned.head == rule.head + 2
    assert mirrored(turned, 2) == rule
    assert parse_rule(format_rule(turned, VOCAB), VOCAB) == turned


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("risk(X,high) <- 60 <= age(X)", "risk(X,high) <- age(X) >= 60"),
        ("risk(A,high) <- age(A) ≥ 60 # old", "risk(X,high) <- age(X) >= 60"),
        ("elder(X,Y) <- born(Y) > born(X)", "elder(X,Y) <- born(X) < born(Y)"),
        ("elder(X,Y) <- age(X) - age(Y) > 7", "elder(X,Y) <- age(Y) - age(X) < -7"),
        ("elder(X,Y) <- |age(Y) - age(X)| <= 2", "elder(X,Y) <- |age(X) - age(Y)| <= 2"),
    ],
)
def test_other_ways_to_write_the_same(text, same):
    assert parse_rule(text, VOCAB) == parse_rule(same, VOCAB)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("risk(X,high) <- age(X) >= x", "column 27: expected a number, found 'x'"),
        ("risk(X,high) <- born(X) >= 1990-02-30", "expected a date such as"),
        ("risk <- age >= 60", "needs its variables"),
        ("risk(X,high) <- age(Y) >= 60", "expected a variable of the head"),
        ("risk(X,Y) <- age(X) >= 60", "expected risk"),
        ("risk(X,high) <- age(X) < age(Y)", "expected a variable of the head"),
        ("risk(X,Y) <- age(X) < born(Y)", "a date cannot be compared with a number"),
        ("risk(X,Y) <- age(X) - age(X) < 3", "expected to compare"),
        ("risk(X,high) <- 5 < age(X) < 3", "no number lies within these bounds"),
        ("risk(X,high) <- height(X) > 3", "unknown attribute 'height'"),
        ("risk(X,high) <- 3 < 4", "expected a condition such as"),
        ("risk(X,high) <- 3 < age(X) > age(X)", "expected one attribute between its bounds"),
        ("risk(X,high) <- age(X) > 3 & risk(X,high)", "end of the rule"),
    ],
)
def test_mistakes_have_a_column_and_a_way_out(text, problem):
    with pytest.raises(RuleError, match=problem.replace("(", r"\(")):
        parse_rule(text, VOCAB)


@given(low=numbers, high=numbers, kind=st.integers(0, 2), at_head=st.booleans())
def test_every_interval_is_read_back(low, high, kind, at_head):
    interval = Interval(-low if math.isinf(low) else low, high)
    if not interval.low < interval.high or interval == Interval():
        return
    ends = (-1, 0) if at_head else (0, -1)
    rule = Condition(0, 0, *ends, interval) if kind else Condition(0, -1, 0, 0, interval)
    assert parse_rule(format_rule(rule, VOCAB), VOCAB) == rule
    assert mirrored(mirrored(rule, 2), 2) == rule


def test_a_set_keeps_conditions_beside_other_rules():
    rules = [*(parse_rule(text, VOCAB) for text, _ in TEXTS), Chain(0, (1, 2)), Constant(0, 1, 0, 1)]
    rules += [Feature(0, "linked"), Condition(0, 0, 0, -1, Interval(60.0, after(70.0)))]
    found = RuleSet.from_rules(rules)
    assert list(found) == rules
    assert unpack_rules(pack_rules(found)) == found
    assert found.find(found).tolist() == list(range(len(rules)))
    assert found.lengths.tolist() == [1] * 10 + [2, 1, 1, 1]
    assert (found.sizes >= 1).all()
    without = found.filter(~found.are_conditions)
    assert "low" not in pack_rules(without)
    assert unpack_rules(pack_rules(without)) == without
    arrays = pack_rules(found)
    with pytest.raises(RuleError, match="damaged"):
        unpack_rules({**arrays, "low": arrays["high"]})


def test_conditions_move_by_the_names_of_attributes():
    found = RuleSet.from_rules(parse_rule(text, VOCAB) for text, _ in TEXTS)
    other = Vocab(VOCAB.entities, VOCAB.relations, attributes=(Attribute("age", "date"), ATTRIBUTES[1]))
    places = attributes_by_name(VOCAB, other)
    assert places.tolist() == [-1, 1, -1]
    moved, no_attribute, no_entity = found.renamed(*(np.arange(n, dtype=np.int32) for n in (4, 2)), places)
    assert [format_rule(rule, other) for rule in moved] == [TEXTS[i][0] for i in (3, 5, 6, 8)]
    assert no_attribute.sum() == 6
    assert not no_entity.any()


def test_bans():
    found = RuleSet.from_rules(parse_rule(text, VOCAB) for text, _ in TEXTS)
    cases = ("risk <- ...", 5), ("*(X,high) <- age(X) = 7", 1), (TEXTS[0][0], 1), ("elder <- * & ...", 0)
    for pattern, banned in cases:
        assert Banned([parse_pattern(pattern, VOCAB)], VOCAB).mask(found).sum() == banned
