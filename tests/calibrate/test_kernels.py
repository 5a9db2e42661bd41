"""The kernels of the calibration against their twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.calibrate import kernels, reference


@st.composite
def answered(draw):
    """Questions with some answers, and known ones as parts of an array."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    questions, entities = draw(st.integers(0, 4)), 8
    reached = [rng.permutation(entities)[: rng.integers(entities + 1)] for _ in range(questions)]
    known = [np.sort(rng.permutation(entities)[: rng.integers(entities + 1)]) for _ in range(questions)]
    ptr, tails_ptr = (
        np.append(0, np.cumsum([len(one) for one in parts])).astype(np.int64) for parts in (reached, known)
    )
    flat = [np.concatenate([np.empty(0), *parts]).astype(np.int32) for parts in (reached, known)]
    hidden = rng.integers(-1, entities, questions).astype(np.int32)
    values = rng.normal(size=len(flat[0]))
    return ptr, flat[0], values, flat[1], tails_ptr[:-1], tails_ptr[1:], hidden


@given(answered())
def test_new_answers(given):
    found, expected = (module.new_among(*given) for module in (kernels, reference))
    for own, other in zip(found, expected, strict=True):
        assert own.tolist() == pytest.approx(other)


@given(answered())
def test_known_answers(given):
    _, _, _, tails, first, last, hidden = given
    found = kernels.are_among(tails, first, last, hidden)
    assert found.tolist() == reference.are_among(tails.tolist(), first, last, hidden)


@given(answered(), st.integers(0, 2**32 - 1))
def test_positions_of_answers(given, seed):
    ptr, entity, *_ = given
    questions, rng = len(ptr) - 1, np.random.default_rng(seed)
    question = rng.integers(0, max(questions, 1), 6 * bool(questions))
    wanted = rng.integers(0, 8, len(question)).astype(np.int32)
    found = kernels.positions_of(ptr, entity, question, wanted)
    assert found.tolist() == reference.positions_of(ptr, entity.tolist(), question, wanted)
