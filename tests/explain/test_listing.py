"""Rules as people see them, and rules chosen as they ask."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from rnnlogic.data.dataset import load_dataset
from rnnlogic.explain import listing
from rnnlogic.explain.listing import LEGEND, Choice, RuleInfo, list_rules, rule_lines, same_rules
from rnnlogic.fit.result import Learned
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import format_rule
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.pairs import amie_statistics
from tests.helpers.family import RULES, family, family_facts, given_rules

TEXT = "parent(X,Y) <- married(X,Z) & parent(Z,Y)"
VOCAB = family().vocab
RULE = parse_rule(TEXT, VOCAB)
INFO = RuleInfo("parent", TEXT, 1.25, None, 40, 34, 0.85, 0.9, 0.5, 1, 7, 6, TEXT, None, RULE)


def info(text, vocab=VOCAB, **changes):
    """The same figures of another rule."""
    rule = parse_rule(text, vocab)
    return replace(INFO, text=text, label=format_rule(rule, vocab, labels=True), rule=rule, **changes)


def lines(rules, width=80, same=None, vocab=None, **options):
    vocab = vocab or VOCAB
    totals = {rule.relation: 99 for rule in rules}
    return list(rule_lines(rules, same or {}, totals, vocab, width, **options))


def test_a_rule_and_its_figures_in_words():
    assert lines([INFO]) == [
        "parent: 1 of 99 rules",
        "  parent(X,Y) <- married(X,Z) & parent(Z,Y)",
        "    weight 1.25, confidence 0.85 (34 of 40 pairs), PCA 0.90, coverage 0.50",
        "    top contributor to 7 first answers, right in 6",
        "",
        "The top contributor adds most to the first answer of a validation query.",
    ]
    sampled = replace(INFO, share=0.1, decided=None, right=None, predictions=41234)
    assert lines([sampled])[2:] == [
        "    weight 1.25, confidence about 0.85 (about 34 of 41,234 pairs),",
        "    PCA about 0.90, coverage about 0.50",
    ]
    assert LEGEND not in lines([replace(INFO, decided=0, right=0)], width=200)


def test_lift_stands_beside_confidence_if_it_is_known():
    known = lines([replace(INFO, lift=12.34, decided=None)], width=200)[2]
    assert known == "    weight 1.25, confidence 0.85 (34 of 40 pairs), lift 12.3, PCA 0.90, coverage 0.50"
    feature = info("parent(X,Y) <- [itself]", weight=-2.0, lift=0.04, decided=None)
    assert lines([feature], width=200)[-1] == "    weight -2, lift 0.0"


@pytest.mark.parametrize("width", [80, 40, 20])
def test_narrow_terminals_break_between_words(width):
    text = "parent(X,Y) <- parent(X,Z1) & grandparent(Z2,Z1) & parent(Z2,Z3) & parent(Z3,Y)"
    shown = lines([info(text)], width)
    assert all(len(line) <= width or " " not in line.strip() for line in shown)
    words = " ".join(shown).split()
    assert " ".join(words).startswith(f"parent: 1 of 99 rules {text} weight 1.25, ")


def test_what_speaks_against_and_the_same_in_other_words_have_their_places():
    texts = [f"parent(X,Y) <- {body}(X,Y)" for body in ("married", "grandparent", "parent^-1", "married^-1")]
    rules = [
        info(text, weight=weight, decided=None)
        for text, weight in zip(texts, [0.5, -0.4, 0.3, 0.2], strict=True)
    ]
    shown = lines(rules, same={texts[3]: texts[0]})
    rows = [line for line in shown if "weight" not in line]
    assert rows == [
        "parent: 4 of 99 rules",
        "  parent(X,Y) <- married(X,Y)",
        "    redundant:",
        "      parent(X,Y) <- married(Y,X)",
        "  parent(X,Y) <- parent(Y,X)",
        "",
        "  against:",
        "  parent(X,Y) <- grandparent(X,Y)",
    ]


def test_labels_or_names(tmp_path):
    (tmp_path / "labels").write_text("P1\thas \x1b[31mred\nP2\tlikes\n")
    dataset = load_dataset([("a", "P1", "b"), ("b", "P2", "c")], ratios=(1, 0, 0), labels=tmp_path / "labels")
    text, ids = "P1(X,Y) <- P2(X,Y)", dataset.vocab.with_ids()
    shown = lines([info(text, dataset.vocab, relation="P1", decided=None)], vocab=dataset.vocab)
    assert shown[0].startswith("has \\x1b[31mred: ")
    assert shown[1].endswith("(X,Y) <- likes(X,Y)")
    assert "\x1b" not in "".join(shown)
    assert lines([info(text, ids, relation="P1", decided=None)], vocab=ids)[:2] == [
        "P1: 1 of 99 rules",
        "  P1(X,Y) <- P2(X,Y)",
    ]


def test_rules_that_say_the_same_are_found_within_their_sign():
    facts = [*family_facts(), *((t, "child", h) for h, r, t in family_facts() if r == "parent")]
    dataset = load_dataset(facts, ratios=(1, 0, 0))
    texts = [
        "grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)",
        "grandparent(X,Y) <- child(Z,X) & child(Y,Z)",
        "grandparent(X,Y) <- parent(X,Z) & child(Y,Z)",
        "grandparent(X,Y) <- married(X,Y)",
    ]
    rules = [info(text, dataset.vocab, weight=w) for text, w in zip(texts, [1, 1, -1, 1], strict=True)]
    assert same_rules(rules, dataset.graph("train")) == {texts[1]: texts[0]}


@pytest.fixture
def learned() -> Learned:
    """The given rules, as if each was right at times."""
    given = given_rules(family())
    return replace(given, confidence=given.confidence + 0.1)


def listed(learned, dataset=None, relation=None, **choice):
    dataset = dataset or family()
    heads = learned.rules.head_relations().tolist()
    wanted = heads if relation is None else [dataset.vocab.relation_id(relation)]
    return list_rules(learned, dataset, wanted, Choice(**choice))


@pytest.mark.parametrize("sort", ["weight", "use", "confidence", "support"])
def test_the_best_come_first(learned, sort):
    rules = listed(learned, sort=sort)
    assert len(rules) == len(RULES)
    for one, other in pairwise(rules):
        if one.relation == other.relation:
            name = "decided" if sort == "use" else sort
            assert getattr(one, name) >= getattr(other, name)
    assert [rule.text for rule in listed(learned, sort=sort, most=1)] == [
        next(rule.text for rule in rules if rule.relation == name)
        for name in dict.fromkeys(rule.relation for rule in rules)
    ]
    assert all((rule.decided is None) == (sort != "use") for rule in rules)
    assert all(rule.decided is not None for rule in listed(learned, sort=sort, use=True))


def test_what_was_never_right_or_speaks_against_comes_last(learned):
    never = learned.rules.by_head(int(learned.rules.head_relations()[0]))[0]
    assert listed(learned, sort="weight", relation="grandparent")[0].weight == learned.weights[never]
    confidence = learned.confidence.copy()
    confidence[never] = 0
    found = listed(replace(learned, confidence=confidence), sort="weight", relation="grandparent")
    assert [rule.weight for rule in found] == [1.0, 2.0]
    against = learned.weights.copy()
    against[-2] = -9.0
    turned = replace(learned, predictor=RuleScorer(learned.rules, against, "log1p"))
    for sort in ("weight", "use"):
        assert [rule.weight for rule in listed(turned, sort=sort, relation="parent")] == [1.25, -9.0]


def test_without_validation_facts_the_strongest_come_first():
    dataset = load_dataset(family_facts(), ratios=(1, 0, 0))
    weights = np.array([0.1, -0.9, 0.5])
    bodies = ["parent", "married", "married & parent"]
    rules = RuleSet.from_text([f"parent <- {body}^-1" for body in bodies], dataset.vocab)
    learned = Learned(RuleScorer(rules, weights), np.zeros(3), np.zeros(3, np.int64), np.zeros(3))
    found = listed(learned, dataset, sort="use")
    assert [rule.weight for rule in found] == [-0.9, 0.5, 0.1]
    assert {rule.decided for rule in found} == {None}


def test_only_good_and_short_rules(learned):
    exact = amie_statistics(family().graph("train"), learned.rules)
    least = float(np.median(exact.confidence))
    good = [rule.text for rule in listed(learned, min_confidence=least)]
    assert len(good) == (exact.confidence >= least).sum()
    assert 0 < len(good) < len(RULES)
    most = int(exact.support.max())
    assert {rule.support for rule in listed(learned, min_support=most)} == {most}
    assert [rule.text for rule in listed(learned, max_length=1)] == ["married(X,Y) <- married(Y,X)"]
    assert not listed(learned, min_support=most + 1)
    # the best of those that are good enough, not those that are good enough of the best
    worst = listed(learned, relation="parent")[-1]
    kept = listed(learned, relation="parent", most=1, min_support=worst.support)
    assert [rule.text for rule in kept] == [worst.text]


def test_of_very_many_rules_only_the_promising_are_counted(learned, monkeypatch):
    monkeypatch.setattr(listing, "MANY", 3)
    monkeypatch.setattr(listing, "CONSIDERED", 1)
    found = listed(learned, sort="support", most=1)
    own = [learned.rules.by_head(head) for head in learned.rules.head_relations()]
    last = [ids[learned.weights[ids] > 0][-1] for ids in own]  # the most support of those that speak for it
    assert [rule.weight for rule in found] == learned.weights[last].tolist()
    assert len(listed(learned, sort="support")) == len(RULES)
