"""Ideas sum to the score and rules to their idea, for scorers of every kind; families and groups."""

import math

import numpy as np
import pytest
from hypothesis import given

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.question import Question, comes_back, facts_of, shown_paths
from rnnlogic.explain.reasons import Family, family_of, sentence
from rnnlogic.explain.sentences import rule_sentence
from rnnlogic.features.chains.paths import Path
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.explained import compare, explain
from tests.helpers.questions import KINDS, RELATIONS, VOCAB, questions, scorer_of
from tests.helpers.walks import facts_of as facts_in
from tests.helpers.walks import walks

MEDICINE = Vocab(
    ("antibiotic", "pain", "drug", "ache"), ("treats", "isa", "causes"), {"pain": "the pain"}, {"isa": "is a"}
)


def partition(told):
    """Every contribution is in exactly one idea, beside others of its sign and family."""
    listed = [rule for idea in told.ideas for rule in idea.rules]
    assert sorted(r.rule for r in listed) == sorted(c.rule for c in told.contributions)
    for idea in told.ideas:
        assert {rule.contribution < 0 for rule in idea.rules} <= {idea.contribution < 0}
        assert {str(family_of(rule.chain, RELATIONS)) for rule in idea.rules} in ({idea.name}, set())
    signs = [idea.contribution < 0 for idea in told.ideas]
    assert signs == sorted(signs)


@given(questions(KINDS))
def test_ideas_sum_to_the_score_and_rules_to_their_idea(question):
    graph, scorer, head, relation, tail = question
    told = explain(graph, VOCAB, scorer, head, relation, tail, known=graph)
    partition(told)
    for idea in told.ideas:
        by_rules = math.fsum(rule.contribution for rule in idea.rules)
        if idea.name == Family.embedding:
            assert (idea.rules, idea.contribution) == ((), told.embedding)
        else:
            assert abs(by_rules - idea.contribution) < 1e-6
    if told.kind == "sum" and told.score > -math.inf:
        assert abs(math.fsum(idea.contribution for idea in told.ideas) - told.score) < 1e-6
    assert (told.kind == "leave-one-out") == hasattr(scorer, "parameters")
    assert (Family.embedding in [idea.name for idea in told.ideas]) == (told.embedding is not None)


@given(questions(KINDS))
def test_shares_are_of_what_speaks_for_the_answer(question):
    graph, scorer, head, relation, tail = question
    told = explain(graph, VOCAB, scorer, head, relation, tail, known=graph)
    gains = [idea.share for idea in told.ideas if idea.contribution > 0]
    assert not gains or math.fsum(gains) == pytest.approx(1)
    for idea in told.ideas:
        assert (idea.share < 0) == (idea.contribution < 0)
    assert [i["share"] for i in told.as_dict()["ideas"]] == [idea.share for idea in told.ideas]


def undirected(path):
    """The facts of a path without their directions."""
    return frozenset((relation, min(h, t), max(h, t)) for h, relation, t in facts_of(path, VOCAB))


@given(questions(KINDS))
def test_rules_of_a_group_rest_on_the_same_facts_and_groups_on_different_ones(question):
    graph, scorer, head, relation, tail = question
    told = explain(graph, VOCAB, scorer, head, relation, tail, known=graph, detailed=None)
    for idea in told.ideas:
        facts = [{undirected(rule.paths[0]) for rule in group} for group in idea.groups]
        assert all(len(of_group) == 1 for of_group in facts)
        assert len(set().union(*facts)) == len(facts)
        numbers = [rule["group"] for rule in idea.as_dict(VOCAB)["rules"]]
        assert numbers == [i for i, group in enumerate(idea.groups) for _ in group]


@given(questions(KINDS))
def test_the_difference_of_two_scores(question):
    graph, scorer, head, relation, tail = question
    other = (tail + 1) % graph.num_entities
    told = compare(graph, VOCAB, scorer, head, relation, tail, other, known=graph)
    left = [f for f in graph.triples().tolist() if tuple(f) not in asked_facts(head, relation, (tail, other))]
    fewer = Graph.from_triples(left, graph.num_entities, graph.num_relations)
    scores = scorer.score(fewer, np.array([head], np.int32), np.array([relation], np.int32))[0]
    assert (told.answer.is_known, told.instead.is_known) == tuple(
        graph.has(head, relation, end) for end in (tail, other)
    )
    total = math.fsum(idea.contribution for idea in told.ideas)
    expected = float(scores[tail]) - float(scores[other])
    if math.isfinite(expected):
        assert told.difference == pytest.approx(expected)
        assert told.answer.kind == "leave-one-out" or abs(total - expected) < 1e-6
    else:
        assert told.as_dict()["difference"] is None
    for idea in told.ideas:
        by_rules = math.fsum(rule.contribution for rule in idea.rules)
        assert idea.name == Family.embedding or abs(by_rules - idea.contribution) < 1e-6
        for rule in idea.rules:
            assert {path.entities[-1] for path in rule.paths} <= {tail, other}


def asked_facts(head, relation, ends):
    """The facts of two questions in the direction of the graph."""
    inverse = relation >= RELATIONS
    return [(end, relation - RELATIONS, head) if inverse else (head, relation, end) for end in ends]


def test_a_difference_is_told_of_the_answer_that_it_helps():
    rules = RuleSet.from_text(["treats <- isa & treats", "treats <- causes"], MEDICINE)
    facts = [(0, 1, 2), (2, 0, 1), (0, 2, 3)]  # antibiotic isa drug, drug treats pain, antibiotic causes ache
    graph, scorer = Graph.from_triples(facts, 4, 3), RuleScorer(rules, np.array([1.0, -2.0]), "count", 1)
    told = compare(graph, MEDICINE, scorer, 0, 0, 1, 3, known=graph)
    assert told.difference == 3
    assert [(idea.sentence, idea.contribution) for idea in told.ideas] == [
        ("Against ache: Another relation leads from antibiotic to ache", 2.0),
        ("Something similar to antibiotic treats the pain", 1.0),
    ]
    assert [r.paths[0].entities[-1] for idea in told.ideas for r in idea.rules] == [3, 1]
    back = compare(graph, MEDICINE, scorer, 0, 0, 3, 1, known=graph)
    assert [(idea.name, idea.contribution) for idea in back.ideas] == [
        (Family.other_relation, -2.0),
        (Family.similar_heads, -1.0),
    ]
    assert "For the pain (-3)" in str(back)


@pytest.mark.parametrize(
    ("rule", "family"),
    [
        ("treats <- isa & treats", "entities like X have this answer"),
        ("treats <- treats & isa^-1", "X has answers like Y"),
        ("treats <- isa & treats & isa", "entities like X have answers like Y"),
        ("treats <- treats & treats^-1 & treats", "other facts of the relation lead from X to Y"),
        ("treats <- isa & treats^-1 & isa", "entities like Y have answers like X"),
        ("treats <- treats^-1", "the inverse says so"),
        ("treats <- isa^-1", "the inverse says so"),
        ("treats^-1 <- isa", "the inverse says so"),
        ("treats <- isa", "another relation says so"),
        ("treats^-1 <- isa^-1", "another relation says so"),
        ("treats <- isa & causes", "a chain of other relations"),
        ("treats <- true", "X is an answer of its own"),
    ],
)
def test_families(rule, family):
    assert family_of(parse_rule(rule, MEDICINE), MEDICINE.num_relations) == family


@pytest.mark.parametrize(
    ("family", "relation", "text"),
    [
        (Family.similar_heads, 0, "Something similar to antibiotic treats the pain"),
        (Family.similar_heads, 3, "the pain treats something similar to antibiotic"),
        (Family.similar_answers, 0, "antibiotic treats something similar to the pain"),
        (Family.similar_both, 1, "Something similar to antibiotic is something similar to the pain"),
        (Family.turned_round, 0, "Something similar to the pain treats something similar to antibiotic"),
        (Family.chain, 0, "Other relations lead from antibiotic to the pain"),
        (Family.embedding, 3, "The embedding itself finds that the pain treats antibiotic"),
    ],
)
def test_sentences_have_the_labels_of_the_question(family, relation, text):
    said = sentence(family, Question(0, relation, 1), MEDICINE)
    assert said in (text, text[0].upper() + text[1:])


@pytest.mark.parametrize("eta", [0.5, -0.5])
def test_the_embedding_finds_or_doubts_and_prefers(eta):
    scorer = scorer_of("paths", RuleSet.from_rules([Chain(0, (1,))]), np.ones(1), "binary")
    scorer.eta = eta
    graph = Graph.from_triples([(0, 1, 1)], 5, 2)
    told = explain(graph, VOCAB, scorer, 0, 0, 2, graph)
    verb = "finds" if told.embedding > 0 else "doubts"
    assert [idea.sentence for idea in told.ideas] == [f"The embedding itself {verb} that e0 r0 e2"]
    pair = compare(graph, VOCAB, scorer, 0, 0, 2, 3, graph)
    better = "e2" if pair.difference > 0 else "e3"
    assert [idea.sentence for idea in pair.ideas] == [f"The embedding itself prefers {better}"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("treats <- isa", "X is a Y"),
        ("treats <- isa & treats", "X is a A and A treats Y"),
        ("treats <- isa^-1 & causes & treats^-1", "A is a X, A causes B and Y treats B"),
        ("treats <- true", "X and Y are the same"),
    ],
)
def test_rules_in_words(rule, words):
    assert rule_sentence(parse_rule(rule, MEDICINE), MEDICINE) == words


def test_iris_are_told_by_their_last_part():
    vocab = Vocab(("http://x.org/a#cat", "urn:x"), ("http://x.org/rel/likes/", "other"))
    assert sentence(Family.similar_heads, Question(0, 0, 1), vocab) == "Something similar to cat likes urn:x"


@given(questions())
def test_walks_without_repeated_entities_come_first(question):
    graph, scorer, head, relation, tail = question
    graph = graph.counting("walks")
    for rule in scorer.rules:
        found = shown_paths(graph, Question(head, relation, tail), rule, 3)
        every = [w for w in walks(facts_in(graph), head, rule.body) if w[-1] == tail]
        simple = [walk for walk in every if comes_back(Path(walk, rule.body)) is None]
        marks = [comes_back(path) is not None for path in found]
        assert len(found) == min(len(every), 3)
        assert marks.count(False) == min(len(simple), 3)
        assert marks == sorted(marks)


@pytest.mark.parametrize(
    ("entities", "again"),
    [
        ((0, 1, 2), None),
        ((0, 1, 0, 2), 0),
        ((0, 1, 2, 1), 1),
        ((0, 1, 0), None),
        ((0, 0, 1), 0),
        ((0,), None),
    ],
)
def test_where_a_walk_comes_back(entities, again):
    assert comes_back(Path(entities, (0,) * (len(entities) - 1))) == again


def test_a_simple_walk_is_found_among_many():
    facts = [(0, 0, i) for i in range(1, 30)] + [(i, 1, 0) for i in range(1, 29)]
    graph = Graph.from_triples([*facts, (29, 1, 30), (0, 2, 31), (30, 2, 31)], 32, 3).counting("walks")
    found = shown_paths(graph, Question(0, 2, 31), Chain(2, (0, 1, 2)), 2)
    assert [path.entities for path in found] == [(0, 29, 30, 31), (0, 1, 0, 31)]
