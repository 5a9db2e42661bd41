"""Explanations against brute force: contributions sum to the score, paths are in the graph, ranks agree."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.answering.explain import Rank, explain
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.rule import Rule, parse_rule
from rnnlogic.rules.ruleset import RuleSet
from tests.family import family, given_rules
from tests.grounding.oracles import facts_of, walks

FEATURE = {"count": lambda n: n, "log1p": math.log1p, "binary": lambda n: 1.0}
ENTITIES, RELATIONS = 5, 2


@st.composite
def questions(draw):
    """A random graph, weighted rules, a question with a known answer, and any entity as the answer asked."""
    entity, relation = st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1)
    facts = draw(st.lists(st.tuples(entity, relation, entity), min_size=6, max_size=20))
    any_relation = st.integers(0, 2 * RELATIONS - 1)
    head, asked, tail = draw(st.sampled_from(facts))
    if draw(st.booleans()):
        head, asked = tail, asked + RELATIONS
    bodies = draw(st.lists(st.lists(any_relation, min_size=1, max_size=3).map(tuple), min_size=1, max_size=6))
    rules = RuleSet.from_rules(Rule(asked, body) for body in bodies)
    weights = np.array(draw(st.lists(st.floats(-3, 3), min_size=len(rules), max_size=len(rules))))
    feature = draw(st.sampled_from(sorted(FEATURE)))
    graph = Graph.from_triples(facts, ENTITIES, RELATIONS)
    return graph, RuleScorer(rules, weights, feature, 1), head, asked, draw(entity)


VOCAB = Vocab(tuple(f"e{i}" for i in range(ENTITIES)), tuple(f"r{i}" for i in range(RELATIONS)))


def brute_force(graph, scorer, head, relation, tail):
    """For each rule text that reaches the tail: its count and contribution; own fact hidden if there."""
    facts = facts_of(graph)
    if (head, relation, tail) in facts:
        facts = facts_of(graph, (head, relation, tail))
    found = {}
    for rule, weight in zip(scorer.rules, scorer.weights, strict=True):
        count = sum(walk[-1] == tail for walk in walks(facts, head, rule.body))
        if count:
            found[rule] = (count, weight * FEATURE[scorer.feature](count))
    return found


@given(questions())
def test_contributions_are_those_of_brute_force_and_sum_to_the_score(question):
    graph, scorer, head, relation, tail = question
    told = explain(graph, VOCAB, scorer, head, relation, tail, known=graph)
    expected = brute_force(*question)
    assert {parse_rule(c.rule, VOCAB): c.count for c in told.contributions} == {
        rule: count for rule, (count, _) in expected.items()
    }
    for c in told.contributions:
        assert c.contribution == pytest.approx(expected[parse_rule(c.rule, VOCAB)][1])
    total = math.fsum(c.contribution for c in told.contributions)
    assert not expected or abs(total - told.score) < 1e-6
    assert (told.score == -math.inf) == (not expected)
    sizes = [abs(c.contribution) for c in told.contributions]
    assert sizes == sorted(sizes, reverse=True)


@given(questions())
def test_every_fact_of_a_path_is_in_the_graph_and_none_is_the_asked_one(question):
    graph, scorer, head, relation, tail = question
    told = explain(graph, VOCAB, scorer, head, relation, tail, known=graph, limit=4, detailed=None)
    named = {(VOCAB.entities[h], VOCAB.relations[r], VOCAB.entities[t]) for h, r, t in graph.triples()}
    if relation < RELATIONS:
        named -= {(VOCAB.entities[head], VOCAB.relations[relation], VOCAB.entities[tail])}
    else:
        named -= {(VOCAB.entities[tail], VOCAB.relations[relation - RELATIONS], VOCAB.entities[head])}
    for c, plain in zip(told.contributions, told.as_dict()["rules"], strict=True):
        assert len(c.paths) == min(c.count, 4)
        for path, facts in zip(c.paths, plain["paths"], strict=True):
            assert (path.entities[0], path.entities[-1]) == (head, tail)
            assert path.relations == parse_rule(c.rule, VOCAB).body
            assert {tuple(fact) for fact in facts} <= named


@given(questions())
def test_rank_and_probability_by_sorting_all_scores(question):
    graph, scorer, head, relation, tail = question
    told = explain(graph, VOCAB, scorer, head, relation, tail, known=graph)
    is_known = graph.has(head, relation, tail)
    hidden = [tail] if is_known else None
    dense = np.full((1, ENTITIES), -np.inf)
    for chunk in scorer.on(graph).scores([head], relation, scorer.weights, hidden, scorer.feature):
        chunk.fill(dense)
    scores = dense[0].tolist()
    others = set(graph.neighbours(head, relation).tolist()) - {tail}
    rivals = [s for e, s in enumerate(scores) if e not in others]
    assert told.raw_rank == Rank(
        sum(s > scores[tail] for s in scores), sum(s == scores[tail] for s in scores), ENTITIES
    )
    assert told.filtered_rank.better == sum(s > scores[tail] for s in rivals)
    assert told.filtered_rank.candidates == len(rivals)
    expected = math.exp(scores[tail]) / sum(map(math.exp, rivals)) if scores[tail] > -math.inf else 0.0
    assert told.probability == pytest.approx(expected)
    assert told.is_known == is_known


def test_ranks_are_those_of_evaluation():
    dataset = family()
    learned = given_rules(dataset)
    scorer = RuleScorer(learned.rules, learned.weights, learned.feature)
    report = evaluate(scorer, dataset, "test")
    graph, known = dataset.graph("train"), dataset.graph("all")
    assert len(report.asked) > 20
    for i, (head, relation, tail) in enumerate(report.asked.tolist()):
        told = explain(graph, dataset.vocab, scorer, head, relation, tail, known, limit=0)
        better, tied = report.ranks.better[i], report.ranks.tied[i]
        assert (told.filtered_rank.better, told.filtered_rank.tied) == (better, tied)


def fitted() -> RNNLogic:
    dataset = family()
    return RNNLogic({})._take(dataset, RNNLogic({}).config, given_rules(dataset))


def test_text_names_rule_weight_paths_and_says_that_the_fact_was_hidden():
    model = fitted()
    vocab = model.dataset.vocab
    married = vocab.relation_id("married")
    graph = model.dataset.graph("train")
    head, _, tail = next(
        f for f in graph.triples().tolist() if f[1] == married and graph.has(f[2], married, f[0])
    )
    told = model.explain(vocab.entities[head], "married", vocab.entities[tail])
    text = "\n".join(told.lines())
    assert told.is_known
    assert "it was hidden, in both directions" in text
    assert f"married({vocab.entities[head]}, {vocab.entities[tail]})" in text
    assert "+1.0397  married(X,Y) <- married(Y,X)" in text  # 1.5 log 2
    assert "weight 1.5000, 1 path" in text
    assert f"{vocab.entities[head]} <-married- {vocab.entities[tail]}" in text


def test_text_sums_up_rules_that_are_not_shown():
    model = fitted()
    facts = [f for f in model.dataset.train.tolist() if f[1] == model.dataset.vocab.relation_id("parent")]
    names = model.dataset.vocab.entities
    told = next(
        e
        for e in (model.explain(names[h], "parent", names[t], detailed=1) for h, _, t in facts)
        if len(e.contributions) == 2
    )
    assert told.contributions[1].paths == ()
    last = list(told.lines(1))[-1]
    assert last.split() == [f"{told.contributions[1].contribution:+.4f}", "by", "1", "more", "rule(s)"]


def test_an_answer_that_no_rule_reaches():
    told = fitted().explain("grandchild0_0", "grandparent", "grandpa0")
    assert (told.score, told.probability, told.contributions) == (-math.inf, 0.0, ())
    assert told.as_dict()["score"] is None
    assert any("No rule reaches this answer: rank" in line for line in told.lines())


@pytest.mark.parametrize(
    ("rank", "mean", "text"),
    [(Rank(0, 1, 10), 1.0, "1 of 10"), (Rank(2, 4, 1234), 4.5, "3 to 6 (tied) of 1,234")],
)
def test_rank(rank, mean, text):
    assert (rank.mean, rank.text()) == (mean, text)
