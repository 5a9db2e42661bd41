"""Explanations against brute force: contributions sum to the score, paths are in the graph, ranks agree."""

import math

import numpy as np
import pytest
from hypothesis import given

from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.explain.explain import Basis, explain_on
from rnnlogic.explain.question import Question, Rank
from rnnlogic.features.ground import Grounder
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.parse import parse_rule
from tests.helpers.explained import explain
from tests.helpers.family import family, given_rules
from tests.helpers.questions import ENTITIES, FEATURE, RELATIONS, VOCAB, questions
from tests.helpers.walks import facts_of, paths


def brute_force(graph, scorer, head, relation, tail):
    """For each rule text that reaches the tail: its count and contribution; own fact hidden if there."""
    facts = facts_of(graph)
    if (head, relation, tail) in facts:
        facts = facts_of(graph, (head, relation, tail))
    found = {}
    for rule, weight in zip(scorer.rules, scorer.weights, strict=True):
        count = sum(path[-1] == tail for path in paths(facts, head, rule.body))
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
def test_rank_and_share_by_sorting_all_scores(question):
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
    assert told.share == pytest.approx(expected)
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
    told = model.explain(vocab.entities[head], "married", vocab.entities[tail], facts="train")
    text = "\n".join(told.lines())
    assert told.is_known
    assert "it was hidden" in text
    assert text.startswith(f"{vocab.entities[head]} is married to {vocab.entities[tail]} ")
    assert f"because   {vocab.entities[tail]} is married to {vocab.entities[head]}" in text
    assert "rule    married(X,Y) <- married(Y,X)\n          symmetry, adds" in text
    assert str(told) == text
    everything = "\n".join(told.lines(everything=True))
    assert f"married({vocab.entities[head]}, {vocab.entities[tail]})" in everything
    assert "+1.0397  married(X,Y) <- married(Y,X)" in everything  # 1.5 log 2
    assert f"{vocab.entities[head]} <-married- {vocab.entities[tail]}" in everything
    assert "weight 1.5000, 1 path" in everything


def test_paths_are_looked_up_for_the_strongest_rules_only():
    model = fitted()
    facts = [f for f in model.dataset.train.tolist() if f[1] == model.dataset.vocab.relation_id("parent")]
    names = model.dataset.vocab.entities
    asked = next((names[h], "parent", names[t]) for h, _, t in facts if len(found(model, h, t)) == 2)
    assert [len(c.paths) > 0 for c in model.explain(*asked, detailed=0).contributions] == [False, False]
    assert all(c.paths for c in model.explain(*asked, detailed=1).contributions)  # the first of each idea
    assert not any(c.paths for c in model.explain(*asked, paths=0).contributions)


def found(model, head, tail):
    names = model.dataset.vocab.entities
    return model.explain(names[head], "parent", names[tail], detailed=0).contributions


def test_an_answer_that_no_rule_reaches():
    told = fitted().explain("grandchild0_0", "grandparent", "grandpa0")
    assert (told.score, told.share, told.contributions, told.ideas) == (-math.inf, 0.0, (), ())
    assert told.as_dict()["score"] is None
    assert told.hangs_on is None
    assert ": no rule reaches it" in str(told)


def test_the_probability_is_that_of_the_caller():
    model = fitted()
    vocab = model.dataset.vocab
    asked = [vocab.entity_id("grandpa0"), vocab.relation_id("grandparent")]
    asked.append(vocab.entity_id(model.predict("grandpa0", "grandparent", facts="train")[0].entity))
    graph = model.dataset.graph("train")

    def probability(scorer, facts):
        return np.where(facts[:, 2] == asked[2], 0.625, 0.5)

    told = explain_on(Basis(graph, vocab, model.scorer, graph, probability), Question(*asked))
    assert told.as_dict()["probability"] == told.probability == 0.625
    assert "probability 0.625, first of" in str(told)
    plain = explain(graph, vocab, model.scorer, *asked, graph)
    assert plain.as_dict()["probability"] is None
    assert "not calibrated" in str(plain)


@pytest.mark.parametrize("facts", ["train", "train+valid"])
def test_the_rank_is_the_place_in_the_list_of_answers(facts):
    model = fitted()
    vocab, places = model.dataset.vocab, 0
    for head, relation, _ in model.dataset.test.tolist()[:12]:
        for one in (relation, vocab.inverse(relation)):
            asked = vocab.entities[head], vocab.relation_name(one)
            answers = model.predict(*asked, most=20, facts=facts)
            for place, answer in enumerate(answers, 1):
                told = model.explain(*asked, answer.entity, facts=facts)
                rank = told.filtered_rank
                assert rank.better < place <= rank.better + rank.tied
                assert told.probability == pytest.approx(answer.probability)
                places += 1
            assert [a.probability for a in answers] == sorted((a.probability for a in answers), reverse=True)
    assert places > 20


def test_one_question_is_grounded_once(monkeypatch):
    model, seen = fitted(), []
    vocab = model.dataset.vocab
    answer = model.predict("grandpa0", "grandparent", facts="train")[0].entity
    told = model.explain("grandpa0", "grandparent", answer, facts="train")
    ground = Grounder.ground_batch

    def counted(self, batch):
        seen.extend((batch.relation, head) for head in batch.heads.tolist())
        return ground(self, batch)

    monkeypatch.setattr(Grounder, "ground_batch", counted)
    again = model.explain("grandpa0", "grandparent", answer, facts="train")
    asked = vocab.relation_id("grandparent"), vocab.entity_id("grandpa0")
    assert seen.count(asked) == 1
    assert again.score == told.score


@pytest.mark.parametrize(
    ("rank", "mean", "text"),
    [(Rank(0, 1, 10), 1.0, "1 of 10"), (Rank(2, 4, 1234), 4.5, "3 to 6 (tied) of 1,234")],
)
def test_rank(rank, mean, text):
    assert (rank.mean, rank.text()) == (mean, text)


def test_what_an_answer_hangs_on_leaves_the_scorer_ready_for_its_graph():
    data = family()
    scorer, graph = given_rules(data).predictor, data.graph("train")
    ready = scorer.on(graph)
    head = data.vocab.entity_id("grandpa0")
    answers = scorer.score(graph, np.array([head]), np.array([data.vocab.relation_id("grandparent")]))[0]
    told = explain(
        graph, data.vocab, scorer, head, data.vocab.relation_id("grandparent"), int(answers.argmax()), graph
    )
    assert told.hangs_on is None or told.hangs_on.facts is not None
    assert scorer.on(graph) is ready
    assert scorer.apart().on(graph) is not ready
