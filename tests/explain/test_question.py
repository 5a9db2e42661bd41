"""A graph without some facts is the graph that would be made of the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.data.graph import Graph
from rnnlogic.explain.question import Question, as_fact, without

facts = st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4))


@given(st.lists(facts, min_size=1, max_size=20), st.lists(facts, max_size=6), st.booleans())
def test_without(held, taken, is_indexed):
    with pytest.MonkeyPatch.context() as patch:
        if not is_indexed:  # as for graphs that are too large for a direct index
            patch.setattr("rnnlogic.data.graph.DIRECT_ENTRIES_FREE", 0)
            patch.setattr("rnnlogic.data.graph.DIRECT_ENTRIES_PER_EDGE", 0)
        graph = Graph.from_triples(held, 5, 3)
        left = [fact for fact in held if fact not in taken]
        expected = Graph.from_triples(np.array(left, int).reshape(-1, 3), 5, 3)
    found = without(graph, taken)
    for name, array in expected.arrays._asdict().items():
        mine = getattr(found.arrays, name)
        np.testing.assert_array_equal(mine, array)
        assert (mine.dtype, mine.flags.writeable) == (array.dtype, False)
    assert (found.num_entities, found.num_relations) == (5, 3)
    assert len(graph) == len(set(held))


def test_the_fact_of_a_question():
    assert as_fact(Question(1, 0, 2), 3) == (1, 0, 2)
    assert as_fact(Question(1, 4, 2), 3) == (2, 1, 1)
