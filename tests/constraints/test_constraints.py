"""What constraints allow is what facts show, one answer at a time and many at once."""

import numpy as np
import pytest

from rnnlogic.constraints.constraint import Constraint
from rnnlogic.constraints.constraints import CODES, Constraints
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab

ENTITIES, RELATIONS = 9, 3
VOCAB = Vocab(tuple(f"e{i}" for i in range(ENTITIES)), tuple(f"r{i}" for i in range(RELATIONS)))
EVERY = (
    Constraint("functional", 0, most=2),
    Constraint("functional", 4),
    Constraint("irreflexive", 1),
    Constraint("asymmetric", 2),
    Constraint("exclusive", 0, 2),
    Constraint("exclusive", 0, 4),
    Constraint("roles", 2, 4),
    Constraint("functional", 2, exceptions=1),  # excludes nothing
)


def breaks(known, one, head, relation, tail):
    """Whether a new fact breaks a constraint, from the definition: add it, and look."""
    facts = known | {(head, relation, tail)}
    facts |= {(t, r + RELATIONS, h) for h, r, t in facts if r < RELATIONS}
    mine = relation, relation + RELATIONS
    heads = {r: {h for h, q, _ in facts if q == r} for r in range(2 * RELATIONS)}
    if one.exceptions:
        return False
    if one.kind == "functional":
        own = {one.relation % RELATIONS: (head, tail)[one.relation >= RELATIONS]}.get(relation)
        return own is not None and sum(h == own and r == one.relation for h, r, _ in facts) > one.most
    if one.kind == "irreflexive":
        return relation == one.relation and head == tail
    if one.kind == "asymmetric":
        return relation == one.relation and (tail, relation, head) in known
    if one.kind == "exclusive":
        new = {(head, relation, tail), (tail, relation + RELATIONS, head)}
        return any(
            (h, one.other, t) in facts and {(h, one.relation, t), (h, one.other, t)} & new
            for h, r, t in facts
            if r == one.relation
        )
    ends = {relation: head, relation + RELATIONS: tail}
    return any(
        side in mine and ends[side] in heads_of(known, other)
        for side, other in ((one.relation, one.other), (one.other, one.relation))
    ) and bool(heads)


def heads_of(known, relation):
    """Entities that stand first in known facts of a relation in 0..2R-1."""
    return {h if relation < RELATIONS else t for h, r, t in known if r == relation % RELATIONS}


@pytest.mark.parametrize("seed", range(5))
def test_allowed_by_definition(seed):
    rng = np.random.default_rng(seed)
    facts = np.stack([rng.integers(0, n, 14) for n in (ENTITIES, RELATIONS, ENTITIES)], axis=1)
    known = set(map(tuple, facts.tolist()))
    found = Constraints(Graph.from_triples(facts, ENTITIES, RELATIONS), VOCAB, EVERY)
    for relation in range(2 * RELATIONS):
        for head in range(ENTITIES):
            mask = found.allowed(head, relation, np.arange(ENTITIES))
            for tail in range(ENTITIES):
                turned = relation >= RELATIONS
                fact = (tail, relation - RELATIONS, head) if turned else (head, relation, tail)
                wanted = fact in known or not any(breaks(known, one, *fact) for one in EVERY)
                assert mask[tail] == wanted, (fact, known)
                assert bool(found.reason(head, relation, tail)) == (not wanted)


def test_many_facts_at_once_and_their_kinds():
    graph = Graph.from_triples([(0, 0, 1), (0, 0, 2), (3, 1, 4)], ENTITIES, RELATIONS)
    found = Constraints(graph, VOCAB, EVERY)
    codes = found.broken(np.array([(0, 0, 5), (1, 0, 5), (0, 0, 1)]))
    assert codes.tolist() == [CODES["functional"], 0, 0]  # full, free, known
    assert found.left_out(codes) == {"functional": 1}
    assert found.reason(0, 0, 5) == "e0 already has r0: e1, e2"
    assert found.reason(6, 1, 6) == "r1 never joins an entity to itself"
    assert found.reason(7, 1, 4) == "e4 already has r1^-1: e3"
    assert found.broken(np.empty((0, 3), np.int64)).tolist() == []


def test_a_fact_that_would_be_an_exception_is_doubted_with_the_record():
    """r2 has one answer but for an exception; what is known itself is no other answer."""
    graph = Graph.from_triples(np.array([(0, 2, 1), (3, 2, 4), (3, 2, 5)]), ENTITIES, RELATIONS)
    soft = Constraint("functional", 2, cases=100, exceptions=4)
    found = Constraints(graph, VOCAB, [Constraint("functional", 2 + RELATIONS), soft])
    told = "e0 already has r2: e1; 96 of 100 heads have one answer"
    assert found.doubt(0, 2, 6) == found.doubt(6, 2 + RELATIONS, 0) == told
    assert found.doubt(0, 2, 1) == found.doubt(7, 2, 6) == found.doubt(0, 1, 6) == ""
    assert found.doubt(3, 2, 4) == "e3 already has r2: e5; 96 of 100 heads have one answer"
