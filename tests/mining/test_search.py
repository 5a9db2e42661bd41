"""The path search against listing all walks."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.base.budget import Work
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.mining import mine
from rnnlogic.mining.mine import edges_by_entity, find_candidates
from rnnlogic.mining.settings import MineSettings
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.walks import facts_of, walks

ENTITIES, RELATIONS = 6, 2
facts = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1))
everything = MineSettings(facts_per_relation=10**6, fanout=10**6, walks_per_fact=10**6, candidates=10**6)


def expected_counts(graph, max_length):
    """{rule: number of facts whose ends its body joins without the fact itself}."""
    result = {}
    for h, r, t in facts_of(graph):
        left = facts_of(graph, (h, r, t))
        for length in range(1, max_length + 1):
            for body in itertools.product(range(2 * RELATIONS), repeat=length):
                if body != (r,) and any(walk[-1] == t for walk in walks(left, h, body)):
                    result[Chain(r, body)] = result.get(Chain(r, body), 0) + 1
    return result


@settings(max_examples=25, deadline=None)
@given(triples=st.lists(facts, min_size=1, max_size=9), max_length=st.integers(1, 3))
def test_exhaustive_search_finds_every_body_once_per_fact(triples, max_length):
    graph = Graph.from_triples(np.array(triples), ENTITIES, RELATIONS)
    found = find_candidates(graph, everything, max_length)
    assert dict(zip(found.rules, found.joined.tolist(), strict=True)) == expected_counts(graph, max_length)


@settings(max_examples=25, deadline=None)
@given(triples=st.lists(facts, min_size=1, max_size=9), candidates=st.integers(1, 20))
def test_banned_rules_take_no_place(triples, candidates):
    graph = Graph.from_triples(np.array(triples), ENTITIES, RELATIONS)
    banned = Banned.from_text(["* <- a & ...", "b <- * & b^-1"], Vocab(("e",), ("a", "b")))
    found = find_candidates(graph, everything.model_copy(update={"candidates": candidates}), 3, banned)
    assert not banned.mask(found.rules).any()
    allowed = banned.keep(RuleSet.from_rules(expected_counts(graph, 3)))
    for head in range(2 * RELATIONS):
        assert len(found.rules.by_head(head)) == min(candidates, len(allowed.by_head(head)))


def random_graph(seed=0, facts=400, entities=60):
    rng = np.random.default_rng(seed)
    triples = np.stack(
        [rng.integers(entities, size=facts), rng.integers(3, size=facts), rng.integers(entities, size=facts)],
        1,
    )
    return Graph.from_triples(triples, entities, 3)


def test_longer_paths_are_found_too():
    graph = random_graph(facts=60, entities=30)
    found = set(find_candidates(graph, everything, 5).rules)
    shorter = set(find_candidates(graph, everything, 4).rules)
    assert {rule for rule in found if len(rule.body) < 5} == shorter
    assert any(len(rule.body) == 5 for rule in found)


def test_sampling_finds_a_part_of_what_there_is():
    graph = random_graph()
    full = find_candidates(graph, everything, 3)
    counts = dict(zip(full.rules, full.joined.tolist(), strict=True))
    few = MineSettings(facts_per_relation=20, fanout=4, walks_per_fact=50, candidates=30)
    part = find_candidates(graph, few, 3)
    assert 0 < len(part.rules) < len(full.rules)
    assert all(joined <= counts[rule] for rule, joined in zip(part.rules, part.joined.tolist(), strict=True))


def test_same_seed_same_rules_for_any_thread_count():
    graph, few = random_graph(), MineSettings(facts_per_relation=20, fanout=4)
    one, two = (find_candidates(graph, few, 3, seed=7, work=Work(threads)) for threads in (1, 3))
    assert one.rules == two.rules
    assert np.array_equal(one.joined, two.joined)
    assert find_candidates(graph, few, 3, seed=8).rules != one.rules


def test_progress_counts_parts_of_relations():
    seen = []
    find_candidates(
        random_graph(), everything, 3, work=Work(tick=lambda done, total: seen.append((done, total)))
    )
    total = seen[0][1]
    assert total >= 3
    assert seen == [(done, total) for done in range(1, total + 1)]


def test_bodies_too_long_for_their_keys_are_refused():
    graph = Graph.from_triples([(0, 0, 1)], 2, 10_000)
    with pytest.raises(RNNLogicError, match="64-bit keys: lower max_length"):
        find_candidates(graph, MineSettings(), 5)


def test_the_search_of_a_relation_can_run_in_another_process(monkeypatch):
    graph, handed = random_graph(), []

    def elsewhere(function, units, shared, *limits):
        handed.append(limits)
        function, shared = pickle.loads(pickle.dumps((function, shared)))
        return [pickle.loads(pickle.dumps(function(shared, unit))) for unit in units]

    banned = Banned.from_text(["* <- a & ..."], Vocab(("e",), ("a", "b", "c")))
    here = find_candidates(graph, MineSettings(), 3, banned, work=Work(1))
    monkeypatch.setattr(mine, "map_ordered", elsewhere)
    there = find_candidates(graph, MineSettings(), 3, banned, work=Work(1))
    assert handed
    assert there.rules == here.rules
    assert np.array_equal(there.joined, here.joined)


def test_edges_by_entity_hold_every_edge():
    graph = random_graph()
    edges = edges_by_entity(graph)
    found = {
        (entity, int(edges.relation[i]), int(edges.tail[i]))
        for entity in range(60)
        for i in range(edges.ptr[entity], edges.ptr[entity + 1])
    }
    assert found == facts_of(graph)
