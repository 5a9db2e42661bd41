from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.arrays import WrongArraysError, require_arrays
from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.rule import NONE, Chain, Constant, Feature
from rnnlogic.rules.ruleset import RULE_ARRAYS, RuleSet, pack_rules, unpack_rules

VOCAB = Vocab((), ("friend", "hobby"))
relations = st.integers(0, 3)
rule_lists = st.lists(st.builds(Chain, relations, st.lists(relations, max_size=3).map(tuple)), max_size=12)


def distinct(rules):
    kept = []
    for rule in rules:
        if rule not in kept:
            kept.append(rule)
    return kept


@given(rule_lists)
def test_holds_the_distinct_rules_in_order(rules):
    ruleset, expected = RuleSet.from_rules(iter(rules)), distinct(rules)
    assert list(ruleset) == [ruleset[i] for i in range(len(ruleset))] == expected
    assert len(ruleset) == len(expected)
    assert [ruleset.index(rule) for rule in expected] == list(range(len(expected)))
    assert ruleset.lengths.tolist() == [len(rule.body) for rule in expected]
    assert ruleset.max_length == max((len(rule.body) for rule in expected), default=0)


@given(rule_lists)
def test_columns_are_read_only_and_typed(rules):
    ruleset = RuleSet.from_rules(rules)
    for column, dtype in ((ruleset.heads, np.int32), (ruleset.body_ptr, np.int64), (ruleset.body, np.int32)):
        assert column.dtype == dtype
        assert not column.flags.writeable
    bodies = [
        ruleset.body[a:b].tolist() for a, b in zip(ruleset.body_ptr, ruleset.body_ptr[1:], strict=False)
    ]
    assert list(zip(ruleset.heads.tolist(), map(tuple, bodies), strict=True)) == distinct(rules)


@given(rule_lists)
def test_by_head_lists_each_rule_once(rules):
    ruleset, expected = RuleSet.from_rules(rules), distinct(rules)
    for relation in range(-1, 6):
        ids = ruleset.by_head(relation)
        assert ids.dtype == np.int64
        assert ids.tolist() == [i for i, rule in enumerate(expected) if rule.head == relation]
    assert ruleset.head_relations().tolist() == sorted({rule.head for rule in expected})


@given(rule_lists, rule_lists)
def test_union_equality_and_hash(some, more):
    first, second = RuleSet.from_rules(some), RuleSet.from_rules(more)
    assert list(first | second) == distinct(some + more)
    assert (first == second) == (distinct(some) == distinct(more))
    again = RuleSet.from_rules(some + some)
    assert first == again
    assert hash(first) == hash(again)


@given(rule_lists, rule_lists)
def test_find_gives_the_ids_of_other_rules(some, more):
    first, second = RuleSet.from_rules(some), RuleSet.from_rules(more)
    expected = [distinct(some).index(rule) if rule in some else -1 for rule in distinct(more)]
    assert first.find(second).tolist() == expected


@given(rule_lists)
def test_steps_are_bodies_filled_up(rules):
    ruleset = RuleSet.from_rules(rules)
    steps = ruleset.steps(np.arange(len(ruleset)))
    assert steps.shape == (len(ruleset), ruleset.lengths.max(initial=0))
    bodies = [tuple(row[: len(rule.body)]) for row, rule in zip(steps.tolist(), ruleset, strict=True)]
    assert bodies == [rule.body for rule in ruleset]
    assert (steps == -1).sum() == steps.size - ruleset.lengths.sum()


@given(rule_lists, st.data())
def test_subsets(rules, data):
    ruleset, expected = RuleSet.from_rules(rules), distinct(rules)
    size = len(expected)
    mask = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    chosen = [rule for rule, keep in zip(expected, mask, strict=True) if keep]
    assert list(ruleset.filter(mask)) == chosen
    assert list(ruleset[np.array(mask, dtype=bool)]) == chosen
    part = data.draw(st.slices(size))
    assert list(ruleset[part]) == expected[part]
    ids = data.draw(st.lists(st.integers(-size, size - 1), max_size=2 * size)) if size else []
    assert list(ruleset[ids]) == distinct([expected[i] for i in ids])
    assert list(ruleset[np.array(ids, dtype=np.int32)]) == distinct([expected[i] for i in ids])


@given(rule_lists)
def test_without_trivial(rules):
    kept = RuleSet.from_rules(rules).without_trivial()
    assert list(kept) == [rule for rule in distinct(rules) if rule.body != (rule.head,)]


def test_membership_and_missing_rules():
    ruleset = RuleSet.from_rules([Chain(0, (1,)), Chain(1, ())])
    assert Chain(1, ()) in ruleset
    assert Chain(1, (1,)) not in ruleset
    with pytest.raises(ValueError, match=r"Chain\(head=1, body=\(1,\)\) is not in RuleSet\(2 rules"):
        ruleset.index(Chain(1, (1,)))
    with pytest.raises(IndexError):
        ruleset[2]
    with pytest.raises(IndexError):
        ruleset[[0, 2]]
    with pytest.raises(IndexError):
        ruleset[[0.5]]
    with pytest.raises(IndexError):
        ruleset[[True]]
    assert ruleset[-1] == Chain(1, ())


def test_wrong_ids_and_masks_are_refused():
    with pytest.raises(ValueError, match="must not be negative"):
        RuleSet.from_rules([Chain(0, (1, -1))])
    with pytest.raises(ValueError, match=r"the mask must have shape \(1,\)"):
        RuleSet.from_rules([Chain(0, (1,))]).filter([True, False])


def test_repr():
    assert (
        repr(RuleSet.from_rules([Chain(0, (1, 1)), Chain(0, ())]))
        == "RuleSet(2 rules, 1 heads, longest body 2)"
    )
    assert repr(RuleSet.from_rules([])) == "RuleSet(0 rules, 0 heads, longest body 0)"


TEXT = """
# friends share hobbies
hobby(X,Y) <- friend(X,Z) & hobby(Z,Y)

friend <- friend^-1   # in short
hobby <- friend & hobby
"""


def test_from_text():
    expected = [Chain(1, (0, 1)), Chain(0, (2,))]
    assert list(RuleSet.from_text(TEXT, VOCAB)) == expected
    assert list(RuleSet.from_text(TEXT.splitlines(keepends=True), VOCAB)) == expected


def test_from_text_names_the_line():
    with pytest.raises(
        RuleError, match=r"^line 4, column 8: unknown relation 'hoby'; did you mean 'hobby'\?"
    ):
        RuleSet.from_text("friend <- friend^-1\n\n# note\nhobby<-hoby", VOCAB)


@pytest.mark.parametrize(
    "body",
    [
        [-1], [-9], [-10, 0], [0, -10], [-22], [-1000], [-1000, -1000],
        [0, -1000, 1], [-1000, 0, -1000], [0, 1, -1000], [0, *[-1000] * 3], [-1000, -10],
    ],
)  # fmt: skip
def test_steps_of_old_files_that_stand_for_nothing_are_refused(body):
    arrays = {"heads": np.zeros(1, np.int32), "body": np.array(body, np.int32)}
    with pytest.raises(RuleError, match="damaged"):
        unpack_rules(arrays | {"body_ptr": np.array([0, len(body)])})


@pytest.mark.parametrize(
    ("rules", "is_fine"),
    [
        ([(0, [1]), (0, [2]), (1, [1]), (0, [1, 1]), (0, [1, 2]), (0, [2, 1])], True),
        ([(0, [1]), (0, [1, 2]), (0, [1])], False),
        ([(0, [1, 2]), (1, [1, 2]), (1, [1, 2])], False),
        ([], True),
    ],
)
def test_a_rule_that_is_there_twice_is_refused(rules, is_fine):
    bodies = [body for _, body in rules]
    arrays = {
        "heads": np.array([head for head, _ in rules], np.int32),
        "body": np.array([step for body in bodies for step in body], np.int32),
        "body_ptr": np.cumsum([0, *map(len, bodies)]),
    }
    with nullcontext() if is_fine else pytest.raises(RuleError, match="twice"):
        assert len(unpack_rules(arrays)) == len(rules)


def test_rules_with_constants_are_told_apart():
    rules = RuleSet.from_rules(
        [Chain(0, (1, 2)), Constant(0, 1, 4, NONE), Constant(0, 1, 0, 0, at_head=True), Feature(0, "linked")]
    )
    assert rules.have_constants.tolist() == [False, True, True, False]
    assert rules.are_features.tolist() == [False, False, False, True]
    assert rules.lengths.tolist() == [2, 1, 1, 1]
    assert rules.max_length == 2
    assert unpack_rules(pack_rules(rules)) == rules


@pytest.mark.parametrize(("entities", "is_fine"), [(5, True), (4, False)])
def test_constants_must_be_entities_of_the_graph(entities, is_fine):
    arrays = pack_rules(RuleSet.from_rules([Constant(0, 1, 4, NONE)]))
    with nullcontext() if is_fine else pytest.raises(WrongArraysError, match="constant holds 4"):
        require_arrays(arrays, RULE_ARRAYS, {"E": entities, "R": 2})


def test_sets_without_common_rules_can_be_concatenated():
    first = RuleSet.from_rules([Chain(0, (1, 2)), Chain(3, (1,))])
    second = RuleSet.from_rules([Chain(0, (2,)), Chain(1, (0, 0, 2))])
    assert RuleSet.concatenated([first, second]) == first | second
    assert len(RuleSet.concatenated([])) == 0


def test_rules_of_earlier_versions_are_read():
    bodies = [[1, 2], [1, -1004], [1, -1003, -1004], [-1002, -1001, 1], [-10], [-21]]
    arrays = {
        "heads": np.zeros(len(bodies), np.int32),
        "body": np.array([step for body in bodies for step in body], np.int32),
        "body_ptr": np.cumsum([0, *map(len, bodies)]),
    }
    assert list(unpack_rules(arrays)) == [
        Chain(0, (1, 2)),
        Constant(0, 1, 4, NONE),
        Constant(0, 1, 4, 3),
        Constant(0, 1, 2, 1, at_head=True),
        Feature(0, "reversed"),
        Feature(0, "best_chain"),
    ]
