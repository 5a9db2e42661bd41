"""Training the generator, and its file."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from rnnlogic.base.budget import Work
from rnnlogic.base.types import no_tick
from rnnlogic.generator.network import RuleGenerator
from rnnlogic.generator.train import Schedule, fit_generator
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet

BODIES = [(1,), (2, 3), (3, 2), (1, 1, 2), (3, 1, 0)]
RULES = RuleSet.from_rules(Chain(head, body) for head in (0, 2) for body in BODIES)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Tiny networks gain nothing from threads, and lose much where other processes compete."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small(seed=0):
    return RuleGenerator(4, 3, input_size=16, hidden_size=16, seed=seed)


def fit(net, rules=RULES, weights=None, steps=200, seed=0, tick=no_tick, **options):
    weights = np.ones(len(rules)) if weights is None else weights
    schedule, random = Schedule(steps, **{"learning_rate": 0.02, **options}), np.random.default_rng(seed)
    return fit_generator(net, rules, weights, schedule, random, Work(tick=tick))


@pytest.mark.parametrize("batch_size", [7, 100])
def test_the_rules_given_become_the_most_probable(batch_size):
    net = small()
    result = fit(net, batch_size=batch_size)
    found = net.beam([0, 2], len(BODIES), width=30)
    assert set(found.rules) == set(RULES)
    assert -net.log_probs(RULES).mean() == pytest.approx(np.log(len(BODIES)), rel=0.1)
    assert result.loss == result.losses[-20:].mean()
    assert result.losses[0] > 1.5 * result.loss


@pytest.mark.parametrize("batch_size", [7, 100])
def test_probabilities_approach_the_shares_of_the_weights(batch_size):
    weights = np.array([1.0, 2, 3, 4, 10, 100, 100, 100, 50, 50])
    net = small()
    fit(net, weights=weights, steps=400, batch_size=batch_size)
    expected = weights / np.repeat([weights[:5].sum(), weights[5:].sum()], 5)
    np.testing.assert_allclose(np.exp(net.log_probs(RULES)), expected, atol=0.06)


@pytest.mark.parametrize(("per_relation", "share"), [(True, 0.5), (False, 0.01)])
def test_relations_count_alike_or_by_their_weights(per_relation, share):
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(2, (1, 3)), Chain(2, (3,))])
    net = small()
    losses = -net.log_probs(rules)
    result = fit(net, rules, [1.0, 66, 33], steps=1, per_relation=per_relation)
    expected = share * losses[0] + (1 - share) * (2 * losses[1] + losses[2]) / 3
    assert result.losses == pytest.approx([expected], rel=1e-5)


def test_batches_are_drawn_by_weight():
    """With a rate of 0 the mean batch loss is the weighted mean of -log p."""
    weights = np.random.default_rng(0).pareto(1.0, len(RULES))
    net = small()
    result = fit(net, weights=weights, steps=300, batch_size=3, learning_rate=0.0, per_relation=False)
    assert result.losses.mean() == pytest.approx(-np.average(net.log_probs(RULES), weights=weights), rel=0.03)


def test_rules_without_weight_do_not_count():
    weights = np.where(RULES.heads == 0, 1.0, 0.0)
    some, same = small(), small()
    first = fit(some, weights=weights, steps=20)
    second = fit(same, RULES.filter(weights > 0), steps=20)
    assert first.losses.tolist() == second.losses.tolist()
    assert np.array_equal(some.log_probs(RULES), same.log_probs(RULES))


def test_the_seed_decides_everything():
    results = []
    for seed in (3, 3, 4):
        torch.manual_seed(len(results))
        results.append(fit(small(), steps=20, seed=seed, batch_size=4).losses)
    assert np.array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])


def test_progress_and_the_falling_rate():
    seen = []
    net = small()
    parameters = [torch.nn.utils.parameters_to_vector(net.parameters()).detach().clone()]

    def progress(step, steps, note):
        seen.append((step, steps, note))
        parameters.append(torch.nn.utils.parameters_to_vector(net.parameters()).detach().clone())

    result = fit(net, steps=50, tick=progress)
    assert seen == [(i + 1, 50, f"loss {loss:.2f}") for i, loss in enumerate(result.losses)]
    moves = [float((b - a).abs().max()) for a, b in pairwise(parameters)]
    assert moves[0] == pytest.approx(0.02, rel=1e-3)  # Adam's first step is the rate
    assert 0 < moves[-1] < 0.02 * 0.01


@pytest.mark.parametrize(
    ("rules", "weights"),
    [
        ([Chain(0, (1,))], [1.0, 2.0]),
        ([Chain(0, (1,))], [-1.0]),
        ([Chain(0, (1,))], [np.nan]),
        ([Chain(0, (1,))], [0.0]),
        ([Chain(0, (0,))], [1.0]),
        ([Chain(0, ())], [1.0]),
    ],
)
def test_what_cannot_be_learned_is_refused(rules, weights):
    with pytest.raises(ValueError, match="weight"):
        fit(small(), RuleSet.from_rules(rules), weights)
