"""Critical facts: checked by scoring without them; they break the first reason, and none could be spared."""

import numpy as np
import pytest
from hypothesis import given, settings

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain import dependence
from rnnlogic.explain.dependence import MOST_FACTS
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.explained import explain
from tests.helpers.family import family, given_rules
from tests.helpers.questions import KINDS, VOCAB, questions


def breaks(told, facts):
    """Whether the first reason needs one of some facts, or needs none."""
    proof = {fact for reason in told.reasons[:1] for fact in reason.facts(told.vocab)}
    return not proof or not proof.isdisjoint(facts)


NAMES = Vocab(("a", "b", "c", "d"), ("r", "s", "t"))


def is_first(facts, scorer, question, known):
    """Whether the answer is alone in first place, known answers left out."""
    head, relation, tail = question
    graph = Graph.from_triples(np.array(facts).reshape(-1, 3), known.num_entities, known.num_relations)
    scores = scorer.score(graph, np.array([head], np.int32), np.array([relation], np.int32))[0]
    others = np.delete(scores, [*known.neighbours(head, relation), tail])
    return scores[tail] > -np.inf and (others < scores[tail]).all()


@settings(max_examples=60)
@given(questions(KINDS))
def test_without_these_facts_it_is_no_longer_first_and_all_are_needed(question):
    graph, scorer, *asked = question
    told = explain(graph, VOCAB, scorer, *asked, known=graph)
    found, (head, relation, tail) = told.hangs_on, asked
    own = (tail, relation - 2, head) if relation >= 2 else (head, relation, tail)
    facts = [tuple(fact) for fact in graph.triples().tolist() if tuple(fact) != own]
    assert (found is not None) == is_first(facts, scorer, asked, graph)
    if found is None or not found.facts:
        return
    assert own not in found.facts
    assert set(found.facts) <= set(facts)
    assert len(found.facts) <= MOST_FACTS
    assert not is_first([f for f in facts if f not in found.facts], scorer, asked, graph)
    for kept in found.facts if len(found.facts) > 1 else ():
        fewer = [f for f in facts if f == kept or f not in found.facts]
        assert is_first(fewer, scorer, asked, graph) or not breaks(told, {*found.facts} - {kept})
    assert breaks(told, found.facts)


@settings(max_examples=60)
@given(questions())
def test_without_limits_something_is_found_where_all_rules_speak_for_it(question):
    graph, scorer, *asked = question
    scorer = RuleScorer(scorer.rules, np.abs(scorer.weights) + 0.1, "binary", 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dependence, "MOST_FACTS", 99)
        patch.setattr(dependence, "PACE", -np.inf)
        found = explain(graph, VOCAB, scorer, *asked, known=graph).hangs_on
    assert found is None or found.facts


def told_of(facts, rules, weights, known=()):
    graph = Graph.from_triples(facts, 4, 3)
    scorer = RuleScorer(RuleSet.from_text(rules, NAMES), np.array(weights, float), "count", 1)
    return explain(graph, NAMES, scorer, 0, 0, 1, Graph.from_triples([*facts, *known], 4, 3))


def test_in_the_family_they_break_the_first_reason_and_one_fact_is_enough_where_it_can_be():
    data = family()
    learned, graph = given_rules(data), data.graph("train")
    scorer = RuleScorer(learned.rules, learned.weights, learned.feature)
    facts, numbers = [tuple(fact) for fact in graph.triples().tolist()], []
    turned = [(tail, data.vocab.inverse(relation), head) for head, relation, tail in data.test.tolist()]
    for asked in [*map(tuple, data.test.tolist()), *turned]:
        told = explain(graph, data.vocab, scorer, *asked, known=graph)
        if not told.reasons or told.hangs_on is None or not told.hangs_on.facts:
            continue
        found, proof = told.hangs_on.facts, told.reasons[0].facts(data.vocab)
        assert not is_first([fact for fact in facts if fact not in found], scorer, asked, graph)
        assert {*found} & {*proof}, "the first reason holds without them"
        is_enough = any(
            not is_first([fact for fact in facts if fact != one], scorer, asked, graph) for one in proof
        )
        assert (len(found) == 1) == is_enough
        numbers.append(len(found))
    assert len(numbers) > 5


def test_a_fact_that_leaves_the_first_reason_alone_is_not_enough():
    facts = [(0, 1, 1), (0, 2, 1), (0, 1, 3)]  # s(a,b) t(a,b) s(a,d)
    told = told_of(facts, ["r <- s", "r <- t"], [2, 1])  # without t(a,b), b and d are tied
    assert told.reasons[0].facts(NAMES) == [(0, 1, 1)]
    assert told.hangs_on.facts == ((0, 1, 1),)


def test_the_fact_that_many_paths_share():
    facts = [(0, 1, 2), (0, 2, 2), (2, 1, 1), (0, 1, 3)]  # s(a,c) t(a,c) s(c,b) s(a,d)
    told = told_of(facts, ["r <- s & s", "r <- t & s", "r <- s"], [1, 1, 0.5])
    assert told.hangs_on.facts == ((2, 1, 1),)
    assert told.as_dict()["hangs_on"] == {"facts": [["c", "s", "b"]], "rank": 3.5, "is_reached": False}
    assert "This answer depends on 1 fact. Without it no rule reaches it.\n  c has s b" in str(told)


def test_two_facts_and_the_place_without_them():
    facts = [(0, 1, 1), (0, 2, 1), (0, 1, 3)]  # s(a,b) t(a,b) s(a,d)
    told = told_of(facts, ["r <- s", "r <- t"], [1, 2])
    assert set(told.hangs_on.facts) <= {(0, 1, 1), (0, 2, 1)}
    assert told.hangs_on.rank.mean > 1


def test_known_answers_stay_out_of_the_way():
    facts = [(0, 1, 1), (0, 1, 3), (0, 2, 3)]
    assert told_of(facts, ["r <- s", "r <- t"], [1, 1]).hangs_on is None
    told = told_of(facts, ["r <- s", "r <- t"], [1, 1], known=[(0, 0, 3)])
    assert told.hangs_on.facts == ((0, 1, 1),)


def test_an_answer_that_only_rules_against_it_reach():
    told = told_of([(0, 1, 1)], ["r <- s"], [-1])
    assert told.hangs_on.facts == ((0, 1, 1),)
    assert not told.hangs_on.is_reached


def test_nothing_few_is_found_where_nothing_would_help():
    many = [(0, r, m) for r in range(1, 3) for m in range(2, 30)]
    many += [(m, r, 1) for r in range(1, 3) for m in range(2, 30)]
    vocab = Vocab(tuple(f"e{i}" for i in range(30)), ("r", "s", "t"))
    rules = RuleSet.from_text(["r <- s & s", "r <- s & t", "r <- t & s", "r <- t & t"], vocab)
    graph = Graph.from_triples(many, 30, 3)
    told = explain(graph, vocab, RuleScorer(rules, np.ones(4), "count", 1), 0, 0, 1, graph)
    assert told.hangs_on.facts == ()
    assert told.as_dict()["hangs_on"] == {"facts": [], "rank": None, "is_reached": True}
    assert f"No set of up to {MOST_FACTS} facts was found" in str(told)


def test_it_is_searched_for_only_when_asked(monkeypatch):
    monkeypatch.setattr("rnnlogic.explain.explain.depends_on", lambda *_: pytest.fail("searched"))
    told = told_of([(0, 1, 1)], ["r <- s"], [1])
    assert told.ideas
