"""A small dataset and quick settings."""

import numpy as np

from rnnlogic.data.dataset import Dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.settings import RotatESettings

ENTITIES, RELATIONS = 30, 3
TINY = RotatESettings(
    dim=9, margin=4, batch_size=40, share=15, negatives=11, epochs=12, learning_rate=0.05, evaluations=3
)


def make_ring() -> Dataset:
    """Relation k leads k + 1 steps along a ring of entities: rotations can tell all of it."""
    vocab = Vocab(tuple(f"e{i:02}" for i in range(ENTITIES)), tuple(f"r{k}" for k in range(RELATIONS)))
    facts = [(i, k, (i + k + 1) % ENTITIES) for i in range(ENTITIES) for k in range(RELATIONS)]
    shuffled = np.random.default_rng(0).permutation(np.array(facts, np.int32))
    return Dataset("ring", vocab, shuffled[:70].copy(), shuffled[70:80].copy(), shuffled[80:].copy())
