"""Rules that RNNLogic+ was not trained on: its LSTM reads their bodies and gives them vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.predictors.base import Predictor
from rnnlogic.predictors.plus.network import BodyEncoder, padded_bodies
from rnnlogic.predictors.plus.predictor import PlusScorer
from rnnlogic.rules.ruleset import RuleSet


def with_unseen_rules(predictor: Predictor, rules: RuleSet) -> Predictor:
    """The network with rules [n] that come after those it knows, and that it was not trained on."""
    if not isinstance(predictor, PlusScorer) or not predictor.parameters.encoder:
        raise RNNLogicError(
            "only RNNLogic+ whose vectors come from an LSTM can use rules that it was not trained on, and "
            "only on the graph that it learned from (--variant plus --set plus.rule_vectors=lstm); else fit "
            "with them: --rules FILE --no-generate"
        )
    if not rules.are_chains.all():
        raise RNNLogicError(
            "only chain rules can be added: leave out rules with constants and other features"
        )
    known = predictor.parameters
    parameters = replace(
        known,
        vectors=np.concatenate([known.vectors, encode_rules(known.encoder, rules)]),
        psi=np.append(known.psi, np.zeros(len(rules), np.float32)),
    )
    both = predictor.rules | rules
    return replace(
        predictor,
        rules=both,
        weights=np.append(predictor.weights, np.zeros(len(rules))),
        parameters=parameters,
        rule_values=predictor.rule_values.of(both),
    )


def encode_rules(encoder: Mapping[str, NDArray[Any]], rules: RuleSet) -> NDArray[np.float32]:
    """Vectors [n, D] of any rules, by the parameters of a trained `BodyEncoder`."""
    num_relations, dim = encoder["head.weight"].shape
    network = BodyEncoder(num_relations, dim, "named.weight" in encoder)
    network.load_state_dict({name: torch.tensor(array) for name, array in encoder.items()})
    vectors = np.zeros((len(rules), dim), np.float32)
    with torch.no_grad():
        for relation in map(int, rules.head_relations()):
            ids = rules.by_head(relation)
            vectors[ids] = network(relation, padded_bodies(rules, ids, num_relations)).numpy()
    return vectors
