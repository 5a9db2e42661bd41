"""What rules decide on validation facts, against asking one query after another."""

import numpy as np
import pytest

from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.explain import records
from rnnlogic.explain.records import rule_use
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.family import RULES, family


def scorer_for(dataset: Dataset) -> RuleScorer:
    """Rules of the family, and one that is wrong."""
    rules = RULES | {"parent(X,Y) <- grandparent(X,Y)": 3.0}
    return RuleScorer(RuleSet.from_text(list(rules), dataset.vocab), np.array(list(rules.values())))


def by_hand(dataset: Dataset, scorer: RuleScorer) -> tuple[list[int], list[int]]:
    """Decided and right: the first answer of every distinct query, by dense scores."""
    graph, known = dataset.graph("train"), {*map(tuple, dataset.train.tolist() + dataset.test.tolist())}
    number = dataset.vocab.num_relations
    valid = {*map(tuple, dataset.valid.tolist())}
    for facts in (known, valid):
        facts |= {(t, r + number, h) for h, r, t in facts}
    decided, right = [0] * len(scorer.rules), [0] * len(scorer.rules)
    for head, relation in {(h, r) for h, r, _ in valid}:
        scores = scorer.score(graph, np.array([head], np.int32), np.array([relation], np.int32))[0]
        scores[[t for h, r, t in known if (h, r) == (head, relation)]] = -np.inf
        best = int(scores.argmax())
        if scores[best] == -np.inf:
            continue
        parts = scorer.contributions(graph, head, relation, best)
        value, rule = max(zip(parts.values, -parts.rule, strict=True))
        if value > 0:
            decided[-rule] += 1
            right[-rule] += (head, relation, best) in valid
    return decided, right


def test_counts_equal_asking_one_by_one():
    dataset = family()
    scorer, told = scorer_for(dataset), []
    found = rule_use(dataset, scorer, tick=lambda *step: told.append(step))
    assert (found.decided.tolist(), found.right.tolist()) == by_hand(dataset, scorer)
    assert found.decided.sum() > found.right.sum() > 0
    assert told[-1][0] == told[-1][1] > found.decided.sum()


def test_the_sample_is_bounded_and_repeatable(monkeypatch):
    dataset = family()
    scorer = scorer_for(dataset)
    monkeypatch.setattr(records, "QUERIES", 8)
    monkeypatch.setattr(records, "PER_RELATION", (1, 3))
    found = rule_use(dataset, scorer)
    assert 0 < found.decided.sum() <= 8
    assert rule_use(dataset, scorer).decided.tolist() == found.decided.tolist()
    parent = dataset.vocab.relation_id("parent")
    only = rule_use(dataset, scorer, [parent]).decided
    assert set(np.flatnonzero(only)) <= set(scorer.rules.by_head(parent))


def test_nothing_to_count_without_validation_facts():
    dataset = load_dataset([("a", "likes", "b"), ("b", "likes", "a")], ratios=(1, 0, 0))
    scorer = RuleScorer(RuleSet.from_text(["likes(X,Y) <- likes(Y,X)"], dataset.vocab), np.ones(1))
    assert rule_use(dataset, scorer) is None


@pytest.mark.parametrize("weight", [-1.0, 0.0])
def test_a_rule_that_speaks_against_decides_nothing(weight):
    dataset = family()
    scorer = RuleScorer(
        RuleSet.from_text(["married(X,Y) <- married(Y,X)"], dataset.vocab), np.array([weight])
    )
    assert rule_use(dataset, scorer).decided.tolist() == [0]
