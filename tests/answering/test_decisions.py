"""Which rule decided a first place, against plain loops."""

import numpy as np
import pytest

from rnnlogic.answering.decisions import Decisions, decisions
from rnnlogic.predictors.loglinear.scorer import RuleScorer
from tests.family import family, given_rules


@pytest.fixture(scope="module")
def data():
    return family()


def by_hand(data, scorer):
    decided, right = np.zeros((2, len(scorer.rules)), int)
    graph, known, number = data.graph("train"), data.graph("all"), data.vocab.num_relations
    facts = data.valid.tolist()
    for head, relation, answer in facts + [[t, r + number, h] for h, r, t in facts]:
        row = scorer.score(graph, np.array([head], np.int32), np.array([relation], np.int32))[0]
        row[[e for e in range(len(row)) if e != answer and known.has(head, relation, e)]] = -np.inf
        best = np.flatnonzero(row == row.max())
        if row.max() == -np.inf or len(best) > 1:
            continue
        parts = scorer.contributions(graph, head, relation, int(best[0]))
        rule = max(zip(parts.values.tolist(), parts.rule.tolist(), strict=True))[1]
        decided[rule] += 1
        right[rule] += best[0] == answer
    return decided, right


def test_decisions_by_hand(data):
    learned = given_rules(data)
    scorer = RuleScorer(learned.rules, learned.weights, learned.feature, threads=1)
    found = decisions(data, scorer)
    decided, right = by_hand(data, scorer)
    assert found.decided.tolist() == decided.tolist()
    assert found.right.tolist() == right.tolist()
    assert 0 < right.sum() <= decided.sum()
    assert found.queries == found.of == 2 * len(data.valid)
    most = int(np.argmax(decided))
    assert found.text(most) == f"right in {right[most]} of {decided[most]} first places it decided"


def test_a_bounded_sample(data):
    learned = given_rules(data)
    scorer = RuleScorer(learned.rules, learned.weights, learned.feature, threads=1)
    part = decisions(data, scorer, most=10, seed=1)
    assert (part.queries, part.of) == (10, 2 * len(data.valid))
    assert part.decided.sum() <= 10
    assert decisions(data, scorer, most=10, seed=1).decided.tolist() == part.decided.tolist()


def test_in_words():
    told = Decisions(np.array([0, 1, 4000]), np.array([0, 0, 3400]), 10, 10)
    assert told.text(0) == "decided no first place"
    assert told.text(1) == "right in 0 of 1 first place it decided"
    assert told.text(2) == "right in 3,400 of 4,000 first places it decided"
