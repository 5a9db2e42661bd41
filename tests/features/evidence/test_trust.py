"""The most trusted rule that reaches an answer, as evidence."""

import numpy as np
import pytest

from rnnlogic.data.graph import Graph
from rnnlogic.features.evidence.surest import SUREST, strengths
from rnnlogic.features.evidence.trust import kernels, reference
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.rule import Chain, Constant, Feature
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import trust_of


def cells(rng, bodies, queries, entities):
    """Distinct entities that each body reaches for each query."""
    found = [rng.permutation(entities)[: rng.integers(entities)] for _ in range(bodies * queries)]
    return np.concatenate(found).astype(np.int32), np.append(0, np.cumsum([len(own) for own in found]))


@pytest.mark.parametrize("entities", [6, 700])
@pytest.mark.parametrize("seed", range(3))
def test_the_kernels_are_those_of_the_twin(seed, entities):
    rng = np.random.default_rng(seed)
    bodies, queries = 5, 7
    strength = np.where(rng.random(bodies) < 0.3, 0, rng.random(bodies)).astype(np.float32)
    entity, ptr = cells(rng, bodies, queries, entities)
    largest = np.zeros(entities, np.float32)
    found, expected = (
        module.largest_by_query(entity, ptr, strength, queries, largest) for module in (kernels, reference)
    )
    assert not largest.any()
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert len(found[1])
    rule, sizes = rng.integers(bodies, size=40).astype(np.int32), rng.multinomial(40, [1 / 9] * 9)
    asked = np.append(0, np.cumsum(sizes)), rule, strength
    np.testing.assert_array_equal(
        kernels.largest_by_candidate(*asked), reference.largest_by_candidate(*asked)
    )
    columns = np.array([3, 0, 4])
    asked = ptr[::queries], entity, columns, strength[columns], entities
    np.testing.assert_array_equal(kernels.largest_by_column(*asked), reference.largest_by_column(*asked))


def test_every_answer_that_a_trusted_chain_reaches_gets_the_largest_trust():
    facts = [(0, 0, 1), (0, 1, 1), (0, 1, 2), (0, 2, 3), (4, 2, 4)]
    graph = Graph.from_triples(facts, 5, 3)
    named = RuleSet.from_rules([Constant(0, 2, 2, 3), Feature(0, SUREST)])
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(0, (1, 4, 1)), Chain(0, (2,))]).trusted([0.5, 0.2, 0.0])
    rules |= named.trusted([0.9, 0.0])
    assert rules.are_feature(SUREST).tolist() == [False] * 4 + [True]
    assert strengths(rules, np.arange(5)) == pytest.approx(np.log1p([50, 20, 0, 0, 0]))
    found = next(Grounder(graph, rules, 1).ground([0], 0)).columns()
    values = {int(e): v for e, r, v in zip(found.entity, found.rule, found.count, strict=True) if r == 4}
    assert values == pytest.approx({1: np.log(51), 2: np.log(51)})
    fewer = next(Grounder(graph, rules[[1, 4]], 1).ground([0], 0)).columns()
    assert fewer.count[fewer.rule == 1] == pytest.approx(np.log([21, 21]))


def test_trust_goes_along_with_rules():
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(1, (0,)), Chain(1, (2,))])
    trusted = rules.trusted([0.1, 0.2, 0.3])
    assert trusted == rules
    assert not rules.trust.any()
    assert trusted[[2, 0]].trust == pytest.approx([0.3, 0.1])
    both = trusted[[0]] | rules.trusted([0.7, 0.8, 0.9])
    assert both.trust == pytest.approx([0.1, 0.8, 0.9]), "what is there already stays as it is"


def test_a_rule_is_trusted_by_other_facts_than_the_one_asked_about():
    support, confidence = np.array([0, 1, 11, 10]), np.array([0.0, 1.0, 1.0, 0.5])
    assert trust_of(support, confidence) == pytest.approx([0, 0, 10 / 15, 9 / 24])
