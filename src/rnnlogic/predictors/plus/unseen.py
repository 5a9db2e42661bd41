"""Rules that RNNLogic+ was not trained on: its LSTM reads their bodies and gives them vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.graph import Graph
from rnnlogic.learning.result import Learned
from rnnlogic.mining.statistics import rule_statistics, training_queries
from rnnlogic.predictors.plus.network import BodyEncoder, padded_bodies
from rnnlogic.rules.ruleset import RuleSet


def with_unseen_rules(learned: Learned, rules: RuleSet, graph: Graph, most_queries: int) -> Learned:
    """The network with rules it has not seen; statistics on at most so many queries of each relation."""
    if learned.plus is None or not learned.plus.encoder:
        raise RNNLogicError(
            "only RNNLogic+ whose vectors come from an LSTM can use rules that it was not trained on, and "
            "only on the graph that it learned from (--variant plus --set plus.rule_vectors=lstm); else fit "
            "with them: --rules FILE --no-generate"
        )
    new = RuleSet.from_rules(rule for rule in rules if rule not in learned.rules)
    statistics = rule_statistics(graph, new, training_queries(graph, most_queries, 0))
    vectors = encode_rules(learned.plus.encoder, new)
    plus = replace(
        learned.plus,
        vectors=np.concatenate([learned.plus.vectors, vectors]),
        psi=np.append(learned.plus.psi, np.zeros(len(new), np.float32)),
    )
    return replace(
        learned,
        rules=learned.rules | new,
        weights=np.append(learned.weights, np.zeros(len(new))),
        log_prior=np.append(learned.log_prior, np.full(len(new), np.nan)),
        support=np.append(learned.support, statistics.support),
        confidence=np.append(learned.confidence, statistics.confidence),
        plus=plus,
    )


def encode_rules(encoder: Mapping[str, NDArray[Any]], rules: RuleSet) -> NDArray[np.float32]:
    """Vectors [n, D] of any rules, by the parameters of a trained `BodyEncoder`."""
    num_relations, dim = encoder["head.weight"].shape
    network = BodyEncoder(num_relations, dim)
    network.load_state_dict({name: torch.tensor(array) for name, array in encoder.items()})
    vectors = np.zeros((len(rules), dim), np.float32)
    with torch.no_grad():
        for relation in map(int, rules.head_relations()):
            ids = rules.by_head(relation)
            vectors[ids] = network(relation, padded_bodies(rules, ids, num_relations)).numpy()
    return vectors
