from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.evaluation import kernels, reference
from rnnlogic.evaluation.ranks import Ranks, UndefinedScoreError, rank_answers

NOTHING = (np.array([], dtype=np.int64), np.array([], dtype=np.int64))


def counts(ranks: Ranks) -> list[tuple[int, int, int]]:
    columns = (ranks.better, ranks.tied, ranks.candidates)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def count_by_hand(scores, answers, pairs) -> list[tuple[int, int, int]]:
    result = []
    for row, answer in enumerate(answers):
        left_out = {entity for r, entity in pairs if r == row} - {answer}
        rest = [score for entity, score in enumerate(scores[row]) if entity not in left_out]
        mine = scores[row][answer]
        result.append((sum(s > mine for s in rest), sum(s == mine for s in rest), len(rest)))
    return result


@st.composite
def cases(draw):
    num_rows, num_entities = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    score = st.sampled_from([-np.inf, -2.5, 0.0, 1.0, 1.0 + 2**-52, np.inf])
    scores = draw(
        st.lists(
            st.lists(score, min_size=num_entities, max_size=num_entities),
            min_size=num_rows,
            max_size=num_rows,
        )
    )
    entity, row = st.integers(0, num_entities - 1), st.integers(0, num_rows - 1)
    answers = draw(st.lists(entity, min_size=num_rows, max_size=num_rows))
    # Any order, repeated pairs and the answers themselves are all allowed.
    pairs = draw(st.lists(st.tuples(row, entity), max_size=20))
    return scores, answers, pairs


@given(cases())
def test_counts_as_by_hand(case):
    scores, answers, pairs = case
    rows, entities = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    ranks = rank_answers(np.array(scores), np.array(answers), (rows, entities))
    assert counts(ranks) == count_by_hand(scores, answers, pairs)


def test_unreached_answer_stands_behind_all_reached_candidates():
    unreached = -np.inf
    scores = np.array([[unreached, -1e300, 3.0, unreached, unreached, 4.0]])
    filtered = (np.array([0, 0]), np.array([4, 5]))  # one unreached, one reached
    assert counts(rank_answers(scores, np.array([0]), filtered)) == [(2, 2, 4)]


def test_nan_is_refused_even_when_filtered_or_far_from_the_answer():
    scores = np.zeros((3, 4))
    scores[1] = -np.inf
    scores[2, 1] = np.nan
    with pytest.raises(UndefinedScoreError, match=r"query 2 .* entity 1 .*NaN") as caught:
        rank_answers(scores, np.zeros(3, dtype=int), (np.array([2]), np.array([1])))
    assert isinstance(caught.value, RNNLogicError)


def test_scores_are_not_changed():
    scores = np.array([[1.0, 2.0, 2.0]])
    scores.setflags(write=False)
    rank_answers(scores, np.array([1]), (np.array([0]), np.array([2])))


def test_select_and_concatenate_are_inverse():
    scores = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]])
    ranks = rank_answers(scores, np.array([0, 1, 0]), NOTHING)
    assert counts(ranks) == [(1, 1, 2), (0, 2, 2), (0, 1, 2)]
    parts = [ranks.select(slice(0, 1)), ranks.select(np.array([False, True, True]))]
    assert counts(Ranks.concatenate(parts)) == counts(ranks)
    assert [len(part) for part in parts] == [1, 2]


@given(st.integers(0, 10**6))
def test_ranks_by_reach_equal_the_twin_and_dense_ranks(seed):
    rng = np.random.default_rng(seed)
    entities, questions, queries = 9, 3, 8
    scores = rng.choice([-np.inf, 0.0, 1.0, 2.0], (questions, entities), p=[0.5, 0.2, 0.2, 0.1])
    reached = [np.flatnonzero((row > -np.inf) | (rng.random(entities) < 0.1)) for row in scores]
    reached = [rng.permutation(part) for part in reached]
    ptr = np.cumsum([0, *map(len, reached)])
    entity = np.concatenate(reached).astype(np.int32)
    values = np.concatenate([scores[q, part] for q, part in enumerate(reached)])
    question = np.sort(rng.integers(0, questions, queries))
    answers = rng.integers(0, entities, queries).astype(np.int32)
    is_known = rng.random((queries, entities)) < 0.3
    rows, known = np.nonzero(is_known)
    known_ptr = np.searchsorted(rows, np.arange(queries + 1))
    told = kernels.Reached(ptr, entity, values), kernels.Known(known_ptr, known.astype(np.int32))
    asked = told[0], question, answers, told[1], entities
    found, twin = kernels.rank_candidates(*asked), reference.rank_candidates(*asked)
    dense = rank_answers(scores[question], answers, (rows, known))
    for one, other, third in zip(found, twin, (dense.better, dense.tied, dense.candidates), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)
