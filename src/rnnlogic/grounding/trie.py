"""Prefix trie of the rule bodies of one head relation, so that shared prefixes are walked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


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


def build_trie(bodies: Sequence[tuple[int, ...]]) -> Trie:
    """Trie of distinct bodies (each a tuple of relation ids)."""
    order = sorted(range(len(bodies)), key=bodies.__getitem__)
    relation, depth, ends = [-1], [0], [-1]
    previous: tuple[int, ...] = ()
    for k, index in enumerate(order):
        body = bodies[index]
        shared = _shared_prefix(previous, body)
        for position in range(shared, len(body)):
            relation.append(body[position])
            depth.append(position + 1)
            ends.append(-1)
        if ends[-1] >= 0:
            raise ValueError(f"body {body} is given twice")
        ends[-1] = k
        previous = body
    return Trie(
        np.array(relation, np.int32),
        np.array(depth, np.int32),
        _subtree_ends(depth),
        np.array(ends, np.int32),
        np.array(order, np.int64),
    )


def _shared_prefix(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length


def _subtree_ends(depth: list[int]) -> NDArray[np.int32]:
    """For each node in preorder the index of the next node that is not deeper."""
    after = np.empty(len(depth), np.int32)
    open_nodes: list[int] = []
    for node, level in enumerate(depth):
        while open_nodes and depth[open_nodes[-1]] >= level:
            after[open_nodes.pop()] = node
        open_nodes.append(node)
    after[open_nodes] = len(depth)
    return after
