"""Fits with given, pinned and banned rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RNNLogicError, RuleError
from rnnlogic.config import Config, override
from rnnlogic.data.vocab import Vocab
from rnnlogic.fit.given import GivenRules, edits_of
from rnnlogic.fit.pipeline import learn
from rnnlogic.fit.result import MemoryStore, unpack_rules
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.base import Task
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Chain, format_rule
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import family, tiny_settings

DATA = family()
CONFIG = override(Config(threads=1), [*tiny_settings()[1::2], "em.rounds=1", "generator.pretrain_steps=30"])
ODD = "married <- grandparent & grandparent^-1 & married"  # a rule that beams of length 2 cannot write
UNLIKELY = "grandparent <- married^-1 & married"
BANNED = ("grandparent <- parent & parent", "* <- married & ...")
VOCAB = Vocab(("e",), ("r", "s"))
rules = st.builds(Chain, st.integers(0, 3), st.lists(st.integers(0, 3), min_size=2, max_size=3).map(tuple))


def changed(**values) -> Config:
    return CONFIG.model_copy(update=values)


def fit(config, given=(), store=None):
    store = store or MemoryStore()
    texts = RuleSet.from_text(list(given), DATA.vocab)
    return learn(DATA, config, store, lambda *_: None, given=GivenRules(texts)), store


@given(st.lists(rules), st.lists(rules), st.lists(rules, max_size=3))
def test_pinned_rules_are_added_once_and_banned_given_ones_are_not(found, wanted, unwanted):
    banned = [format_rule(rule, VOCAB) for rule in unwanted]
    edits = edits_of(Config(banned=tuple(banned)), GivenRules(RuleSet.from_rules(wanted)), VOCAB)
    beam = RuleSet.from_rules(found)
    both, log_prob = edits.with_pinned(beam, np.zeros(len(beam)), lambda rules: -rules.lengths.astype(float))
    backwards = {Chain((r.head + 2) % 4, tuple((s + 2) % 4 for s in r.body[::-1])) for r in unwanted}
    allowed = [rule for rule in wanted if rule not in backwards | set(unwanted)]
    assert list(both) == list(dict.fromkeys([*found, *allowed]))
    assert log_prob.tolist() == [0.0] * len(beam) + [-len(rule.body) for rule in both[len(beam) :]]


def test_pinned_rules_are_in_and_banned_ones_nowhere():
    config = override(changed(pinned=(UNLIKELY,), banned=BANNED), ["final.rules=5"])
    learned, store = fit(config, ["parent <- parent & grandparent"])
    banned = Banned.from_text(BANNED, DATA.vocab)
    for kept in (*(unpack_rules(store.stages[stage]) for stage in ("mined", "round-1")), learned.rules):
        assert len(kept)
        assert not banned.mask(kept).any()
    pinned = RuleSet.from_text([UNLIKELY, "parent <- parent & grandparent"], DATA.vocab)
    assert set(pinned) <= set(learned.rules)
    assert len(set(learned.rules)) == len(learned.rules)
    counts = np.bincount(learned.rules.heads, minlength=6)
    assert np.isfinite(learned.log_prior).all()
    assert (counts >= 5).all()
    assert counts.sum() <= 6 * 5 + 2


def test_without_generating_exactly_the_given_rules_are_weighed():
    wrong, right = "grandparent <- married & parent", "grandparent <- parent & parent"
    given = [ODD, right, wrong, "parent <- true"]
    learned, store = fit(changed(generate=False), given)
    expected = RuleSet.from_text(given, DATA.vocab)
    assert learned.rules == expected
    assert set(store.stages) == {"statistics", "full"}
    assert np.isnan(learned.log_prior).all()
    np.testing.assert_array_equal(learned.weights, RuleScorer.fit(Task(DATA, expected, CONFIG, 1)).weights)
    assert learned.weights[1] > 0 > learned.weights[2]
    assert learned.support[1] > 0


def test_an_interrupted_fit_with_pinned_rules_ends_the_same():
    config = changed(pinned=(UNLIKELY,), banned=BANNED)
    whole, store = fit(config)
    partial = MemoryStore()
    partial.stages = {stage: store.stages[stage] for stage in ("mined", "pretrained")}
    resumed, _ = fit(config, store=partial)
    assert resumed.rules == whole.rules
    np.testing.assert_array_equal(resumed.weights, whole.weights)


def test_the_variant_with_embeddings_weighs_given_rules():
    embedding = random_embedding(DATA.vocab.num_entities, DATA.vocab.num_relations)
    model = RNNLogic(CONFIG, variant="rnnlogic-emb")
    model.fit(DATA, embeddings=embedding, rules=["married <- married^-1"], generate=False)
    assert [rule.text for rule in model.rules()] == ["married(X,Y) <- married(Y,X)"]
    assert model.rules()[0].prior is None
    assert model.config.generate is False


@pytest.mark.parametrize(
    ("values", "given", "problem"),
    [
        ({"pinned": (UNLIKELY,), "banned": ("grandparent <- ...",)}, [], "is both pinned and banned"),
        ({"pinned": (UNLIKELY,), "only": ("parent <- ...",)}, [], "is both pinned and not among `only`"),
        ({"only": ("parent <- maried & ...",)}, [], "only: .*did you mean 'married'"),
        ({"generate": False}, [], "no rules to learn weights for: give some"),
        ({"generate": False, "banned": ("married <- ...",)}, [ODD], "no rules to learn weights for"),
        ({"pinned": (ODD,)}, [], "is longer than max_length=2; raise it"),
        ({}, ["parent <- parent"], "has an empty or trivial body"),
        ({}, ["parent <- true"], "has an empty or trivial body"),
        ({"pinned": ("parent <- *",)}, [], "is not a single rule"),
        ({"banned": ("parent <- maried & ...",)}, [], "banned: .*did you mean 'married'"),
    ],
)
def test_edits_that_do_not_fit_together_are_refused_before_anything_is_written(
    values, given, problem, tmp_path
):
    with pytest.raises(RuleError, match=problem):
        RNNLogic(changed(**values)).fit(DATA, tmp_path / "run", rules=given or None)
    assert not (tmp_path / "run").exists()


def test_only_rules_of_a_pattern_are_used():
    learned, _ = fit(changed(only=("grandparent <- * & parent", "parent <- [seen]")))
    whole, _ = fit(changed())
    pattern = Banned.from_text(["grandparent <- * & parent"], DATA.vocab)
    assert set(learned.rules)
    assert set(learned.rules) >= set(whole.rules.filter(pattern.mask(whole.rules)))
    assert pattern.mask(learned.rules).all()


def test_where_all_is_banned_nothing_can_be_learned():
    with pytest.raises(RNNLogicError, match=r"no rule was found.*ban fewer"):
        fit(changed(banned=("* <- ...",)), store=MemoryStore())
