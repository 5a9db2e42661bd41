"""NeuralLP and DRUM are weighted sums over rules; the oracle enumerates the rules and counts their walks."""

from itertools import product

import numpy as np
import pytest
import torch

from paper.baselines.differentiable import (
    DifferentiableScorer,
    DifferentiableSettings,
    answer_loss,
    fit_differentiable,
    make_model,
)
from paper.baselines.walks import Questions, edges_of, start, step
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import evaluate
from tests.helpers.family import family

STEPS, STAY = 2, 4  # of a graph with two relations: 0, 1, and inverses 2, 3
FACTS = np.array([(0, 0, 1), (1, 0, 2), (1, 1, 3), (3, 1, 0), (2, 1, 2), (0, 0, 2), (3, 0, 4), (2, 0, 0)])
GRAPH = Graph.from_triples(FACTS, num_entities=5, num_relations=2)


def matrices(hidden: tuple[int, int, int] | None) -> list[np.ndarray]:
    """Adjacency of every relation and inverse without one fact, and the identity."""
    found = np.zeros((5, 5, 5))
    found[STAY] = np.eye(5)
    for h, r, t in FACTS.tolist():
        if hidden not in ((h, r, t), (t, r + 2, h)):
            found[r, h, t] = found[r + 2, t, h] = 1
    return list(found)


def walks(body: tuple[int, ...], head: int, hidden: tuple[int, int, int] | None) -> np.ndarray:
    """Numbers of walks along a body from a head to every entity."""
    row, graph = np.eye(5)[head], matrices(hidden)
    for relation in body:
        row = row @ graph[relation]
    return row


def asked(relation: int, pairs: list[tuple[int, int]], hide: bool) -> Questions:
    heads, answers = torch.tensor(pairs).t()
    return Questions(relation, (relation + 2) % 4, heads, answers if hide else None)


@pytest.mark.parametrize("hide", [False, True])
def test_a_step_is_a_weighted_matrix_product(hide):
    questions = asked(1, [(1, 3), (2, 2), (3, 0)], hide)
    edges, weights = edges_of(GRAPH), torch.rand(2, 5)
    state = torch.rand(5, 3, 2)
    moved = step(edges, questions, state, weights)
    for q, (head, answer) in enumerate([(1, 3), (2, 2), (3, 0)]):
        graph = matrices((head, 1, answer) if hide else None)
        for walker in range(2):
            mixed = sum(float(w) * m for w, m in zip(weights[walker], graph, strict=True))
            expected = state[:, q, walker].numpy() @ mixed
            np.testing.assert_allclose(moved[:, q, walker], expected, rtol=1e-5, atol=1e-6)


def test_walks_begin_at_the_heads():
    state = start(edges_of(GRAPH), asked(0, [(3, 4), (0, 1)], False), 2)
    assert state.shape == (5, 2, 2)
    assert state.nonzero().tolist() == [[0, 1, 0], [0, 1, 1], [3, 0, 0], [3, 0, 1]]


@pytest.mark.parametrize(("relation", "pairs"), [(0, [(0, 1), (0, 2), (2, 0)]), (3, [(3, 1), (2, 2)])])
def test_drum_sums_over_walkers_and_rules(relation, pairs):
    torch.manual_seed(0)
    model = make_model(4, DifferentiableSettings(steps=STEPS, rank=2, hidden_size=3))
    attention = model.attention(relation).detach().double().numpy()  # [steps, walkers, 5]
    scores = model(edges_of(GRAPH), asked(relation, pairs, True)).detach()
    for row, (head, answer) in zip(scores, pairs, strict=True):
        expected = np.zeros(5)
        for walker, body in product(range(2), product(range(5), repeat=STEPS)):
            weight = np.prod([attention[t, walker, r] for t, r in enumerate(body)])
            expected += weight * walks(body, head, (head, relation, answer))
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-6)


def test_neural_lp_goes_on_from_any_earlier_state():
    torch.manual_seed(1)
    settings = DifferentiableSettings(model="neural-lp", steps=STEPS, hidden_size=3)
    model = make_model(4, settings)
    moves, memory = ([part.detach().double().numpy() for part in parts] for parts in model.attention(0))
    assert [len(weights) for weights in memory] == [1, 2, 3]
    for weights in memory:
        assert weights.sum() == pytest.approx(1)
    head, answer = 1, 2
    expected = memory[2][0] * walks((), head, None)
    for first in range(4):
        once = moves[0][0, first] * walks((first,), head, (head, 0, answer))
        expected += (memory[2][1]) * once
        second_from_head = memory[1][0] * moves[1][0, first] * walks((first,), head, (head, 0, answer))
        expected += memory[2][2] * second_from_head
        for second in range(4):
            weight = memory[1][1] * moves[0][0, first] * moves[1][0, second]
            expected += memory[2][2] * weight * walks((first, second), head, (head, 0, answer))
    scores = model(edges_of(GRAPH), asked(0, [(head, answer)], True)).detach()[0]
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-6)


def test_the_loss_is_of_normalised_scores():
    scores, answers = torch.tensor([[1.0, 3.0], [2.0, 0.0]]), torch.tensor([1, 0])
    assert float(answer_loss(scores, answers)) == pytest.approx(-np.log(0.75) / 2)
    assert torch.isfinite(answer_loss(torch.zeros(1, 2), torch.tensor([0])))


def test_what_no_walk_reaches_is_unreached():
    scorer = DifferentiableScorer(make_model(4, DifferentiableSettings(steps=1, rank=1)), batch_size=1)
    scores = scorer.score(GRAPH, np.array([0, 4], np.int32), np.array([0, 3], np.int32))
    assert np.isneginf(scores[0]).tolist() == [False, False, False, False, True]  # 0 reaches 1, 2, 3, itself
    assert np.isneginf(scores[1]).tolist() == [True, True, True, False, False]


@pytest.mark.parametrize("model", ["neural-lp", "drum"])
def test_training_learns_and_the_seed_decides(model):
    dataset = family()
    settings = DifferentiableSettings(
        model=model, steps=2, hidden_size=16, epochs=6, learning_rate=0.03, batch_size=8
    )
    torch.manual_seed(0)
    untrained = DifferentiableScorer(make_model(2 * dataset.vocab.num_relations, settings))
    shown = []
    first = fit_differentiable(dataset, settings, lambda *done: shown.append(done))
    second = fit_differentiable(dataset, settings)
    scorers = (untrained, first, second)
    before, after, again = (evaluate(scorer, dataset, "valid").metrics()["mrr"] for scorer in scorers)
    assert after == again
    assert f"valid MRR {after:.3f}" == max(note for _, _, note in shown)
    assert after > before + 0.1


def test_training_leaves_nothing_behind():
    """Neither a seed nor a number of threads, and it does not depend on what was there before."""
    settings = DifferentiableSettings(steps=1, rank=1, hidden_size=2, epochs=1, threads=2)
    scores = []
    for seed in (7, 8):
        torch.manual_seed(seed)
        state = torch.get_rng_state()
        scorer = fit_differentiable(family(), settings)
        assert torch.equal(torch.get_rng_state(), state)
        assert torch.get_num_threads() == 1
        scores.append(
            scorer.score(family().graph("train"), np.arange(3, dtype=np.int32), np.zeros(3, np.int32))
        )
    assert np.array_equal(*scores)
