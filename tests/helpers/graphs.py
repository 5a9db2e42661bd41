"""Random small graphs with everything that hurts: self-loops, parallel relations, cycles, lonely entities."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from rnnlogic.data.graph import Graph
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet

ENTITIES, RELATIONS = 7, 2  # the last entity never has an edge


@dataclass
class Case:
    graph: Graph
    rules: RuleSet
    queries: list[tuple[int, int, int]]  # head, relation, hidden answer or -1

    @property
    def heads(self):
        return [head for head, _, _ in self.queries]

    @property
    def relations(self):
        return [relation for _, relation, _ in self.queries]

    @property
    def hidden(self):
        return [hidden for _, _, hidden in self.queries]


entities = st.integers(0, ENTITIES - 2)
facts = st.tuples(entities, st.integers(0, RELATIONS - 1), entities)
relation_ids = st.integers(0, 2 * RELATIONS - 1)
rules = st.builds(Chain, relation_ids, st.lists(relation_ids, max_size=4).map(tuple))


@st.composite
def cases(draw):
    triples = draw(st.lists(facts, max_size=14))
    graph = Graph.from_triples(np.array(triples, int).reshape(-1, 3), ENTITIES, RELATIONS)
    rule_set = RuleSet.from_rules(draw(st.lists(rules, max_size=12)))
    own = [(h, r, t) for h, r, t in triples] + [(t, r + RELATIONS, h) for h, r, t in triples]
    own += [(h, r, -1) for h, r, _ in own]
    others = st.tuples(st.integers(0, ENTITIES - 1), relation_ids, st.just(-1))
    queries = draw(st.lists(st.one_of(st.sampled_from(own), others) if own else others, max_size=6))
    return Case(graph, rule_set, queries)
