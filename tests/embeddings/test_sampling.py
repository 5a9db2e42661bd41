"""Batches: every fact in both directions once an epoch, weights by definition, distinct negatives."""

from collections import Counter

import numpy as np

from rnnlogic.embeddings.sampling import Sampler
from tests.helpers.rings import ENTITIES, RELATIONS, TINY


def test_queries_and_weights(ring):
    sampler = Sampler.of(ring, TINY)
    facts = [tuple(fact) for fact in ring.train.tolist()]
    inverse = [(t, r + RELATIONS, h) for h, r, t in facts]
    assert sorted(map(tuple, sampler.queries.tolist())) == sorted(facts + inverse)
    by_head, by_tail = Counter((h, r) for h, r, _ in facts), Counter((r, t) for _, r, t in facts)
    for (head, relation, answer), weight in zip(sampler.queries.tolist(), sampler.weights, strict=True):
        if relation >= RELATIONS:
            head, relation, answer = answer, relation - RELATIONS, head
        expected = (6 + by_head[head, relation] + by_tail[relation, answer]) ** -0.5
        assert np.isclose(weight, expected)
    for row, (head, relation, answer) in zip(sampler.rows, sampler.queries.tolist(), strict=True):
        arrays = sampler.graph.arrays
        known = arrays.tails[arrays.row_edges[row] : arrays.row_edges[row + 1]]
        assert known.tolist() == sampler.graph.neighbours(head, relation).tolist()
        assert answer in known


def test_an_epoch_asks_every_query_at_most_once(ring):
    sampler = Sampler.of(ring, TINY)
    assert (sampler.steps_per_epoch, sampler.steps) == (3, 42)  # 140 queries, 40 a step
    asked = Counter()
    for step in range(3):
        pieces = sampler.pieces(step, sampler.order(0))
        assert [len(piece.heads) for piece in pieces] == [15, 15, 10]
        assert np.isclose(sum(piece.weights.sum() for piece in pieces), 1)
        for piece in pieces:
            assert len(set(piece.negatives.tolist())) == 11
            relation = piece.relations + RELATIONS * (piece.sign < 0)
            asked.update(zip(piece.heads.tolist(), relation.tolist(), piece.answers.tolist(), strict=True))
    assert len(asked) == 120
    assert set(asked.values()) == {1}
    assert set(asked) <= set(map(tuple, sampler.queries.tolist()))


def test_small_data_takes_all_it_has(ring):
    sampler = Sampler.of(ring, TINY.model_copy(update={"batch_size": 999, "negatives": 999}))
    (piece, *_) = sampler.pieces(0, sampler.order(0))
    assert sampler.batch_size == 140
    assert sorted(piece.negatives) == list(range(ENTITIES))
