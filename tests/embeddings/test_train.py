"""Training: it learns, it does not depend on threads, and it resumes where it was stopped."""

import itertools
import math

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.files import EmbeddingError, read_about
from rnnlogic.embeddings.fit import CHECKPOINT, Checkpoint, fit, method_of
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.embeddings.train import Training, _end_of_steps, learning_rate
from rnnlogic.embeddings.train import train as train_by
from rnnlogic.evaluation.evaluate import evaluate
from tests.helpers.rings import TINY


def changed(**values):
    return TINY.model_copy(update=values)


def train(dataset, settings, *others, **named):
    return train_by(dataset, method_of(dataset, settings), *others, **named)


def test_it_learns_what_rotations_can_tell(ring):
    embedding = RotatE.fit(ring, changed(epochs=60, evaluations=1))
    assert evaluate(embedding, ring, "test").as_dict()["both"]["expected"]["mrr"] > 0.8


def test_threads_do_not_change_the_result(ring):
    one, two = (train(ring, TINY, threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.parameters["entity"].values, two.parameters["entity"].values)
    np.testing.assert_array_equal(one.parameters["phase"].values, two.parameters["phase"].values)
    assert not np.array_equal(one.best()["entity"], train(ring, changed(seed=1), 1).best()["entity"])


class StopHereError(Exception):
    pass


def measured(folder):
    return [record["valid_mrr"] for record in read_about(folder)["history"]]


@pytest.mark.parametrize("stop", [1, 17, 30, 42])
def test_a_stopped_training_resumes_to_the_same_end(ring, tmp_path, monkeypatch, stop):
    monkeypatch.setattr("rnnlogic.embeddings.train.SHOW_EVERY", -1)
    monkeypatch.setattr("rnnlogic.embeddings.train.KEEP_EVERY", -1)
    steps = itertools.count(1)

    def interrupt(*_):
        if next(steps) == stop:
            raise StopHereError

    with pytest.raises(StopHereError):
        fit(ring, TINY, tmp_path, interrupt, threads=1)
    resumed, whole = fit(ring, TINY, tmp_path, threads=2), fit(ring, TINY, tmp_path / "whole", threads=1)
    np.testing.assert_array_equal(resumed.entity, whole.entity)
    np.testing.assert_array_equal(resumed.phase, whole.phase)
    assert measured(tmp_path) == measured(tmp_path / "whole")
    assert not (tmp_path / CHECKPOINT).exists()


def test_a_finished_one_is_only_loaded(ring, tmp_path, monkeypatch):
    first = fit(ring, TINY, tmp_path)
    monkeypatch.setattr("rnnlogic.embeddings.fit.train", None)
    np.testing.assert_array_equal(fit(ring, TINY, tmp_path).entity, first.entity)


def test_other_settings_or_data_are_refused(ring, tmp_path):
    fit(ring, TINY, tmp_path)
    with pytest.raises(EmbeddingError, match=r"other settings \(dim: 9 there, 8 now\).*--restart"):
        fit(ring, changed(dim=8), tmp_path)
    fewer = Dataset("ring", ring.vocab, ring.train[:60], ring.valid, ring.test)
    with pytest.raises(EmbeddingError, match=r"other data \(train: 70 facts"):
        fit(fewer, TINY, tmp_path)
    assert fit(ring, changed(dim=8), tmp_path, restart=True).dim == 8


def test_files_of_others_are_not_mixed_with_ours(ring, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(EmbeddingError, match=r"holds other files \(thesis.tex\)"):
        fit(ring, TINY, tmp_path)
    with pytest.raises(EmbeddingError, match="is a file"):
        fit(ring, TINY, tmp_path / "thesis.tex")


def test_a_broken_checkpoint_is_an_error(ring, tmp_path):
    (tmp_path / CHECKPOINT).write_bytes(b"half")
    with pytest.raises(EmbeddingError, match="remove it to start over"):
        Checkpoint(tmp_path, ring, method_of(ring, TINY)).load()


def test_the_best_embedding_is_kept(ring, monkeypatch):
    monkeypatch.setattr("rnnlogic.embeddings.train.learning_rate", lambda *_: 2.0)  # it never settles
    training = train(ring, changed(evaluations=12))
    measured = [record["valid_mrr"] for record in training.history]
    assert measured[-1] < max(measured)
    report = evaluate(method_of(ring, TINY).embedding(training.best(), 1), ring, "valid").as_dict()
    assert report["both"]["expected"]["mrr"] == max(measured)


def test_time_ends_it_early(ring):
    assert train(ring, TINY, max_minutes=0).step == 0


def test_without_validation_facts_the_last_one_is_taken(ring):
    training = train(Dataset("ring", ring.vocab, ring.train, ring.valid[:0], ring.test), TINY)
    assert training.history == []
    assert training.best()["entity"] is training.parameters["entity"].values


def test_divergence_is_an_error(ring):
    with pytest.raises(RNNLogicError, match=r"diverged at step \d+; set learning_rate below 1e\+30"):
        train(ring, changed(learning_rate=1e30))


def test_the_rate_falls_as_a_cosine():
    assert learning_rate(TINY, 0, 10) == 0.05
    assert learning_rate(TINY, 5, 10) == pytest.approx(0.025)
    assert 0 < learning_rate(TINY, 9, 10) < 0.003


def test_steps_end_in_time_for_an_evaluation():
    training = Training(parameters=None)
    assert _end_of_steps(training, math.inf) == math.inf
    assert _end_of_steps(training, 100.0) == 85.0  # how long it takes is not known yet
    training.history.append({"step": 1, "seconds": 2.0, "evaluation": 4.0, "valid_mrr": 0.1})
    assert _end_of_steps(training, 100.0) == 96.0
