"""Differentiable walks: one step along all edges of a graph, weighted by relation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rnnlogic.data.graph import Graph


class Edges(NamedTuple):
    """All edges of a graph, inverses too, as columns [n]."""

    head: Tensor
    relation: Tensor
    tail: Tensor
    num_entities: int


class Questions(NamedTuple):
    """Queries (head, relation, ?) of one relation; walks do not use the facts of `hidden` answers."""

    relation: int
    inverse: int
    heads: Tensor  # [B]
    hidden: Tensor | None  # [B] answers


def edges_of(graph: Graph) -> Edges:
    """All edges as tensors, ordered by relation."""
    columns = [graph.edges(relation) for relation in range(2 * graph.num_relations)]
    relation = np.repeat(np.arange(len(columns)), [len(heads) for heads, _ in columns])
    head, tail = (np.concatenate([column[i] for column in columns]).astype(np.int64) for i in (0, 1))
    return Edges(torch.as_tensor(head), torch.as_tensor(relation), torch.as_tensor(tail), graph.num_entities)


def start(edges: Edges, questions: Questions, walkers: int) -> Tensor:
    """Where the walks begin: all mass at the heads, [E, B, walkers]."""
    count = len(questions.heads)
    state = torch.zeros(edges.num_entities, count, walkers)
    state[questions.heads, torch.arange(count)] = 1.0
    return state


def step(edges: Edges, questions: Questions, state: Tensor, weights: Tensor) -> Tensor:
    """Move the state [E, B, walkers] along every edge; one of relation r carries weights[walker, r] of it.

    weights [walkers, 2R + 1]; the last column is the share that stays.
    """
    strength = weights.t()  # [2R + 1, walkers]
    carried = state[edges.head] * strength[edges.relation].unsqueeze(1)  # [n, B, walkers]
    moved = (state * strength[-1]).index_add(0, edges.tail, carried)
    if questions.hidden is None:
        return moved
    queries, heads, answers = torch.arange(len(questions.heads)), questions.heads, questions.hidden
    forth = state[heads, queries] * strength[questions.relation]  # [B, walkers] along the hidden facts
    back = state[answers, queries] * strength[questions.inverse]
    moved = moved.index_put((answers, queries), -forth, accumulate=True)
    return moved.index_put((heads, queries), -back, accumulate=True)
