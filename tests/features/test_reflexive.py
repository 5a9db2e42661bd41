"""Own answers: X is an answer where another fact of the relation leads back."""

import numpy as np
import pytest

from rnnlogic.data.graph import Graph
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.rule import Feature
from rnnlogic.rules.ruleset import RuleSet

RULES = RuleSet.from_rules([Feature(0, "reflexive"), Feature(2, "reflexive")])


def own_answers(facts, head, relation, hidden=None):
    graph = Graph.from_triples(np.array(facts), 4, 2)
    return [
        one.candidates().entity.tolist() for one in Grounder(graph, RULES).ground([head], relation, hidden)
    ]


@pytest.mark.parametrize("relation", [0, 2], ids=["forwards", "backwards"])
def test_x_is_an_answer_where_a_fact_leads_back(relation):
    assert own_answers([(0, 0, 0), (1, 0, 2)], 3, relation) == [[3]]
    assert own_answers([(0, 1, 0), (1, 0, 2)], 3, relation) in ([], [[]])


def test_the_own_fact_proves_nothing():
    assert own_answers([(0, 0, 0), (1, 0, 2)], 0, 0, hidden=[0]) in ([], [[]])
    assert own_answers([(0, 0, 0), (1, 0, 1)], 0, 0, hidden=[0]) == [[0]]
