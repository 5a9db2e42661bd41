"""The generator against the appendix, computed step by step, and against all rules of tiny sizes."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.data.vocab import Vocab
from rnnlogic.generator import network as generator_module
from rnnlogic.generator.network import RuleGenerator
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet

SIZES = [(2, 1), (4, 1), (2, 3), (3, 2), (4, 3)]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Tiny networks gain nothing from threads, and lose much where other processes compete."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def tiny(num_relations, max_length, seed=0):
    """A generator of few parameters, far from uniform."""
    net = RuleGenerator(num_relations, max_length, input_size=5, hidden_size=4, seed=seed)
    with torch.no_grad():
        net.output.weight *= 6
    return net


def all_rules(num_relations, max_length):
    return [
        Chain(head, body)
        for head in range(num_relations)
        for length in range(1, max_length + 1)
        for body in product(range(num_relations), repeat=length)
        if body != (head,)
    ]


def forbidden(net, head, body):
    """Tokens that must not follow this beginning."""
    if not body:
        return [net.end, head] if net.max_length == 1 else [net.end]
    return [net.end] if body == (head,) else []


@torch.no_grad()
def factors(net, rule):
    """The probabilities of a rule's relations and END, one LSTM step at a time."""
    head = net.vectors.weight[rule.head]
    hidden, cell = net.initial(head)[None], torch.zeros(1, net.hidden_size)
    result = []
    for i, token in enumerate((*rule.body, net.end)):
        read = net.vectors.weight[(rule.head, *rule.body)[i]]
        hidden, cell = net.cell(net.combine(torch.cat([head, read]))[None], (hidden, cell))
        weights = net.output(hidden)[0].double().exp()
        weights[forbidden(net, rule.head, rule.body[:i])] = 0
        result.append(float(weights[token] / weights.sum()))
    return np.array(result)


@pytest.mark.parametrize(("num_relations", "max_length"), SIZES)
def test_log_prob_is_the_product_of_the_steps(num_relations, max_length):
    net = tiny(num_relations, max_length)
    rules = all_rules(num_relations, max_length)
    expected = [np.log(factors(net, rule)).sum() for rule in rules]
    np.testing.assert_allclose(net.log_prob(RuleSet.from_rules(rules)).detach(), expected, atol=1e-5)


@pytest.mark.parametrize(("num_relations", "max_length"), SIZES)
def test_probabilities_of_all_rules_and_of_growing_beyond_sum_to_one(num_relations, max_length):
    net = tiny(num_relations, max_length)
    rules = RuleSet.from_rules(all_rules(num_relations, max_length))
    total = np.bincount(rules.heads, np.exp(net.log_probs(rules)))
    for rule in rules:
        if len(rule.body) == max_length:
            *begin, end = factors(net, rule)
            total[rule.head] += np.prod(begin) * (1 - end)
    np.testing.assert_allclose(total, 1, atol=1e-5)


@given(st.permutations(all_rules(3, 2)), st.integers(1, 9), st.integers(1, 9))
def test_log_prob_does_not_depend_on_company_or_chunks(rules, number, chunk):
    net = tiny(3, 3)
    alone = [net.log_prob(RuleSet.from_rules([rule])).item() for rule in rules[:number]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generator_module, "CHUNK_RULES", chunk)
        np.testing.assert_allclose(net.log_probs(RuleSet.from_rules(rules[:number])), alone, atol=1e-5)


def test_rules_that_say_nothing_are_impossible():
    for max_length in (1, 3):
        rules = RuleSet.from_rules([Chain(1, (1,)), Chain(0, (1,)), Chain(1, ())])
        assert np.isneginf(tiny(4, max_length).log_probs(rules)).tolist() == [True, False, True]


def test_rules_out_of_range_are_refused():
    net = tiny(3, 2)
    with pytest.raises(ValueError, match="maximum length 2"):
        net.log_prob(RuleSet.from_rules([Chain(0, (1, 1, 1))]))
    for rule in (Chain(3, (1,)), Chain(0, (1, 3))):
        with pytest.raises(ValueError, match=r"outside 0\.\.2"):
            net.log_prob(RuleSet.from_rules([rule]))
    with pytest.raises(ValueError, match="at least 1"):
        RuleGenerator(4, 0)


def test_gradient_agrees_with_finite_differences():
    net = tiny(3, 2).double()
    rules = RuleSet.from_rules(all_rules(3, 2))
    weights = torch.linspace(-1, 1, len(rules), dtype=torch.float64)
    (net.log_prob(rules) @ weights).backward()
    for parameter in net.parameters():
        place = int(parameter.grad.abs().argmax())
        values = []
        for shift in (1e-5, -2e-5):
            parameter.data.view(-1)[place] += shift
            values.append(float((net.log_probs(rules) @ weights.numpy()).sum()))
        parameter.data.view(-1)[place] += 1e-5
        assert (values[0] - values[1]) / 2e-5 == pytest.approx(
            float(parameter.grad.view(-1)[place]), rel=1e-3
        )


@pytest.mark.parametrize(("num_relations", "max_length"), SIZES)
@pytest.mark.parametrize("number", [1, 3, 1000])
@pytest.mark.parametrize("chunk", [1, 1 << 22])
def test_a_wide_beam_finds_the_best_rules(num_relations, max_length, number, chunk, monkeypatch):
    monkeypatch.setattr(generator_module, "CHUNK_EXTENSIONS", chunk)
    net = tiny(num_relations, max_length, seed=number)
    rules = RuleSet.from_rules(all_rules(num_relations, max_length))
    log_prob = net.log_probs(rules)
    found = net.beam([*range(num_relations), 0], number, width=1000)
    assert found.rules.heads.tolist() == sorted(found.rules.heads.tolist())
    for head in range(num_relations):
        best = sorted(rules.by_head(head), key=lambda i: -log_prob[i])[:number]
        mine = found.rules.by_head(head)
        assert [found.rules[i] for i in mine] == [rules[i] for i in best]
        np.testing.assert_allclose(found.log_prob[mine], log_prob[best], atol=1e-5)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 5))
def test_a_narrow_beam_finds_different_permitted_rules(number, width, seed):
    net = tiny(5, 3, seed=seed)
    found = net.beam([3, 1], number, width)
    rules = list(found.rules)
    assert {rule.head for rule in rules} == {1, 3}
    assert set(rules) <= set(all_rules(5, 3))
    assert len(set(rules)) == len(rules)
    np.testing.assert_allclose(found.log_prob, net.log_probs(found.rules), atol=1e-5)
    for head in (1, 3):
        descending = found.log_prob[found.rules.by_head(head)]
        assert 1 <= len(descending) <= number
        assert (np.diff(descending) <= 0).all()


def test_beam_keeps_the_best_beginnings_only():
    """Width 1 is greedy: it follows the most probable relation and collects what ends on the way."""
    net = tiny(5, 3, seed=2)
    for rule in net.beam(range(5), 10, width=1).rules:
        for length in range(len(rule.body)):
            bodies = ((*rule.body[:length], token) for token in range(5))
            steps = [factors(net, Chain(rule.head, body))[length] for body in bodies]
            assert rule.body[length] == int(np.argmax(steps))


def test_parameters_come_from_the_seed_alone():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, again, other = tiny(4, 2, seed=1), tiny(4, 2, seed=1), tiny(4, 2, seed=2)
    assert torch.equal(before, torch.random.get_rng_state())
    rules = RuleSet.from_rules(all_rules(4, 2))
    assert np.array_equal(first.log_probs(rules), again.log_probs(rules))
    assert not np.allclose(first.log_probs(rules), other.log_probs(rules))


def test_beam_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(generator_module, "CHUNK_EXTENSIONS", 1)
    net = tiny(4, 3)
    one, several = (net.beam(range(4), 10, threads=threads) for threads in (1, 3))
    assert one.rules == several.rules
    assert np.array_equal(one.log_prob, several.log_prob)


UNWANTED = ["* <- b & ...", "a <- ...", "* <- a^-1 & *", "b <- a"]


@pytest.mark.parametrize("number", [1, 5, 12, 200])
def test_beam_fills_the_places_of_banned_rules(number):
    net, banned = tiny(4, 3), Banned.from_text(UNWANTED, Vocab(("e",), ("a", "b")))
    found = net.beam(range(4), number, banned=banned)
    assert (np.diff(found.rules.heads) >= 0).all()
    everything = net.beam(range(4), 4**4, width=4**4)
    allowed = everything.rules.filter(~banned.mask(everything.rules))
    assert allowed.head_relations().tolist() == [1, 3]
    for head in range(4):
        of_head = found.rules[found.rules.by_head(head)]
        assert set(of_head) <= set(allowed)
        assert len(of_head) == min(number, len(allowed.by_head(head)))
    np.testing.assert_allclose(found.log_prob, net.log_probs(found.rules), atol=1e-5)


def test_a_wide_beam_with_banned_rules_is_exact():
    net, banned = tiny(4, 3), Banned.from_text(UNWANTED[2:], Vocab(("e",), ("a", "b")))
    everything = net.beam(range(4), 4**4, width=4**4)
    allowed = everything.rules.filter(~banned.mask(everything.rules))
    found = net.beam(range(4), 7, width=64, banned=banned)
    assert [list(found.rules[found.rules.by_head(h)]) for h in range(4)] == [
        list(allowed[allowed.by_head(h)[:7]]) for h in range(4)
    ]


def test_nothing_is_left_where_all_is_banned():
    net, banned = tiny(4, 3), Banned.from_text(["* <- ..."], Vocab(("e",), ("a", "b")))
    assert len(net.beam(range(4), 5, banned=banned).rules) == 0
