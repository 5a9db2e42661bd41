"""The best answers, and one probability for a fact wherever it is shown."""

import math

import numpy as np
import pytest

from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.answers import Wanted, best_answers
from tests.helpers.calibration import probability, random_case, random_level

VOCAB = Vocab(tuple(f"e{i}" for i in range(7)), ("r0", "r1"))


@pytest.fixture(scope="module")
def model(family_model):
    return family_model


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("known", ["drop", "keep"])
def test_answers_by_hand(seed, known):
    graph, scorer = random_case(seed)
    level = random_level(seed, 2)
    heads, relations = np.array([3, 0, 5, 3, 1]), np.array([0, 3, 1, 2, 0])
    found = best_answers(graph, VOCAB, scorer, level, heads, relations, Wanted(3, known))
    for head, relation, answers in zip(heads.tolist(), relations.tolist(), found, strict=True):
        row = scorer.score(graph, np.array([head], np.int32), np.array([relation], np.int32))[0]
        is_known = [graph.has(head, relation, e) for e in range(7)]
        left = [e for e in range(7) if row[e] > -math.inf and (known == "keep" or not is_known[e])]
        facts = {e: (head, relation, e) if relation < 2 else (e, relation - 2, head) for e in left}
        chance = {e: probability(graph, scorer, level, *fact) for e, fact in facts.items()}
        best = sorted(left, key=lambda e: (-round(chance[e], 9), -row[e], e))[:3]
        assert [answer.entity for answer in answers] == [f"e{e}" for e in best]
        total = math.fsum(math.exp(row[e]) for e in left)
        for e, answer in zip(best, answers, strict=True):
            assert answer.probability == pytest.approx(chance[e])
            assert answer.share == pytest.approx(math.exp(row[e]) / total)
            assert (answer.score, answer.is_known) == (pytest.approx(row[e]), is_known[e])


def test_no_answers():
    graph, scorer = random_case(1)  # no rules for relation 1
    assert best_answers(graph, VOCAB, scorer, random_level(1, 2), [0, 3], 1, Wanted(3)) == [[], []]
    assert best_answers(graph, VOCAB, scorer, random_level(1, 2), [], [], Wanted(3)) == []


@pytest.mark.parametrize("evidence", ["train", "train+valid"])
def test_predict_and_complete_say_the_same_either_way_round(model, evidence):
    proposals = list(model.complete(facts=evidence, most=40))
    assert len(proposals) > 10
    for fact in proposals[:12]:
        there = model.predict(fact.head, fact.relation, 1000, evidence)
        back = model.predict(fact.tail, f"{fact.relation}^-1", 1000, evidence)
        said = [a.probability for a in there if a.entity == fact.tail]
        said += [a.probability for a in back if a.entity == fact.head]
        assert said
        assert set(said) == {fact.probability}


def test_many_at_once_say_the_same_as_one(model):
    asked = [("grandpa0", "parent"), ("child1_0", "married"), ("grandma2", "grandparent")]
    together = model.predict_many(asked, 5, known="keep")
    assert together == [model.predict(*question, 5, known="keep") for question in asked]
    assert any(together)
