"""Small datasets, and a scorer whose scores are given."""

from __future__ import annotations

import numpy as np

from rnnlogic.data.dataset import CleaningReport, Dataset
from rnnlogic.data.vocab import Vocab


def make_dataset(train, valid, test, num_entities, num_relations) -> Dataset:
    vocab = Vocab(
        tuple(f"e{i}" for i in range(num_entities)), tuple(f"relation{i}" for i in range(num_relations))
    )
    splits = [np.asarray(facts, dtype=np.int32).reshape(-1, 3) for facts in (train, valid, test)]
    return Dataset("tiny", vocab, *splits, report=CleaningReport(), source="made by a test")


class TableScorer:
    """Looks scores up in a table [2R, E, E] by relation and head; remembers what it was asked."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = table
        self.asked: list[list[tuple[int, int]]] = []
        self.graphs: list = []

    def score(self, graph, heads, relations):
        self.asked.append(list(zip(heads.tolist(), relations.tolist(), strict=True)))
        self.graphs.append(graph)
        return self.table[relations, heads]


def random_case(seed: int, ties: bool) -> tuple[Dataset, np.ndarray]:
    """A random dataset of 3 relations, and a score table with or without ties."""
    rng = np.random.default_rng(seed)
    num_entities, num_relations = int(rng.integers(5, 25)), 3
    num_facts = int(rng.integers(6, 4 * num_entities))
    keys = rng.choice(num_entities**2 * num_relations, num_facts, replace=False)
    facts = np.stack(np.unravel_index(keys, (num_entities, num_relations, num_entities)), axis=1)
    cut = np.sort(rng.integers(0, num_facts, 2))  # the test split is never empty
    dataset = make_dataset(*np.split(facts, cut), num_entities, num_relations)
    shape = (2 * num_relations, num_entities, num_entities)
    table = (
        rng.choice([-np.inf, -1.0, 0.5, 2.0], shape)
        if ties
        else rng.permuted(np.broadcast_to(np.arange(float(num_entities)), shape), axis=2)
    )
    return dataset, table


class NothingScorer:
    """Knows nothing: every entity is unreached."""

    def score(self, graph, heads, relations):
        return np.full((len(heads), graph.num_entities), -np.inf)
