"""Training: the loss against plain sums, and a graph where rules matter only together."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import load_dataset
from rnnlogic.predictors.plus.examples import Batch
from rnnlogic.predictors.plus.train import Optimizer, PlusTask, silent, strongest_rules, summed_loss
from rnnlogic.rules.ruleset import RuleSet
from tests.family import family, given_rules


def test_loss():
    target = np.array([0.9, 0.1, 0, 1, 0.5, 0.5], np.float32)
    offset = np.array([0, 1, 2, 0, 0, 0.5], np.float32)
    none = np.empty(0, np.int64)
    batch = Batch(
        0, np.array([0, 3, 4, 6]), none, none, none.astype("f4"), offset - 1, target, np.ones(6, "f4")
    )
    scores = torch.tensor([3.0, -2.0, 500.0, 7.0, 0.0, 1.0], dtype=torch.float64)
    expected = 0.0
    for query in (slice(0, 3), slice(3, 4), slice(4, 6)):
        logits = scores.numpy()[query] + offset[query]
        log_p = logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
        expected -= float(target[query] @ log_p)
    assert float(summed_loss(scores, batch)) == pytest.approx(expected, rel=1e-6)


def exclusive(families=40):
    """goal(X,Y) where exactly one of left(X,Y), right(X,Y) holds: no weighted sum can say so."""
    facts = []
    for i in range(families):
        x, both, one, other = f"x{i}", f"both{i}", f"one{i}", f"other{i}"
        facts += [(x, "left", both), (x, "right", both), (x, "left", one), (x, "right", other)]
        facts += [(x, "goal", one if i % 2 else other)]
    return load_dataset(facts, ratios=(100, 0, 0), name="exclusive")


def task_of(dataset, rules, psi, threads=1, **plus):
    config = changed(Config(variant="plus", seed=1), {"plus": {"batch_queries": 8, **plus}})
    return PlusTask(dataset, rules, psi, config, threads)


@pytest.fixture(scope="module")
def puzzle():
    dataset = exclusive()
    rules = RuleSet.from_text(["goal(X,Y) <- left(X,Y)", "goal(X,Y) <- right(X,Y)"], dataset.vocab)
    return dataset, rules


@pytest.mark.parametrize("rule_vectors", ["embedding", "lstm"])
@pytest.mark.parametrize("aggregator", ["pna", "sum"])
def test_it_learns_what_no_sum_can(puzzle, aggregator, rule_vectors):
    settings = {"aggregator": aggregator, "rule_vectors": rule_vectors, "epochs": 30, "learning_rate": 0.02}
    task = task_of(*puzzle, np.ones(2), **settings)
    batches = task.examples().batches(1)
    network, losses = train(task, batches)
    assert losses[-1] < 0.75 < losses[0]  # log 2 is the best there is: one of two
    goal = puzzle[0].vocab.relation_id("goal")
    scores = network.as_arrays(np.zeros(6)).rule_scores(
        goal, np.array([0, 1, 3]), np.array([0, 0, 1]), np.full(3, np.log(2), np.float32)
    )
    assert scores[0] > scores[1] + 1


def train(task, batches, threads=1):
    from rnnlogic.predictors.plus.network import PlusNetwork

    settings = task.config.plus
    network = PlusNetwork(task.rules, 6, task.psi, 1.0, settings, seed=0)
    optimizer = Optimizer(network, batches, settings, threads, seed=0)
    return network, [optimizer.epoch(number, silent) for number in range(1, settings.epochs + 1)]


def test_threads_change_nothing(puzzle):
    task = task_of(*puzzle, np.ones(2), epochs=2, dropout=0.3, linear="trained")
    batches = task.examples().batches(1)
    one, several = (train(task, batches, threads)[0].as_arrays(np.zeros(6)) for threads in (1, 3))
    for name in ("vectors", "psi", "relations", "layer", "output"):
        np.testing.assert_array_equal(getattr(one, name), getattr(several, name))
    assert not np.array_equal(one.psi, [1, 1])


def test_the_best_epoch_is_kept_and_it_stops():
    dataset = family()
    known, notes = given_rules(dataset), []
    task = task_of(dataset, known.rules, known.weights, epochs=20, patience=2, learning_rate=1.0)
    found = task.train(silent, lambda stage, started, **figures: notes.append((stage, figures)))
    measured = [figures["valid_mrr"] for stage, figures in notes if stage == "plus epoch"]
    assert task.valid_mrr(found) == max(measured)
    assert len(measured) == int(np.argmax(measured)) + 1 + 2


def test_the_strongest_rules_get_weights_anew():
    known = given_rules(family())
    kept = strongest_rules(known, 1, lambda rules: np.full(len(rules), 7.0))
    assert [rule in kept.rules for rule in known.rules] == [True, True, True, False, False, True]
    assert kept.weights.tolist() == [7.0] * 4
    np.testing.assert_array_equal(kept.support, known.support[[0, 1, 2, 5]])
    assert strongest_rules(known, None, None) is known
    assert strongest_rules(replace(known), 9, None).rules == known.rules
