"""Completion against brute force over all facts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.base.types import silent
from rnnlogic.complete import complete as module
from rnnlogic.complete.complete import Offered, Shortlist, complete
from rnnlogic.complete.reason import simple_path
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.explain import Basis, explain_on
from rnnlogic.explain.question import Question
from rnnlogic.explain.records import Records
from rnnlogic.features.chains.paths import paths
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import mirrored
from tests.helpers.calibration import asked, complete_by_hand, random_case, random_level

seeds = st.integers(0, 10**6)
VOCAB = Vocab(tuple(f"e{i}" for i in range(7)), ("r0", "r1"))


def run(graph, scorer, level, relations=(0, 1), least=0.0, most=10**6, progress=silent):
    return list(complete(graph, VOCAB, scorer, level, relations, least, most, progress))


def ids(fact):
    return int(fact.head[1:]), int(fact.relation[1:]), int(fact.tail[1:])


@settings(max_examples=20)
@given(seeds)
def test_all_missing_facts_as_by_brute_force(seed):
    graph, scorer = random_case(seed)
    level = random_level(seed, 2)
    expected = {fact: p for fact, (_, p) in complete_by_hand(graph, scorer, level).items()}
    found = run(graph, scorer, level)
    assert {ids(fact): fact.probability for fact in found} == pytest.approx(expected)
    assert [f.probability for f in found] == sorted((f.probability for f in found), reverse=True)
    assert not any(graph.has(*ids(fact)) for fact in found)
    best = [fact for fact in found if fact.probability >= 0.5]
    assert run(graph, scorer, level, least=0.5, most=4) == best[:4]
    alone = {ids(fact): fact.probability for fact in run(graph, scorer, level, relations=[1])}
    assert alone == pytest.approx({fact: p for fact, p in expected.items() if fact[1] == 1})


@settings(max_examples=20)
@given(seeds)
def test_the_first_choice_is_by_the_first_question(seed):
    graph, scorer = random_case(seed)
    level = random_level(seed, 2)
    by_hand = complete_by_hand(graph, scorer, level)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SPARE", 2)
        patch.setattr(module, "LEAST_SPARE", 1)
        found = run(graph, scorer, level, most=3)
    values = sorted((first for first, _ in by_hand.values()), reverse=True)[:6]
    assert len(found) == min(3, len(values))
    chosen = [by_hand[ids(fact)] for fact in found]
    assert all(first >= values[-1] - 1e-9 for first, _ in chosen)
    shortlisted = sorted((p for first, p in by_hand.values() if first >= values[-1] - 1e-9), reverse=True)
    if len(shortlisted) == len(values):  # no ties at the border
        assert [fact.probability for fact in found] == pytest.approx(shortlisted[:3])


@settings(max_examples=20)
@given(seeds)
def test_the_reason_is_the_one_that_explain_names(seed):
    graph, scorer = random_case(seed)
    basis = Basis(graph, VOCAB, scorer, graph, records=Records(graph, scorer.rules))
    for fact in run(graph, scorer, random_level(seed, 2))[:10]:
        head, relation, tail = ids(fact)
        question = asked(scorer, relation, 2)
        ends = (head, tail) if question == relation else (tail, head)
        told = explain_on(basis, Question(ends[0], question, ends[1]))
        if told.reasons:
            rule = told.reasons[0].rule.chain
            assert parse_rule(fact.rule, VOCAB) == (rule if question == relation else mirrored(rule, 2))
        if fact.facts:
            assert all(graph.has(*ids_of(step)) for step in fact.facts)
            ends_of_path = {end for step in fact.facts for end in (step[0], step[2])}
            assert {fact.head, fact.tail} <= ends_of_path


@settings(max_examples=15)
@given(seeds)
def test_the_first_path_without_a_detour(seed):
    graph, scorer = random_case(seed)
    for rule in scorer.rules:
        for head in range(graph.num_entities):
            for tail in set(range(graph.num_entities)) - {head}:
                every = paths(graph, head, rule, tail, None).paths
                simple = [one.entities for one in every if len(set(one.entities)) == len(one.entities)]
                assert simple_path(graph, head, rule.body, tail) == (simple[0] if simple else None)


def ids_of(names):
    return int(names[0][1:]), int(names[1][1:]), int(names[2][1:])


@given(st.lists(st.lists(st.integers(-5, 5), max_size=12), max_size=8), st.integers(1, 6))
def test_the_shortlist_holds_the_best(parts, size):
    chosen, number = Shortlist(size), 0
    offered = []
    for part in parts:
        rows = np.arange(number, number + len(part))
        offered += zip(part, rows.tolist(), strict=True)
        number += len(part)
        facts = np.stack([rows, rows, rows], 1).astype(np.int32).reshape(-1, 3)
        chosen.add(Offered(np.array(part, float), facts, np.zeros((len(part), 5)), rows))
        assert chosen._held <= 2 * size
    expected = [row for _, row in sorted(offered, key=lambda pair: (-pair[0], pair[1]))[:size]]
    assert chosen.best().facts[:, 0].tolist() == chosen.best().answers.tolist() == expected


def test_progress_counts_questions_and_facts():
    graph, scorer = random_case(2)
    seen = []
    found = run(graph, scorer, random_level(0, 2), most=3, progress=lambda *step: seen.append(step[:3]))
    assert ("questions", 14, 14) in seen
    assert seen[-1] == ("reasons", len(found), len(found))
