from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.evaluation.evaluate import FrequencyScorer, evaluate
from tests.helpers.scorers import NothingScorer, make_dataset, random_case


@given(st.integers(0, 10**6))
def test_frequency_counts_facts_with_this_tail(seed):
    dataset, _ = random_case(seed, True)
    graph = dataset.graph("train+valid")
    counts = Counter()
    for h, r, t in np.concatenate([dataset.train, dataset.valid]).tolist():
        counts.update([(r, t), (r + graph.num_relations, h)])
    heads, relations = np.indices((graph.num_entities, 2 * graph.num_relations)).reshape(2, -1)
    scores = FrequencyScorer().score(graph, heads.astype(np.int32), relations.astype(np.int32))
    for row, relation in enumerate(relations):
        for entity in range(graph.num_entities):
            assert scores[row, entity] == (counts[relation, entity] or -np.inf)


def test_frequency_beats_nothing_where_one_tail_is_common():
    dataset = make_dataset([[h, 0, 9] for h in range(5)], [], [[h, 0, 9] for h in range(5, 9)], 10, 1)
    frequency, nothing = (evaluate(s, dataset, sides="tail") for s in (FrequencyScorer(), NothingScorer()))
    assert frequency.metrics("tail")["mrr"] == 1.0
    assert nothing.metrics("tail")["hits@1"] == 0.1
