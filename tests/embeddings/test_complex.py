"""ComplEx: scores by complex numbers, gradients by differences, training that resumes and learns."""

import itertools

import numpy as np
import pytest
import torch

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.complex import ComplEx
from rnnlogic.embeddings.complex_training import ComplExMethod, mean_loss, usable
from rnnlogic.embeddings.files import EmbeddingError, load_embedding, read_about, save_embedding, write_file
from rnnlogic.embeddings.fit import fit
from rnnlogic.embeddings.settings import ComplExSettings
from rnnlogic.evaluation.evaluate import evaluate
from tests.helpers.embeddings import random_complex
from tests.helpers.rings import RELATIONS

TINY = ComplExSettings(dim=6, batch_size=20, epochs=6, evaluations=3, penalty=0.01, relation_weight=0.5)


def numbers(row):
    """A row of two halves as complex numbers."""
    return row[: len(row) // 2] + 1j * row[len(row) // 2 :]


def plain_score(entity, relation, head, r, tail) -> float:
    """The real part of the sum of products, number by number."""
    rows = numbers(entity[head]), numbers(relation[r]), numbers(entity[tail])
    return sum((h * w * t.conjugate()).real for h, w, t in zip(*rows, strict=True))


def plain_loss(entity, relation, facts, answers_of, settings) -> float:
    """Mean loss of facts (h, r, t): other answers of (h, r) do not compete with t."""
    total = 0.0
    for head, r, tail in facts:
        rivals = [e for e in range(len(entity)) if e == tail or e not in answers_of[head, r]]
        by_tail = np.exp([plain_score(entity, relation, head, r, e) for e in rivals])
        by_relation = np.exp([plain_score(entity, relation, head, k, tail) for k in range(len(relation))])
        total -= np.log(by_tail[rivals.index(tail)] / by_tail.sum())
        total -= settings.relation_weight * np.log(by_relation[r] / by_relation.sum())
        rows = entity[head], relation[r], entity[tail]
        total += settings.penalty * sum((np.abs(numbers(row)) ** 3).sum() for row in rows)
    return total / len(facts)


def test_scores_are_those_of_complex_numbers(ring, monkeypatch):
    monkeypatch.setattr("rnnlogic.embeddings.complex.BLOCK", 3)  # several blocks
    embedding = random_complex()
    heads, relations = np.array([0, 6, 2], np.int32), np.array([0, 5, 3], np.int32)
    scores = embedding.score(ring.graph("train"), heads, relations)
    for i, tail in itertools.product(range(3), range(7)):
        expected = plain_score(embedding.entity, embedding.relation, heads[i], relations[i], tail)
        assert scores[i, tail] == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_the_loss_is_that_of_its_definition(weight):
    settings = ComplExSettings(dim=2, batch_size=6, penalty=0.3, relation_weight=weight)
    facts = np.array([[0, 0, 1], [0, 0, 4], [0, 0, 6], [2, 1, 3], [3, 1, 2], [5, 0, 0]], np.int32)
    data = Dataset("few", Vocab(tuple("abcdefg"), ("p", "q")), facts, facts[:0], facts[:0])
    batch = ComplExMethod(data.graph("train"), settings).batch(0, np.arange(6))  # (a, p) has three answers
    asked = [(batch.heads[q], batch.relations[q], t) for q, t in zip(batch.query, batch.answers, strict=True)]
    answers_of = {pair: {t for h, r, t in asked if (h, r) == pair} for pair in {(h, r) for h, r, _ in asked}}
    assert len(answers_of) == 6 < len(asked)  # a query with several answers is among them
    rng = np.random.default_rng(1)
    tables = rng.normal(size=(7, 4)), rng.normal(size=(4, 4))
    found = mean_loss(*map(torch.from_numpy, tables), batch, settings)
    assert float(found) == pytest.approx(plain_loss(*tables, asked, answers_of, settings), rel=1e-9)


def test_a_step_is_one_of_adagrad(ring):
    method = ComplExMethod(ring.graph("train"), TINY)
    parameters, batch = method.first(), method.batch(0, method.order(0))
    before = {name: table.values.copy() for name, table in parameters.items()}
    tensors = [torch.tensor(values, requires_grad=True) for values in before.values()]
    loss = mean_loss(*tensors, batch, TINY)
    gradients = [g.numpy() for g in torch.autograd.grad(loss, tensors)]
    stepper = method.stepper(parameters, 1)
    for table in parameters.values():
        table.square[:] = 0.25
    assert stepper.step(batch, 0.1) == pytest.approx(float(loss.detach()), rel=1e-6)
    stepper.close()
    for (name, table), g in zip(stepper.parameters.items(), gradients, strict=True):
        np.testing.assert_allclose(table.square, 0.25 + g**2, rtol=1e-5)
        np.testing.assert_allclose(table.values, before[name] - 0.1 * g / np.sqrt(0.25 + g**2), rtol=1e-4)
        np.testing.assert_array_equal(table.values, parameters[name].values)  # what a checkpoint keeps


def test_a_batch_has_every_answer_of_its_queries_once(ring):
    method = ComplExMethod(ring.graph("train"), TINY)
    order, seen = method.order(0), []
    for step in range(method.steps_per_epoch):
        batch = method.batch(step, order)
        seen += zip(batch.heads[batch.query], batch.relations[batch.query], batch.answers, strict=True)
    facts = {(h, r, t) for h, r, t in ring.train.tolist()}
    facts |= {(t, r + RELATIONS, h) for h, r, t in facts}
    assert len(seen) == len(set(seen))
    assert set(seen) <= facts
    assert len(seen) > len(facts) - method.batch_size


def test_it_learns_the_ring_and_the_same_with_the_same_seed(ring):
    settings = TINY.model_copy(update={"dim": 20, "epochs": 60.0, "evaluations": 1})
    assert evaluate(ComplEx.fit(ring, settings, threads=2), ring, "test").metrics()["mrr"] > 0.8
    short = settings.model_copy(update={"epochs": 4.0})
    one, two = (ComplEx.fit(ring, short, threads=1) for _ in range(2))
    np.testing.assert_array_equal(one.entity, two.entity)
    np.testing.assert_array_equal(one.relation, two.relation)
    other = ComplEx.fit(ring, short.model_copy(update={"seed": short.seed + 1}), threads=1)
    assert not np.array_equal(one.entity, other.entity)


def test_training_gives_torch_its_threads_back(ring):
    before = torch.get_num_threads()
    ComplEx.fit(ring, TINY.model_copy(update={"epochs": 1.0}), threads=before + 1)
    assert torch.get_num_threads() == before


class StopHereError(Exception):
    pass


@pytest.mark.parametrize("stop", [3, 11])
def test_a_stopped_training_resumes_to_the_same_end(ring, tmp_path, monkeypatch, stop):
    monkeypatch.setattr("rnnlogic.embeddings.train.SHOW_EVERY", -1)
    monkeypatch.setattr("rnnlogic.embeddings.train.KEEP_EVERY", -1)
    steps = itertools.count(1)

    def interrupt(*_):
        if next(steps) == stop:
            raise StopHereError

    with pytest.raises(StopHereError):
        fit(ring, TINY, tmp_path / "stopped", interrupt)
    resumed, whole = fit(ring, TINY, tmp_path / "stopped"), fit(ring, TINY)
    np.testing.assert_array_equal(resumed.entity, whole.entity)
    np.testing.assert_array_equal(resumed.relation, whole.relation)
    assert len(read_about(tmp_path / "stopped")["history"]) == TINY.evaluations
    with pytest.raises(EmbeddingError, match=r"other settings \(penalty: 0.01 there, 0.5 now\)"):
        fit(ring, TINY.model_copy(update={"penalty": 0.5}), tmp_path / "stopped")


def test_rows_of_relations_and_their_inverses_follow_the_names(tmp_path):
    saved, vocab = random_complex(), Vocab(tuple("abcdefg"), ("p", "q", "r"))
    save_embedding(tmp_path, saved, vocab, {"seed": 3})
    loaded, about = load_embedding(tmp_path, Vocab(("c", "a", "g"), ("r", "p")))
    assert isinstance(loaded, ComplEx)
    assert (about["model"], about["dim"], loaded.num_relations) == ("ComplEx", 5, 2)
    np.testing.assert_array_equal(loaded.entity, saved.entity[[2, 0, 6]])
    np.testing.assert_array_equal(loaded.relation, saved.relation[[2, 0, 5, 3]])
    write_file(tmp_path / "about.json", '{"format": 2, "model": "TransE"}')
    with pytest.raises(EmbeddingError, match="holds a TransE; known are RotatE, ComplEx"):
        load_embedding(tmp_path, vocab)


def test_divergence_is_told(ring):
    with pytest.raises(RNNLogicError, match="diverged"):
        fit(ring, TINY.model_copy(update={"learning_rate": 1e30}))


def test_scores_far_apart_do_not_overflow(ring):
    method = ComplExMethod(ring.graph("train"), TINY.model_copy(update={"start": 30.0}))
    tensors = [torch.tensor(table.values, requires_grad=True) for table in method.first().values()]
    loss = mean_loss(*tensors, method.batch(0, method.order(0)), TINY)
    assert loss.isfinite()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(loss, tensors))


def test_a_query_that_everything_answers_teaches_nothing_wrong():
    facts = np.array([[0, 0, 0], [0, 0, 1]], np.int32)
    data = Dataset("full", Vocab(("a", "b"), ("p",)), facts, facts[:0], facts[:0])
    method = ComplExMethod(
        data.graph("train"), TINY.model_copy(update={"relation_weight": 0.0, "penalty": 0})
    )
    tensors = [torch.tensor(table.values, requires_grad=True) for table in method.first().values()]
    loss = mean_loss(*tensors, method.batch(0, np.array([0])), method.settings)  # (a, p) is answered by both
    assert loss.item() == 0
    assert not any(gradient.any() for gradient in torch.autograd.grad(loss, tensors))


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_a_missing_gpu_is_an_error():
    with pytest.raises(RNNLogicError, match="finds no CUDA device"):
        usable("cuda")


@pytest.mark.parametrize("device", ["", "gpu", "cpu:x", "meta", "-1", "a\x00b", "\udcff", "vulkan"])
def test_a_device_that_does_not_exist_is_an_error(device):
    with pytest.raises(RNNLogicError, match="torch cannot use it"):
        usable(device)
