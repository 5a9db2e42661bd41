"""Training: the loss against plain sums, and a graph where rules matter only together."""

import numpy as np
import pytest
import torch

from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.types import no_tick
from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import load_dataset
from rnnlogic.predictors.base import RuleValues, Task, no_note
from rnnlogic.predictors.plus.network import PlusNetwork
from rnnlogic.predictors.plus.train import Batch, Optimizer, Training, strongest, summed_loss, train
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.family import family, given_rules
from tests.helpers.walks import candidates_of


def test_loss():
    target = np.array([0.9, 0.1, 0, 1, 0.5, 0.5], np.float32)
    offset = np.array([0, 1, 2, 0, 0, 0.5], np.float32)
    batch = Batch(candidates_of([0, 3, 4, 6], [0] * 7, []), offset - 1, target, np.ones(6, "f4"))
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


def training_of(dataset, rules, psi, note=no_note, **plus):
    config = changed(Config(variant="plus", seed=1), {"plus": {"batch_queries": 8, **plus}})
    return Training(Task(dataset, rules, config, 1, note=note), psi, RuleValues(rules, "log1p"))


@pytest.fixture(scope="module")
def puzzle():
    dataset = exclusive()
    rules = RuleSet.from_text(["goal(X,Y) <- left(X,Y)", "goal(X,Y) <- right(X,Y)"], dataset.vocab)
    return dataset, rules


@pytest.mark.parametrize("rule_vectors", ["embedding", "lstm"])
@pytest.mark.parametrize("aggregator", ["pna", "sum"])
def test_it_learns_what_no_sum_can(puzzle, aggregator, rule_vectors):
    settings = {"aggregator": aggregator, "rule_vectors": rule_vectors, "epochs": 30, "learning_rate": 0.02}
    training = training_of(*puzzle, np.ones(2), **settings)
    network, losses = trained(training, training.examples().batches(1))
    assert losses[-1] < 0.75 < losses[0]  # log 2 is the best there is: one of two
    goal = puzzle[0].vocab.relation_id("goal")
    scores = network.as_arrays(np.zeros(6)).rule_scores(
        goal, np.array([0, 1, 3]), np.array([0, 0, 1]), np.full(3, np.log(2), np.float32)
    )
    assert scores[0] > scores[1] + 1


def trained(training, batches, threads=1):
    settings = training.task.config.plus
    network = PlusNetwork(training.values.rules, 6, training.psi, 1.0, settings, seed=0)
    optimizer = Optimizer(network, batches, settings, threads, seed=0)
    return network, [optimizer.epoch(number, no_tick) for number in range(1, settings.epochs + 1)]


def test_threads_change_nothing(puzzle):
    training = training_of(*puzzle, np.ones(2), epochs=2)
    batches = training.examples().batches(1)
    one, several = (trained(training, batches, threads)[0].as_arrays(np.zeros(6)) for threads in (1, 3))
    for name in ("vectors", "relations", "layer", "output"):
        np.testing.assert_array_equal(getattr(one, name), getattr(several, name))
    assert one.output.any()


def test_the_best_epoch_is_kept_and_it_stops():
    dataset = family()
    known, notes = given_rules(dataset), []

    def note(stage, started, **figures):
        notes.append((stage, figures))

    changes = {"epochs": 20, "patience": 2, "learning_rate": 1.0}
    training = training_of(dataset, known.rules, known.weights, note, **changes)
    found = training.run()
    measured = [figures["valid_mrr"] for stage, figures in notes if stage == "plus epoch"]
    assert training.valid_mrr(found) == max(measured)
    assert len(measured) == int(np.argmax(measured)) + 1 + 2


def test_epochs_that_there_is_no_time_for_are_left_out():
    dataset, cuts = family(), {}
    known = given_rules(dataset)
    training = training_of(dataset, known.rules, known.weights, epochs=20)
    found = training.run(Budget(until=0.0, note=cuts.__setitem__))
    assert cuts["plus"] == "0 of 20 epochs"
    assert not found.output.any()  # epoch 0: RNNLogic itself


def test_epochs_are_planned_by_the_first(puzzle):
    training = training_of(*puzzle, np.ones(2), epochs=10)
    network = PlusNetwork(puzzle[1], 6, np.ones(2), 1.0, training.task.config.plus, seed=0)
    optimizer = Optimizer(network, [], training.task.config.plus, 1, seed=0)
    optimizer.plan(1, 1.0, UNLIMITED)
    assert optimizer.epochs == 10
    optimizer.plan(1, 10.0, Budget.of_minutes(0.5))
    assert optimizer.epochs in (3, 4)


def test_the_strongest_rules_get_weights_anew():
    dataset = family()
    known = given_rules(dataset)
    assert strongest(known.rules, known.weights, 1).tolist() == [0, 1, 2, 5]
    assert strongest(known.rules, known.weights, None).tolist() == list(range(6))
    config = changed(Config(variant="plus"), {"plus": {"epochs": 0, "keep": 1}})
    task = Task(dataset, known.rules, config, 1, weights=known.weights)
    rules, psi, *_ = train(task, RuleValues(known.rules, "log1p"))
    assert rules == known.rules[[0, 1, 2, 5]]
    assert not np.isin(psi, known.weights).any()
