"""The E-step against exhaustive enumeration of rule sets (Proposition 1), and one whole round."""

import itertools
import math

import numpy as np
import pytest
import torch

from rnnlogic.base.budget import Work
from rnnlogic.config import override
from rnnlogic.fit.em import LEAST, EMState, em_round, numbers_of_rules
from rnnlogic.generator.network import RuleGenerator
from rnnlogic.predictors.loglinear.kernels import select_rules
from rnnlogic.predictors.loglinear.reference import answer_probabilities, rule_margins
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.family import family, tiny_config
from tests.helpers.walks import candidates_of

RULES, SIZE = 4, 3  # rules generated, rules in a set z_I
LOG_PRIOR = np.log([0.4, 0.3, 0.2, 0.1])


def one_query(scale):
    """Five candidates, the second of which is the answer; |score| stays below `scale`."""
    values = np.array([[0, 2, 1, 0], [3, 1, 0, 2], [1, 0, 0, 1], [0, 1, 2, 2], [1, 1, 1, 0]], float)
    psi = np.array([0.5, -0.2, 0.3, 0.1])
    psi *= scale / SIZE / np.abs(values * psi).max()  # a set of SIZE rules cannot score more
    places = np.argwhere(values > 0)
    ptr = np.searchsorted(places[:, 0], np.arange(6))
    return candidates_of(
        [0, 5], ptr, places[:, 1].astype(np.int32), values[values > 0], [0, 1, 0, 0, 0]
    ).examples, psi


def exact_log_posteriors(problem, psi):
    """log p(z_I | G, q, a) up to a constant, for every multiset of SIZE rules."""
    result = {}
    for rules in itertools.combinations_with_replacement(range(RULES), SIZE):
        times = np.bincount(rules, minlength=RULES)
        likelihood = answer_probabilities(problem, 0, psi * times)[1]
        result[rules] = math.log(likelihood) + log_multinomial(times) + times @ LOG_PRIOR
    return result


def log_multinomial(times):
    return math.lgamma(times.sum() + 1) - sum(math.lgamma(n + 1) for n in times)


def normalised(logs):
    top = max(logs.values())
    total = top + math.log(sum(math.exp(value - top) for value in logs.values()))
    return {key: value - total for key, value in logs.items()}


def h_values(problem, psi):
    return psi * rule_margins(problem, 0, RULES)[1] + LOG_PRIOR


@pytest.mark.parametrize("scale", [0.05, 0.1, 0.2, 0.4, 0.8])
def test_proposition_1_bounds_the_approximation(scale):
    problem, psi = one_query(scale)
    h = h_values(problem, psi)
    exact = exact_log_posteriors(problem, psi)
    gaps = []
    for rules, value in exact.items():
        times = np.bincount(rules, minlength=RULES)
        gaps.append(value - (times @ h + log_multinomial(times)))
    # All gaps lie within s^2 of each other (the constant is log |A|), and are not simply zero.
    assert max(gaps) - min(gaps) <= scale**2
    assert max(abs(gap + math.log(5)) for gap in gaps) <= scale**2
    assert max(gaps) - min(gaps) > 0


def test_approximate_posterior_is_multinomial():
    problem, psi = one_query(0.3)
    h = h_values(problem, psi)
    q_r = np.exp(h) / np.exp(h).sum()
    sets = list(itertools.combinations_with_replacement(range(RULES), SIZE))
    times = {rules: np.bincount(rules, minlength=RULES) for rules in sets}
    approximate = normalised({rules: times[rules] @ h + log_multinomial(times[rules]) for rules in sets})
    for rules in sets:
        multinomial = log_multinomial(times[rules]) + times[rules] @ np.log(q_r)
        assert approximate[rules] == pytest.approx(multinomial, abs=1e-12)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_hard_selection_is_the_most_probable_set_of_different_rules(number):
    problem, psi = one_query(0.3)
    chosen = select_rules(problem, psi, LOG_PRIOR, number)
    h = h_values(problem, psi)
    best = max(itertools.combinations(range(RULES), number), key=lambda rules: sum(h[list(rules)]))
    assert np.flatnonzero(chosen).tolist() == sorted(best)


def test_prior_decides_where_rules_do_not_ground():
    empty = candidates_of([0, 1], [0, 0], [], [], [1]).examples
    chosen = select_rules(empty, np.ones(RULES), LOG_PRIOR, 2)
    assert chosen.tolist() == [1, 1, 0, 0]


def test_a_round_leaves_everything_as_it_was():
    dataset = family()
    config = override(tiny_config(), ["em.rules=12", "em.selected=4"])
    generator = RuleGenerator(2 * dataset.vocab.num_relations, 2, input_size=8, hidden_size=8)
    before = {name: value.clone() for name, value in generator.state_dict().items()}
    known = RuleSet.from_text(["grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)"], dataset.vocab)
    state = EMState(0, generator, known, np.ones(1))
    threads, seed = torch.get_num_threads(), torch.random.get_rng_state()
    after, info = em_round(state, dataset.graph("train"), config, Work(2))
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), seed)
    assert all(torch.equal(value, before[name]) for name, value in generator.state_dict().items())
    assert (state.round, after.round) == (0, 1)
    assert known[0] in after.selected  # replayed
    assert len(info.rules) == len(info.weights) == len(info.log_prior)
    assert len(info.rules.by_head(0)) == 12
    learned = after.generator.log_probs(after.selected) @ after.selections
    assert learned > generator.log_probs(after.selected) @ after.selections
    again, _ = em_round(state, dataset.graph("train"), config, Work(1))
    for name, value in again.generator.state_dict().items():
        assert torch.equal(value, after.generator.state_dict()[name])


def test_fewer_rules_are_generated_where_mining_found_few():
    graph = family().graph("train")
    relations = 2 * graph.num_relations
    mined = np.arange(relations)
    wanted = numbers_of_rules(graph, 100, 20.0, mined)
    assert wanted.tolist() == [
        min(100, max(LEAST, 2 ** int(np.ceil(np.log2(20 * max(n, 0.1)))))) for n in mined
    ]
    assert numbers_of_rules(graph, 100, None, mined).tolist() == [100] * relations
    assert numbers_of_rules(graph, 100, 20.0, None).tolist() == [100] * relations
