"""Independent ways to count walks: by listing them, and by SciPy matrix products."""

import numpy as np
import scipy.sparse as sparse

from rnnlogic.features.table import Candidates


def facts_of(graph, hidden_fact=None):
    """All (head, relation, tail) with inverses, as a set, less one fact in both directions."""
    facts = set()
    for h, r, t in graph.triples().tolist():
        facts |= {(h, r, t), (t, r + graph.num_relations, h)}
    if hidden_fact is not None:
        h, r, t = hidden_fact
        facts -= {(h, r, t), (t, graph.inverse(r), h)}
    return facts


def walks(facts, head, body):
    """Every walk along `body` from `head`, as a list of entity tuples."""
    found = [(head,)]
    for relation in body:
        found = [(*walk, t) for walk in found for h, r, t in facts if h == walk[-1] and r == relation]
    return found


def paths(facts, head, body):
    """The walks that come back neither to X nor to one of their last two entities."""
    return [
        walk
        for walk in walks(facts, head, body)
        if all(e != walk[0] and e not in walk[max(i - 1, 0) : i + 1] for i, e in enumerate(walk[1:]))
    ]


def matrix_counts(graph, head, body, hidden_fact=None):
    """Walk counts [E] by sparse matrix products."""
    row = sparse.csr_array(([1], ([0], [head])), shape=(1, graph.num_entities), dtype=np.int64)
    facts = facts_of(graph, hidden_fact)
    for relation in body:
        edges = [(h, t) for h, r, t in facts if r == relation]
        heads, tails = [h for h, _ in edges], [t for _, t in edges]
        shape = (graph.num_entities, graph.num_entities)
        row = row @ sparse.csr_array((np.ones(len(edges), np.int64), (heads, tails)), shape=shape)
    return row.toarray()[0]


def expected_counts(case):
    """{(query, entity, rule): count} for every query by listing paths."""
    result = {}
    for q, (head, relation, hidden) in enumerate(case.queries):
        facts = facts_of(case.graph, (head, relation, hidden) if hidden >= 0 else None)
        for i, rule in enumerate(case.rules):
            if rule.head == relation:
                for path in paths(facts, head, rule.body):
                    key = (q, path[-1], i)
                    result[key] = result.get(key, 0) + 1
    return result


def candidates_of(query_ptr, candidate_ptr, rule, value=(), label=(), *, heads=None, entity=None, relation=0):
    """Candidates from plain lists; rules are numbered as in the whole set."""
    queries, number = len(query_ptr) - 1, len(candidate_ptr) - 1
    return Candidates(
        relation,
        np.arange(queries),
        np.asarray(range(queries) if heads is None else heads, np.int32),
        np.asarray(query_ptr, np.int64),
        np.asarray(range(number) if entity is None else entity, np.int32),
        np.asarray(candidate_ptr, np.int64),
        np.asarray(rule, getattr(rule, "dtype", np.int32)),
        np.ones(len(rule), np.int32),
        np.arange(int(max(rule, default=-1)) + 1),
        np.ones(int(max(rule, default=-1)) + 1, bool),
        np.asarray(value, np.float32),
        np.asarray(label, np.int8),
    )
