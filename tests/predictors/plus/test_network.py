"""Scores and gradients against a dense twin in plain torch, rules x candidates x dim, by autograd."""

import numpy as np
import pytest
import torch

from rnnlogic.predictors.plus.kernels import EPSILON
from rnnlogic.predictors.plus.network import PlusNetwork, padded_bodies
from rnnlogic.predictors.plus.predictor import pack_plus, unpack_plus
from rnnlogic.predictors.plus.settings import PlusSettings
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.candidates import NUM_RULES, dense, random_candidates

USUAL = 1.3
RULES = RuleSet.from_rules(
    [Chain(1, (0, 2)), Chain(0, (1,)), *(Chain(1, (i % 4, 3, 0)[: 1 + i % 3]) for i in range(NUM_RULES - 1))]
)
CHOICES = [(a, v) for a in ("pna", "sum") for v in ("embedding", "lstm")]


def network_of(aggregator, rule_vectors, **changes):
    settings = PlusSettings(
        aggregator=aggregator, rule_vectors=rule_vectors, dim=4, hidden=5, linear="none", **changes
    )
    network = PlusNetwork(RULES, 4, np.linspace(-1, 1, len(RULES)), USUAL, settings, seed=0).double()
    torch.nn.init.normal_(network.output)
    return network


def twin_vectors(network, relation):
    """One rule at a time through the LSTM, or the rows of the table."""
    if network.settings.rule_vectors == "embedding":
        return network.vectors[str(relation)]
    encoder, rows = network.encoder, []
    for i in RULES.by_head(relation):
        steps = torch.tensor(RULES[int(i)].body)
        inputs = torch.cat([encoder.head.weight[[relation]], encoder.step.weight[steps]])
        rows.append(encoder.out(encoder.lstm(inputs[None])[0][0, -1]))
    return torch.stack(rows)


def twin_scores(network, relation, candidates):
    values = torch.tensor(dense(candidates))  # [c, k]
    messages = values[:, :, None] * twin_vectors(network, relation)[None]  # [c, k, D]
    absent = (values == 0)[:, :, None]
    degree = (values > 0).sum(dim=1)[:, None].double()
    if network.settings.aggregator == "sum":
        inputs = messages.sum(dim=1)
    else:
        least = messages.masked_fill(absent, torch.inf).amin(dim=1)
        most = messages.masked_fill(absent, -torch.inf).amax(dim=1)
        mean = messages.sum(dim=1) / degree.clamp(min=1)
        squares = ((messages - mean[:, None]) ** 2).masked_fill(absent, 0).sum(dim=1)
        parts = [mean, least, most, torch.sqrt(squares / degree.clamp(min=1) + EPSILON)]
        features = torch.cat(parts, dim=1).masked_fill(degree == 0, 0)
        amplified = torch.log1p(degree.clamp(min=1)) / USUAL
        inputs = torch.cat([features, features * amplified, features / amplified], dim=1)
    by_relation = network.by_relation(network.relation.weight[relation])
    hidden = torch.relu(inputs @ network.layer.flatten(0, 1) + by_relation)
    return hidden @ network.output


@pytest.mark.parametrize(("aggregator", "rule_vectors"), CHOICES)
@pytest.mark.parametrize("seed", range(3))
def test_scores_and_gradients(aggregator, rule_vectors, seed):
    network, candidates = network_of(aggregator, rule_vectors), random_candidates(seed)
    found, expected = network(candidates), twin_scores(network, 1, candidates)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    upstream = torch.tensor(np.random.default_rng(seed).normal(size=len(found)))
    parameters = network.parameters_of(1)
    gradients = torch.autograd.grad(found @ upstream, parameters)
    twins = torch.autograd.grad(expected @ upstream, parameters)
    for gradient, twin in zip(gradients, twins, strict=True):
        torch.testing.assert_close(gradient, twin, rtol=1e-6, atol=1e-6)
    assert sum(bool(gradient.abs().sum() > 0) for gradient in gradients) == len(gradients)


@pytest.mark.parametrize(("aggregator", "rule_vectors"), CHOICES)
def test_numpy_says_the_same(aggregator, rule_vectors):
    network, candidates = network_of(aggregator, rule_vectors).float(), random_candidates(5)
    eta = np.arange(4.0)
    parameters = unpack_plus(pack_plus(network.as_arrays(eta)))
    ids = RULES.by_head(1)[candidates.rule]
    found = parameters.rule_scores(1, candidates.candidate_ptr, ids, candidates.value)
    np.testing.assert_allclose(found, network(candidates).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert parameters.unreached_score(1) == pytest.approx(found[0], rel=1e-5)  # 32-bit numbers
    np.testing.assert_array_equal(parameters.eta, eta)
    assert bool(parameters.encoder) == (rule_vectors == "lstm")


def test_it_starts_as_rnnlogic():
    psi, candidates = np.linspace(-1, 1, len(RULES)), random_candidates(1)
    expected = dense(candidates) @ psi[RULES.by_head(1)]
    for linear in ("fixed", "none"):
        network = PlusNetwork(RULES, 4, psi, USUAL, PlusSettings(linear=linear), seed=3)
        assert not network(candidates).any()  # psi is added to what the network says
        ids = RULES.by_head(1)[candidates.rule]
        scores = network.as_arrays(np.zeros(4)).rule_scores(
            1, candidates.candidate_ptr, ids, candidates.value
        )
        np.testing.assert_allclose(
            scores, 0 * expected if linear == "none" else expected, rtol=1e-5, atol=1e-6
        )


def test_bodies_are_padded():
    assert padded_bodies(RULES, np.array([1, 0]), 9).tolist() == [[1, 9], [0, 2]]
