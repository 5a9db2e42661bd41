import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.graph import Graph
from rnnlogic.features.ground import Grounder
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.graphs import cases
from tests.helpers.walks import expected_counts, matrix_counts

many = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def found_counts(groundings):
    result = {}
    for grounding in groundings:
        c = grounding.columns()
        for row in zip(c.query.tolist(), c.entity.tolist(), c.rule.tolist(), c.count.tolist(), strict=True):
            assert row[:3] not in result
            result[row[:3]] = row[3]
    return result


@pytest.mark.usefixtures("any_index")
@many
@given(case=cases())
def test_counts_are_the_paths(case):
    grounder = Grounder(case.graph, case.rules, threads=1)
    found = found_counts(grounder.ground(case.heads, case.relations, case.hidden))
    assert found == expected_counts(case)


@many
@given(case=cases())
def test_walks_equal_matrix_products(case):
    grounder = Grounder(case.graph.counting("walks"), case.rules, threads=1)
    for q, (head, relation, hidden) in enumerate(case.queries):
        found = found_counts(grounder.ground([head], relation, hidden))
        for i in case.rules.by_head(relation).tolist():
            own_fact = (head, relation, hidden) if hidden >= 0 else None
            counts = matrix_counts(case.graph, head, case.rules[i].body, own_fact)
            assert {e: c for (_, e, k), c in found.items() if k == i} == {
                int(e): int(counts[e]) for e in np.flatnonzero(counts)
            }, q


@many
@given(case=cases())
def test_threads_and_chunks_change_nothing(case):
    plain = found_counts(Grounder(case.graph, case.rules, threads=1).ground(case.heads, case.relations))
    for settings_ in (
        {"threads": 3},
        {"chunk_queries": 1},
        {"chunk_results": 0},
        {"chunk_queries": 2, "threads": 2},
    ):
        grounder = Grounder(case.graph, case.rules, **{"threads": 1, **settings_})
        assert found_counts(grounder.ground(case.heads, case.relations)) == plain


@many
@given(case=cases())
def test_candidates_hold_the_same_results(case):
    for grounding in Grounder(case.graph, case.rules, threads=1).ground(
        case.heads, case.relations, case.hidden
    ):
        c = grounding.candidates()
        places = np.repeat(np.arange(len(c)), np.diff(c.candidate_ptr))
        rows = zip(
            c.query[places].tolist(),
            c.entity[places].tolist(),
            c.rule_id.tolist(),
            c.count.tolist(),
            strict=True,
        )
        assert {row[:3]: row[3] for row in rows} == found_counts([grounding])
        keys = list(zip(np.searchsorted(grounding.queries, c.query).tolist(), c.entity.tolist(), strict=True))
        assert keys == sorted(set(keys))


@pytest.mark.parametrize("feature", ["count", "log1p", "binary"])
@many
@given(case=cases())
def test_scores(case, feature):
    weights = np.random.default_rng(0).normal(size=len(case.rules))
    value = {"count": float, "log1p": np.log1p, "binary": lambda _: 1.0}[feature]
    scores = np.full((len(case.queries), case.graph.num_entities), -np.inf)
    for (q, e, k), count in expected_counts(case).items():
        scores[q, e] = weights[k] * value(count) + (0 if np.isneginf(scores[q, e]) else scores[q, e])
    found = np.full_like(scores, -np.inf)
    grounder = Grounder(case.graph, case.rules, threads=2)
    for chunk in grounder.scores(case.heads, case.relations, weights, case.hidden, feature):
        chunk.fill(found)
    np.testing.assert_allclose(found, scores, rtol=1e-12)


def test_scores_are_identical_for_any_thread_count():
    rng = np.random.default_rng(3)
    triples = np.stack(
        [rng.integers(200, size=3000), rng.integers(5, size=3000), rng.integers(200, size=3000)], 1
    )
    graph = Graph.from_triples(triples, 200, 5)
    rules = RuleSet.from_rules(Chain(0, tuple(body)) for body in rng.integers(10, size=(40, 3)).tolist())
    weights, heads = rng.normal(size=len(rules)), rng.integers(200, size=500)
    dense = np.full((3, len(heads), 200), -np.inf)
    for found, threads in zip(dense, (1, 2, 5), strict=True):
        for chunk in Grounder(graph, rules, threads).scores(heads, 0, weights):
            chunk.fill(found)
    assert np.array_equal(dense[0], dense[1])
    assert np.array_equal(dense[0], dense[2])


def complete_bipartite(width, steps):
    """Relation 0 joins every entity of one layer with every entity of the next."""
    layers = [range(i * width, (i + 1) * width) for i in range(steps + 1)]
    triples = [(a, 0, b) for one, two in itertools.pairwise(layers) for a in one for b in two]
    return Graph.from_triples(np.array(triples), width * (steps + 1), 1)


@pytest.mark.parametrize(("width", "steps", "dtype"), [(10, 3, np.int32), (200, 6, np.int64)])
def test_counts_grow_to_64_bits_where_needed(width, steps, dtype):
    grounder = Grounder(
        complete_bipartite(width, steps), RuleSet.from_rules([Chain(0, (0,) * steps)]), threads=1
    )
    (grounding,) = grounder.ground([0], 0)
    assert grounding.count.dtype == dtype
    assert set(grounding.count.tolist()) == {width ** (steps - 1)}


def test_counts_beyond_64_bits_are_refused_not_wrapped():
    rules = RuleSet.from_rules([Chain(0, (0, 1) * 12)])
    with pytest.raises(RNNLogicError, match=r"more than 2\^62"):
        list(Grounder(complete_bipartite(40, 1), rules, threads=1).ground([0], 0))


def test_possible_but_absent_overflow_is_counted_exactly():
    graph = complete_bipartite(40, 1)  # entity 80 would be lonely; heads of layer 1 have no outgoing step
    grounder = Grounder(graph, RuleSet.from_rules([Chain(0, (0, 1) * 12)]), threads=1)
    assert found_counts(grounder.ground([45], 0)) == {}


def test_rules_of_another_vocabulary_are_refused():
    with pytest.raises(RNNLogicError, match="relation id 9"):
        Grounder(complete_bipartite(2, 1), RuleSet.from_rules([Chain(0, (9,))]))


def test_heads_outside_the_graph_are_refused():
    with pytest.raises(ValueError, match="heads must lie"):
        list(Grounder(complete_bipartite(2, 1), RuleSet.from_rules([Chain(0, (1,))])).ground([99], 0))


def test_equal_counts_give_equal_scores_to_the_last_bit():
    rng = np.random.default_rng(0)
    triples = np.stack(
        [rng.integers(60, size=1500), rng.integers(4, size=1500), rng.integers(60, size=1500)], 1
    )
    graph = Graph.from_triples(triples, 60, 4)
    rules = RuleSet.from_rules(Chain(0, tuple(body)) for body in rng.integers(8, size=(12, 1)).tolist())
    scorer = RuleScorer(rules, rng.normal(size=len(rules)), threads=1)
    heads = np.arange(60, dtype=np.int32)
    scores = scorer.score(graph, heads, np.zeros(60, np.int32))
    profiles = {}
    for (q, e, k), n in found_counts(scorer.on(graph).ground(heads, 0)).items():
        profiles.setdefault((q, e), []).append((k, n))
    by_profile = {}
    for (q, e), profile in profiles.items():
        by_profile.setdefault((q, tuple(sorted(profile))), set()).add(scores[q, e])
    assert max(len(values) for values in by_profile.values()) == 1
