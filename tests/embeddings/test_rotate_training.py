"""Batches: every fact in both directions once an epoch, weights by definition, distinct negatives.

A step is the same as in plain torch, by autograd.
"""

from collections import Counter

import numpy as np
import pytest

from benchmarks.rotate_torch import TorchStepper
from rnnlogic.embeddings.rotate_training import RotatEMethod
from rnnlogic.embeddings.settings import RotatESettings
from tests.helpers.rings import ENTITIES, RELATIONS, TINY


@pytest.mark.parametrize(("dim", "negatives", "temperature"), [(9, 11, 1.0), (4, 99, 0.0), (13, 5, 3.0)])
def test_steps_are_those_of_plain_torch(ring, dim, negatives, temperature):
    settings = RotatESettings(
        dim=dim, margin=4, adversarial_temperature=temperature, batch_size=40, share=15, negatives=negatives
    )
    method = RotatEMethod(ring.graph("train"), settings)
    parameters = method.first()
    ours, theirs = method.stepper(parameters, 1), TorchStepper(parameters, method)
    for step in range(3):
        pieces = method.batch(step, method.order(0))
        assert ours.step(pieces, 0.05) == pytest.approx(theirs.step(pieces, 0.05), rel=1e-5)
    for name, expected in theirs.parameters.items():
        for array, other in zip(ours.parameters[name], expected, strict=True):
            np.testing.assert_allclose(array, other, rtol=1e-3, atol=2e-5)


def test_queries_and_weights(ring):
    method = RotatEMethod(ring.graph("train"), TINY)
    facts = [tuple(fact) for fact in ring.train.tolist()]
    inverse = [(t, r + RELATIONS, h) for h, r, t in facts]
    assert sorted(map(tuple, method.queries.tolist())) == sorted(facts + inverse)
    by_head, by_tail = Counter((h, r) for h, r, _ in facts), Counter((r, t) for _, r, t in facts)
    for (head, relation, answer), weight in zip(method.queries.tolist(), method.weights, strict=True):
        if relation >= RELATIONS:
            head, relation, answer = answer, relation - RELATIONS, head
        expected = (6 + by_head[head, relation] + by_tail[relation, answer]) ** -0.5
        assert np.isclose(weight, expected)
    for row, (head, relation, answer) in zip(method.rows, method.queries.tolist(), strict=True):
        arrays = method.graph.arrays
        known = arrays.tails[arrays.row_edges[row] : arrays.row_edges[row + 1]]
        assert known.tolist() == method.graph.neighbours(head, relation).tolist()
        assert answer in known


def test_an_epoch_asks_every_query_at_most_once(ring):
    method = RotatEMethod(ring.graph("train"), TINY)
    assert (method.steps_per_epoch, method.steps) == (3, 42)  # 140 queries, 40 a step
    asked = Counter()
    for step in range(3):
        pieces = method.batch(step, method.order(0))
        assert [len(piece.heads) for piece in pieces] == [15, 15, 10]
        assert np.isclose(sum(piece.weights.sum() for piece in pieces), 1)
        for piece in pieces:
            assert len(set(piece.negatives.tolist())) == 11
            relation = piece.relations + RELATIONS * (piece.sign < 0)
            asked.update(zip(piece.heads.tolist(), relation.tolist(), piece.answers.tolist(), strict=True))
    assert len(asked) == 120
    assert set(asked.values()) == {1}
    assert set(asked) <= set(map(tuple, method.queries.tolist()))


def test_small_data_takes_all_it_has(ring):
    method = RotatEMethod(ring.graph("train"), TINY.model_copy(update={"batch_size": 999, "negatives": 999}))
    (piece, *_) = method.batch(0, method.order(0))
    assert method.batch_size == 140
    assert sorted(piece.negatives) == list(range(ENTITIES))
