"""Prefix trie of the rule bodies of one head relation, so that shared prefixes are walked once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph


class Trie(NamedTuple):
    """Bodies in depth-first preorder; node 0 is the root (the empty body).

    A node's parent is the nearest earlier node that is one less deep. `body[k]` says which of the given
    bodies is the k-th to end in preorder, and `ends[node]` is that k, or -1.
    """

    relation: NDArray[np.int32]  # [nodes] relation of the step into the node; -1 at the root
    depth: NDArray[np.int32]  # [nodes]
    after: NDArray[np.int32]  # [nodes] first node after the node's subtree
    ends: NDArray[np.int32]  # [nodes] k of the body that ends here, or -1
    body: NDArray[np.int64]  # [bodies] k -> index into the bodies given


def build_trie(steps: NDArray[np.int32]) -> Trie:
    """Trie of distinct bodies: relation ids [bodies, longest], -1 after the end of a body."""
    order = np.lexsort(steps.T[::-1]) if steps.size else np.arange(len(steps))
    rows = steps[order]
    length = (rows >= 0).sum(axis=1)
    shared = _shared_prefixes(rows, length)
    if len(again := rows[1:][(rows[1:] == rows[:-1]).all(axis=1)]):
        raise ValueError(f"body {tuple(again[0][again[0] >= 0].tolist())} is given twice")
    new = length - shared  # nodes that a body adds to those before it
    last = np.cumsum(new)  # the node that each body ends in
    row = np.repeat(np.arange(len(rows)), new)
    position = np.arange(len(row)) - np.repeat(last - new, new) + shared[row]
    depth = np.append(0, position + 1).astype(np.int32)
    ends = np.full(len(depth), -1, np.int32)
    ends[last] = np.arange(len(rows))
    relation = np.append(-1, rows[row, position]).astype(np.int32)
    return Trie(relation, depth, _subtree_ends(depth), ends, order.astype(np.int64))


def turning_steps(trie: Trie, graph: Graph) -> NDArray[np.bool_]:
    """At which nodes [nodes] a simple path could step straight back; none if walks are counted.

    From x to y and back to x: then the step before and the inverse of the step both join x to y. The first
    two steps could only step back to the head, which simple paths never enter again.
    """
    is_deep = trie.depth > 2
    if graph.path_kind == "walks" or not is_deep.any():
        return np.zeros(len(trie.depth), np.bool_)
    last = np.zeros((int(trie.depth.max()) + 1, len(trie.depth)), np.int64)  # latest node of each depth
    for depth in range(len(last)):
        last[depth] = np.maximum.accumulate(np.where(trie.depth == depth, np.arange(len(trie.depth)), 0))
    parent = last[np.maximum(trie.depth - 1, 0), np.arange(len(trie.depth))]
    relations = 2 * graph.num_relations
    back = (trie.relation.astype(np.int64) + graph.num_relations) % relations
    return is_deep & np.isin(trie.relation[parent].astype(np.int64) * relations + back, graph.linked_alike)


def _shared_prefixes(rows: NDArray[np.int32], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many first steps each row [n] shares with the row before; 0 for the first."""
    same = np.logical_and.accumulate(rows[1:] == rows[:-1], axis=1).sum(axis=1)
    return np.append(np.zeros(min(len(rows), 1), np.int64), np.minimum(same, length[:-1]))


def _subtree_ends(depth: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each node in preorder the index of the next node that is not deeper."""
    after = np.empty(len(depth), np.int32)
    for level in range(int(depth.max()) + 1):
        not_deeper = np.append(np.flatnonzero(depth <= level), len(depth))
        own = np.flatnonzero(depth[not_deeper[:-1]] == level)
        after[not_deeper[own]] = not_deeper[own + 1]
    return after
