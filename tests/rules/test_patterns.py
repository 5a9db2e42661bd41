"""Patterns of rules against regular expressions over letters, one letter a relation."""

import re
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.parse import Wild, parse_pattern, parse_rule
from rnnlogic.rules.patterns import Banned, is_open, matches, mirror_image, parse_pinned
from rnnlogic.rules.rule import Chain, format_rule, mirrored
from rnnlogic.rules.ruleset import RuleSet

VOCAB = Vocab(("a",), ("treats", "causes", "is a", "..."))
R = VOCAB.num_relations
relations = st.integers(0, 2 * R - 1)
rules = st.builds(Chain, relations, st.lists(relations, max_size=4).map(tuple))
steps = st.one_of(relations, st.just(Wild.ANY), st.just(Wild.GAP))
patterns = st.builds(Chain, st.one_of(relations, st.just(Wild.ANY)), st.lists(steps, max_size=4).map(tuple))


def as_letters(rule: Chain) -> str:
    return "".join(string.ascii_letters[relation] for relation in (rule.head, *rule.body))


def as_expression(pattern: Chain) -> str:
    return "".join(
        {Wild.ANY: ".", Wild.GAP: ".*"}.get(step) or string.ascii_letters[step]
        for step in (pattern.head, *pattern.body)
    )


def backwards(rule: Chain) -> Chain:
    return Chain((rule.head + R) % (2 * R), tuple((step + R) % (2 * R) for step in rule.body[::-1]))


@given(patterns, st.lists(rules))
def test_a_pattern_matches_as_a_regular_expression_does(pattern, listed):
    found = RuleSet.from_rules(listed)
    expected = [re.fullmatch(as_expression(pattern), as_letters(rule)) is not None for rule in found]
    assert matches(pattern, found).tolist() == expected


@given(st.lists(patterns, max_size=3), st.lists(rules))
def test_banned_in_both_directions(unwanted, listed):
    found = RuleSet.from_rules(listed)
    expressions = [as_expression(pattern) for pattern in unwanted]
    expected = [
        any(re.fullmatch(e, as_letters(turned)) for e in expressions for turned in (rule, backwards(rule)))
        for rule in found
    ]
    banned = Banned(unwanted, VOCAB)
    assert banned.mask(found).tolist() == expected
    assert list(banned.keep(found)) == [rule for rule, out in zip(found, expected, strict=True) if not out]
    assert bool(banned) == bool(unwanted)


@given(st.lists(patterns, max_size=2), st.lists(patterns, min_size=1, max_size=2), st.lists(rules))
def test_what_no_pattern_of_only_matches_is_banned(unwanted, only, listed):
    found = RuleSet.from_rules(listed)
    banned = Banned(unwanted, VOCAB, only)
    expected = Banned(unwanted, VOCAB).mask(found) | ~Banned(only, VOCAB).mask(found)
    assert banned.mask(found).tolist() == expected.tolist()
    assert banned
    for rule in banned.keep(found):
        assert not banned.whole_head(rule.head)


@given(patterns)
def test_the_mirror_image_of_a_mirror_image_is_the_pattern(pattern):
    assert mirror_image(mirror_image(pattern, VOCAB), VOCAB) == pattern


@given(rules)
def test_a_rule_is_a_pattern_of_itself_alone(rule):
    for style in ("long", "short"):
        text = format_rule(rule, VOCAB, style)
        assert parse_pattern(text, VOCAB) == parse_pinned(text, VOCAB) == rule
    assert not is_open(rule)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("treats(X,Y) <- *(X,A) & causes(A,Y)", Chain(0, (Wild.ANY, 1))),
        ("treats(X,Y) <- causes(Z,X) & *(Y,Z)", Chain(0, (1 + R, Wild.ANY))),
        ("treats <- * & causes", Chain(0, (Wild.ANY, 1))),
        ("* <- causes & ...", Chain(Wild.ANY, (1, Wild.GAP))),
        ("*(X,Y) <- causes(X,Y)", Chain(Wild.ANY, (1,))),
        ("*^-1 <- ... & causes^-1, ...", Chain(Wild.ANY, (Wild.GAP, 1 + R, Wild.GAP))),
        ("treats(X,Y) <- ...", Chain(0, (Wild.GAP,))),
        ('"is a" <- "..." & *  # any', Chain(2, (3, Wild.ANY))),
        ("treats^-1 <- true", Chain(0 + R, ())),
    ],
)
def test_patterns_are_read(text, expected):
    assert parse_pattern(text, VOCAB) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("treats <- cuases & ...", "unknown relation 'cuases'; did you mean 'causes'"),
        ("treats(X,Y) <- causes(X,A) & ...", "needs the short form"),
        ("treats(X,Y) <- ... & causes(A,Y)", "needs the short form"),
        ("treats <- **", "expected '&' or the end of the rule, found '*'"),
        ("treats", "expected an arrow"),
    ],
)
def test_bad_patterns_are_shown_with_their_source(text, problem):
    with pytest.raises(RuleError) as caught:
        Banned.from_text(["* <- causes", text], VOCAB)
    message = str(caught.value)
    assert message.startswith("banned: ")
    assert problem in message
    assert text in message


def test_a_pinned_rule_is_one_rule():
    with pytest.raises(RuleError, match=r"pinned: 'treats <- \*' is not a single rule"):
        parse_pinned("treats <- *", VOCAB)
    with pytest.raises(RuleError, match="pinned: column 11: unknown relation"):
        parse_pinned("treats <- casues", VOCAB)


def test_rules_have_neither_stars_nor_dots():
    with pytest.raises(RuleError, match="expected a relation name, found '\\*'"):
        parse_rule("treats <- *", VOCAB)
    assert parse_rule("treats <- ...", VOCAB) == Chain(0, (3,))


def test_heads_without_any_rule_left():
    banned = Banned.from_text(["treats <- ...", "causes <- causes & ..."], VOCAB)
    assert [r for r in range(2 * R) if banned.whole_head(r)] == [0, R]
    assert Banned.from_text(["* <- ..."], VOCAB).whole_head(5)
    only = Banned.from_text([], VOCAB, only=["causes <- *"])
    assert [r for r in range(2 * R) if not only.whole_head(r)] == [1, 1 + R]
    with pytest.raises(RuleError, match="only: column 6: unknown relation 'cuases'"):
        Banned.from_text([], VOCAB, only=["* <- cuases"])


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("treats(X,a) <- causes(X,a)", [0]),
        ("treats(X,*) <- causes(X,*)", [0, 2]),
        ("treats(X,*) <- *(X,Z)", [3]),
        ("*(X,b) <- *(X,*)", [2]),
        ("treats(b,Y) <- *(Z,Y)", [4]),
        ("treats <- causes & ...", [0, 1, 2]),
        ("treats <- ...", [0, 1, 2, 3, 4]),
        ("treats <- * & *", [1]),
    ],
)
def test_patterns_of_rules_with_constants(pattern, matched):
    vocab = Vocab(("a", "b"), VOCAB.relations)
    texts = [
        'treats(X,"a") <- causes(X,"a")',
        "treats <- causes & causes",
        "treats(X,b) <- causes(X,a)",
        'treats(X,a) <- "is a"(X,Z)',
        'treats(b,Y) <- "is a"(Z,Y)',
    ]
    rules = RuleSet.from_text(texts, vocab)
    read = parse_pattern(pattern.replace("(X,a)", '(X,"a")'), vocab)
    assert np.flatnonzero(matches(read, rules)).tolist() == matched
    turned = RuleSet.from_rules(mirrored(rule, vocab.num_relations) for rule in rules)
    assert np.flatnonzero(Banned([read], vocab).mask(turned)).tolist() == matched
