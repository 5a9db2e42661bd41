"""The grounded structure: both ids of a rule, one candidate, chunks joined."""

import numpy as np
from hypothesis import given

from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import joined, no_candidates, sums_by_candidate
from tests.helpers.graphs import cases
from tests.helpers.walks import expected_counts


@given(case=cases())
def test_one_candidate_has_its_rules_and_counts(case):
    grounder = Grounder(case.graph, case.rules, threads=1)
    for head, relation, hidden in case.queries:
        expected = {}
        one = type(case)(case.graph, case.rules, [(head, relation, hidden)])
        for (_, entity, rule), count in expected_counts(one).items():
            expected.setdefault(entity, {})[rule] = count
        for part in grounder.candidates([head], relation, hidden):
            for entity in range(case.graph.num_entities):
                found = part.at(entity)
                known = dict(zip(found.rule_id.tolist(), found.count.tolist(), strict=True))
                assert known == expected.get(entity, {})
                assert found.rule_id.tolist() == case.rules.by_head(relation)[found.rule].tolist()
                assert len(found) == bool(known)


@given(case=cases())
def test_joined_chunks_are_one(case):
    for relation in {relation for _, relation, _ in case.queries}:
        heads = [head for head, r, _ in case.queries if r == relation]
        whole = list(Grounder(case.graph, case.rules, 1).candidates(heads, relation))
        parts = list(Grounder(case.graph, case.rules, 1, chunk_queries=1).candidates(heads, relation))
        if whole:
            one, other = joined(whole), joined(parts)
            for name in (
                "queries",
                "heads",
                "query_ptr",
                "entity",
                "candidate_ptr",
                "rule",
                "count",
                "query",
            ):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_nothing():
    none = no_candidates(3, 7)
    assert (len(none), none.num_queries, none.heads.tolist()) == (0, 1, [7])
    assert none.at(2).rule_id.tolist() == []
    assert sums_by_candidate(np.empty(0), none.candidate_ptr).tolist() == []
