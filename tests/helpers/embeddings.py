"""Random embeddings, and phi by stepping through complex numbers, relation by relation."""

import cmath
import math

import numpy as np

from rnnlogic.embeddings.complex import ComplEx
from rnnlogic.embeddings.rotate import RotatE


def random_embedding(num_entities, num_relations, dim=5, seed=0, margin=4.0) -> RotatE:
    rng = np.random.default_rng(seed)
    entity = rng.normal(size=(num_entities, 2 * dim)).astype(np.float32)
    return RotatE(entity, rng.uniform(-3, 3, (num_relations, dim)).astype(np.float32), margin, 1)


def random_complex(entities=7, relations=3, dim=5, seed=0) -> ComplEx:
    rng = np.random.default_rng(seed)
    tables = (rng.normal(size=(n, 2 * dim)).astype(np.float32) for n in (entities, 2 * relations))
    return ComplEx(*tables, threads=1)


def path_distance(embedding, head, body, end) -> float:
    """Distance between the head, turned by one relation after the other, and the end."""
    dim, moduli = embedding.dim, []
    for d in range(dim):
        point = complex(embedding.entity[head, d], embedding.entity[head, dim + d])
        for relation in body:
            sign = 1 if relation < embedding.num_relations else -1
            point *= cmath.exp(1j * sign * float(embedding.phase[relation % embedding.num_relations, d]))
        moduli.append(abs(point - complex(embedding.entity[end, d], embedding.entity[end, dim + d])))
    return sum(moduli)


def path_score(paths, head, body, end) -> float:
    """phi of a path."""
    apart = path_distance(paths.embedding, head, body, end)
    return 1 / (1 + math.exp((apart - paths.delta) / paths.temperature))
