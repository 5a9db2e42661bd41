"""Rules with constants: what they reach is what a plain reading of them says, also where facts are hidden."""

from itertools import product

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.graph import Graph
from rnnlogic.features.chains.paths import paths
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.rule import NONE, Chain, Constant
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.walks import facts_of

ENTITIES, RELATIONS = 5, 2
ALL = [
    Constant(0, step, constant, other, at_head)
    for at_head, constant, other, step in product(
        (False, True), range(ENTITIES), range(NONE, ENTITIES), range(2 * RELATIONS)
    )
]
RULES = RuleSet.from_rules(told._replace(head=r) for r in range(2 * RELATIONS) for told in ALL)


def random_graph(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    facts = rng.integers(0, (ENTITIES, RELATIONS, ENTITIES), (14, 3))
    return Graph.from_triples(facts, ENTITIES, RELATIONS)


def visible(graph, head, relation, hidden):
    """The facts that a query sees."""
    if hidden >= -1:
        return facts_of(graph, (head, relation, hidden) if hidden >= 0 else None)
    return {fact for fact in facts_of(graph) if {fact[0], fact[2]} != {head, -2 - hidden}}


def reached(told, facts, head):
    """The entities that a body reaches from a head."""
    body = [(h, t) for h, r, t in facts if r == told.step]
    if told.at_head:
        return {t for h, t in body if told.other in (NONE, h) and head == told.constant}
    return {told.constant for h, t in body if h == head and told.other in (NONE, t)}


def found_by(grounder, heads, relation, hidden):
    """(query, entity, rule) of all results."""
    return {
        row
        for part in grounder.ground(heads, relation, hidden)
        for row in zip(
            *(getattr(part.columns(), name).tolist() for name in ("query", "entity", "rule")), strict=True
        )
    }


@pytest.mark.parametrize("hide", ["nothing", "own fact", "all links"])
@pytest.mark.parametrize("seed", range(2))
def test_rules_reach_what_a_plain_reading_says(seed, hide):
    graph = random_graph(seed)
    grounder = Grounder(graph, RULES, threads=1)
    for relation in range(2 * RELATIONS):
        heads, tails = graph.edges(relation)
        hidden = {"nothing": np.full_like(tails, -1), "own fact": tails, "all links": -2 - tails}[hide]
        expected = {
            (query, entity, int(i))
            for query, (head, out) in enumerate(zip(heads.tolist(), hidden.tolist(), strict=True))
            for i in RULES.by_head(relation)
            for entity in reached(RULES[i], visible(graph, head, relation, out), head)
        }
        assert expected
        assert found_by(grounder, heads, relation, hidden) == expected


def test_chunks_bound_the_results_and_change_nothing():
    graph = random_graph(0)
    heads = graph.edges(0)[0]
    small = Grounder(graph, RULES, threads=1, chunk_results=100)
    assert len(list(small.ground(heads, 0))) > len(list(Grounder(graph, RULES, threads=1).ground(heads, 0)))
    assert found_by(small, heads, 0, None) == found_by(Grounder(graph, RULES, threads=1), heads, 0, None)


def test_chains_and_rules_with_constants_are_merged():
    graph = random_graph(1)
    chains = [Chain(0, (1,)), Chain(0, (1, 3))]
    both = RuleSet.from_rules([chains[0], ALL[7], chains[1], ALL[-1]])
    heads = graph.edges(0)[0]
    found = found_by(Grounder(graph, both, threads=1), heads, 0, None)
    for ids in ([0, 2], [1, 3]):
        alone = found_by(Grounder(graph, both[ids], threads=1), heads, 0, None)
        assert {(q, e, ids[i]) for q, e, i in alone} == {row for row in found if row[2] in ids}


def test_facts_behind_an_answer():
    graph = Graph.from_triples([(0, 0, 1), (0, 1, 2), (0, 1, 3), (4, 1, 2)], ENTITIES, RELATIONS)
    both, some, mirror = (Constant(0, *told) for told in ((1, 1, 2), (1, 1, NONE), (3, 1, 2, True)))
    assert [path.entities for path in paths(graph, 0, both, 1).paths] == [(0, 2)]
    assert [path.entities for path in paths(graph, 0, some, 1).paths] == [(0, 2), (0, 3)]
    assert paths(graph, 0, some, 1).total == 1, "a body holds or not"
    assert [path.entities for path in paths(graph, 1, mirror, 4).paths] == [(2, 4)]
    assert not paths(graph, 0, both, 4).paths
    assert not paths(graph, 3, both, 1).paths
    assert not paths(graph, 0, both, 1, hidden=(0, 1, 2)).paths


def test_entities_that_the_graph_lacks_are_refused():
    with pytest.raises(RNNLogicError, match="entities beyond the 5"):
        Grounder(random_graph(0), RuleSet.from_rules([Constant(0, 0, 5, NONE)]))
