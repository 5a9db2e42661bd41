"""phi of a path: how well the embedding thinks that its relations lead from its head to its end.

phi(path) = sigmoid((delta - d(x_head o x_r1 o ... o x_rl, x_end)) / temperature). It depends on the two ends
and on the sum of the phases of the body: the same relations in another order turn a head alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.features.table import Candidates
from rnnlogic.predictors.paths.kernels import Results, Vectors, path_distances
from rnnlogic.rules.ruleset import RuleSet

Distance = Literal["modulus", "euclidean"]  # sum of the moduli, or root of the sum of their squares


class Turns(NamedTuple):
    """How the rules of one relation turn their heads."""

    of_rule: NDArray[np.int32]  # [rules of the relation]
    is_named: NDArray[np.bool_]  # [rules of the relation] features have no paths: their phi is 1
    cosine: NDArray[np.float32]  # [k, D]
    sine: NDArray[np.float32]  # [k, D]


@dataclass(frozen=True, eq=False)
class PathModel:
    """An embedding, and how its distances become scores of paths."""

    embedding: RotatE
    delta: float
    temperature: float = 1.0
    distance: Distance = "modulus"

    def turns(self, rules: RuleSet, relation: int) -> Turns:
        """The turns of all rules of a relation."""
        net = _net_relations(rules, relation, self.embedding.num_relations)
        different, of_rule = np.unique(net, axis=0, return_inverse=True)
        phases = different.astype(np.float32) @ self.embedding.phase
        is_named = rules.are_features[rules.by_head(relation)]
        return Turns(of_rule.ravel().astype(np.int32), is_named, np.cos(phases), np.sin(phases))

    def phi(self, turns: Turns, candidates: Candidates) -> NDArray[np.float32]:
        """phi [n] of the paths of each rule to each candidate."""
        vectors = Vectors(self.embedding.entity, turns.cosine, turns.sine)
        results = Results(
            candidates.heads,
            np.argsort(candidates.heads, kind="stable"),
            candidates.query_ptr,
            candidates.entity,
            candidates.candidate_ptr,
            turns.of_rule[candidates.rule],
        )
        phi = path_distances(vectors, results, self.distance == "euclidean")
        phi -= np.float32(self.delta)
        phi /= np.float32(self.temperature)
        with np.errstate(over="ignore"):  # infinity becomes 0
            np.exp(phi, out=phi)
        phi += 1
        np.reciprocal(phi, out=phi)
        if turns.is_named.any():
            phi[turns.is_named[candidates.rule]] = 1
        return phi


def _net_relations(rules: RuleSet, relation: int, num_relations: int) -> NDArray[np.int8]:
    """For each rule [n, R], how often it follows each relation, steps against it subtracted."""
    steps = rules.steps(rules.by_head(relation))
    rule, place = np.nonzero(steps >= 0)
    step = steps[rule, place].astype(np.int64)
    net = np.zeros((len(steps), num_relations), np.int8)
    np.add.at(net, (rule, step % num_relations), np.where(step < num_relations, 1, -1).astype(np.int8))
    return net
