"""AMIE's statistics against counting pairs by hand."""

import pytest
from hypothesis import given, settings

from rnnlogic.data.graph import Graph
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics import pairs as module
from rnnlogic.statistics.pairs import amie_statistics
from tests.helpers.graphs import cases
from tests.helpers.walks import facts_of, paths


def by_hand(graph, rule):
    """Predictions, support, PCA predictions and head facts of a rule; the supporting pairs."""
    facts = facts_of(graph)
    head_facts = {(h, t) for h, r, t in facts if r == rule.head}
    subjects = {h for h, _ in head_facts}
    joined = {(x, path[-1]) for x in range(graph.num_entities) for path in paths(facts, x, rule.body)}
    found = joined & head_facts
    return len(joined), len(found), sum(x in subjects for x, _ in joined), len(head_facts), sorted(found)


@settings(max_examples=60)
@given(case=cases())
@pytest.mark.parametrize(
    ("bodies_at_once", "many"), [(2, 3), (module.BODIES, 3), (2, 100), (module.BODIES, 100)]
)
def test_statistics_equal_counting_pairs(case, bodies_at_once, many):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BODIES", bodies_at_once)
        patch.setattr(module, "MANY", many)
        found = amie_statistics(case.graph, case.rules, threads=2, examples=2)
    for i, rule in enumerate(case.rules):
        predictions, support, pca, facts, pairs = by_hand(case.graph, rule)
        counts = (*found.counts[:, i], found.head_facts[i])
        assert counts == (predictions, support, pca, facts)
        assert found.confidence[i] == (support / predictions if predictions else 0)
        assert found.pca_confidence[i] == (support / pca if pca else 0)
        assert found.head_coverage[i] == (support / facts if facts else 0)
        assert [tuple(pair) for pair in found.pairs[i].tolist() if pair[0] >= 0] == pairs[:2]
        examples = found.examples(case.graph, case.rules, i)
        assert [(path.entities[0], path.entities[-1]) for path in examples] == pairs[:2]
        assert all(
            path.entities in paths(facts_of(case.graph), path.entities[0], rule.body) for path in examples
        )


def test_the_example_of_the_amie_papers():
    """livesIn(x, y) <- wasBornIn(x, y): one person lives where born, one elsewhere, one unknown."""
    lives, born = 0, 1
    paris, oslo, rome = 4, 5, 6
    triples = [
        (0, lives, paris),
        (0, born, paris),
        (1, lives, oslo),
        (1, born, rome),
        (2, born, rome),
        (3, lives, oslo),
    ]
    rules = RuleSet.from_rules([Chain(lives, (born,))])
    found = amie_statistics(Graph.from_triples(triples, 7, 2), rules)
    figures = {name: values[0] for name, values in found.columns().items()}
    assert figures == {
        "predictions": 3,
        "support": 1,
        "confidence": 1 / 3,
        "pca_confidence": 1 / 2,
        "head_coverage": 1 / 3,
    }


def test_progress_and_no_rules():
    graph = Graph.from_triples([(0, 0, 1), (1, 0, 2)], 200, 1)
    told = []
    amie_statistics(
        graph, RuleSet.from_rules([Chain(0, (0, 0))]), tick=lambda done, total: told.append((done, total))
    )
    assert told[-1] == (200, 200)
    assert len(amie_statistics(graph, RuleSet.from_rules([])).support) == 0
