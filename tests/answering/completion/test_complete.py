"""Completion against brute force over all facts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.answering.completion import complete as module
from rnnlogic.answering.completion.calibration import second_look
from rnnlogic.answering.completion.candidates import candidates
from rnnlogic.answering.completion.complete import Shortlist, complete, strongest_reason
from rnnlogic.answering.explain import explain
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.rule import parse_rule
from tests.answering.completion.oracles import (
    asked,
    complete_by_hand,
    new_answers,
    random_calibration,
    random_case,
)

seeds = st.integers(0, 10**6)
VOCAB = Vocab(tuple(f"e{i}" for i in range(7)), ("r0", "r1"))


def silent(stage, done, total, note):
    pass


def run(graph, scorer, calibration, relations=(0, 1), least=0.0, most=10**6, progress=silent):
    return list(complete(graph, VOCAB, scorer, calibration, relations, least, most, progress))


def ids(fact):
    return int(fact.head[1:]), int(fact.relation[1:]), int(fact.tail[1:])


@settings(max_examples=30)
@given(seeds)
def test_candidates_are_the_new_answers_with_their_standing(seed):
    graph, scorer = random_case(seed)
    for relation in range(4):
        heads = np.array([6, 0, 3, 2], np.int32)
        expected = {(h, t): f for h in heads for t, f in new_answers(graph, scorer, h, relation).items()}
        found, sizes = {}, {}
        for block in candidates(graph, scorer, relation, heads):
            rows = zip(block.head.tolist(), block.tail.tolist(), block.features.tolist(), strict=True)
            found |= {(h, t): f for h, t, f in rows}
            sizes |= dict(zip(block.head.tolist(), block.answers.tolist(), strict=True))
        assert found.keys() == expected.keys()
        for key, features in expected.items():
            assert found[key] == pytest.approx(features, abs=1e-9)
            assert sizes[key[0]] == sum(h == key[0] for h, _ in expected)


@settings(max_examples=20)
@given(seeds)
def test_all_missing_facts_as_by_brute_force(seed):
    graph, scorer = random_case(seed)
    calibration = random_calibration(seed, 2)
    expected = {fact: p for fact, (_, p) in complete_by_hand(graph, scorer, calibration).items()}
    found = run(graph, scorer, calibration)
    assert {ids(fact): fact.probability for fact in found} == pytest.approx(expected)
    assert [f.probability for f in found] == sorted((f.probability for f in found), reverse=True)
    assert not any(graph.has(*ids(fact)) for fact in found)
    best = [fact for fact in found if fact.probability >= 0.5]
    assert run(graph, scorer, calibration, least=0.5, most=4) == best[:4]
    alone = {ids(fact): fact.probability for fact in run(graph, scorer, calibration, relations=[1])}
    assert alone == pytest.approx({fact: p for fact, p in expected.items() if fact[1] == 1})


@settings(max_examples=20)
@given(seeds)
def test_the_first_choice_is_by_the_first_question(seed):
    graph, scorer = random_case(seed)
    calibration = random_calibration(seed, 2)
    by_hand = complete_by_hand(graph, scorer, calibration)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SPARE", 2)
        patch.setattr(module, "LEAST_SPARE", 1)
        found = run(graph, scorer, calibration, most=3)
    values = sorted((first for first, _ in by_hand.values()), reverse=True)[:6]
    assert len(found) == min(3, len(values))
    chosen = [by_hand[ids(fact)] for fact in found]
    assert all(first >= values[-1] - 1e-9 for first, _ in chosen)
    shortlisted = sorted((p for first, p in by_hand.values() if first >= values[-1] - 1e-9), reverse=True)
    if len(shortlisted) == len(values):  # no ties at the border
        assert [fact.probability for fact in found] == pytest.approx(shortlisted[:3])


@settings(max_examples=20)
@given(seeds)
def test_the_reason_is_the_rule_that_adds_most(seed):
    graph, scorer = random_case(seed)
    for fact in run(graph, scorer, random_calibration(seed, 2))[:10]:
        head, relation, tail = ids(fact)
        question = asked(scorer, relation, 2)
        ends = (head, tail) if question == relation else (tail, head)
        told = explain(graph, VOCAB, scorer, ends[0], question, ends[1], graph)
        most = max(c.contribution for c in told.contributions)
        rule, path = strongest_reason(graph, scorer, head, relation, tail)
        assert (rule.head, path.entities[0], path.entities[-1]) == (relation, head, tail)
        assert path.relations == rule.body
        steps = zip(path.entities, rule.body, path.entities[1:], strict=False)
        assert all(graph.has(*step) for step in steps)
        assert parse_rule(fact.rule, VOCAB) == rule
        assert all(graph.has(*ids_of(step)) for step in fact.facts)
        texts = [c.rule for c in told.contributions if c.contribution == most]
        mirrored = [parse_rule(text, VOCAB) for text in texts]
        bodies = [r.body if question == relation else turned(r.body) for r in mirrored]
        assert rule.body in bodies


def turned(body):
    return tuple((step + 2) % 4 for step in reversed(body))


def ids_of(names):
    return int(names[0][1:]), int(names[1][1:]), int(names[2][1:])


def test_the_second_look_asks_the_other_way_round_even_twice():
    graph, scorer = random_case(4)
    expected = {
        (h, r, t): new_answers(graph, scorer, t, r + 2).get(h)
        for h in range(7)
        for r in range(2)
        for t in range(7)
        if not graph.has(h, r, t)
    }
    facts = np.array([*expected, *expected], np.int32)
    features, is_reached = second_look(graph, scorer, facts, silent, "look")
    assert 0 < is_reached.sum() < len(facts)
    for fact, row, reached in zip(facts.tolist(), features.tolist(), is_reached.tolist(), strict=True):
        by_hand = expected[tuple(fact)]
        assert reached == (by_hand is not None)
        assert row == pytest.approx(by_hand or [0.0] * 5)


@given(st.lists(st.lists(st.integers(-5, 5), max_size=12), max_size=8), st.integers(1, 6))
def test_the_shortlist_holds_the_best(parts, size):
    chosen, number = Shortlist(size), 0
    offered = []
    for part in parts:
        rows = np.arange(number, number + len(part))
        offered += zip(part, rows.tolist(), strict=True)
        number += len(part)
        facts = np.stack([rows, rows, rows], 1).astype(np.int32).reshape(-1, 3)
        chosen.add(np.array(part, float), facts, np.repeat(rows[:, None], 5, 1).astype(float))
        assert chosen._held <= 2 * size
    expected = [row for _, row in sorted(offered, key=lambda pair: (-pair[0], pair[1]))[:size]]
    assert chosen.facts()[:, 0].tolist() == expected
    assert chosen.features()[:, 0].tolist() == expected


def test_progress_counts_questions_and_facts():
    graph, scorer = random_case(2)
    seen = []
    found = run(graph, scorer, random_calibration(0, 2), most=3, progress=lambda *step: seen.append(step[:3]))
    assert ("questions", 14, 14) in seen
    assert seen[-1] == ("reasons", len(found), len(found))
