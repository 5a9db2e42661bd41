"""Scores by definition, and the authors' checkpoints, which pin down the conventions."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rnnlogic.data.dataset import load_dataset
from rnnlogic.embeddings.files import load_authors_checkpoint
from rnnlogic.embeddings.rotate import BLOCK, RotatE
from rnnlogic.evaluation.evaluate import evaluate


def random_embedding(entities=7, relations=3, dim=5, threads=None) -> RotatE:
    rng = np.random.default_rng(1)
    entity = rng.normal(size=(entities, 2 * dim)).astype(np.float32)
    return RotatE(entity, rng.normal(size=(relations, dim)).astype(np.float32), 6.0, threads)


def as_complex(rows, dim):
    return rows[:, :dim].astype(complex) + 1j * rows[:, dim:]


def test_sizes():
    embedding = random_embedding()
    assert (embedding.num_entities, embedding.num_relations, embedding.dim) == (7, 3, 5)


def test_score_by_definition():
    embedding = random_embedding()
    vectors = as_complex(embedding.entity, 5)
    heads, relations = np.array([0, 3, 3], np.int32), np.array([1, 4, 2], np.int32)
    scores = embedding.score(None, heads, relations)
    for query, (head, angles) in enumerate([(0, embedding.phase[1]), (3, -embedding.phase[1])]):
        for tail in range(7):
            distance = np.abs(vectors[head] * np.exp(1j * angles) - vectors[tail]).sum()
            assert scores[query, tail] == pytest.approx(6 - distance, rel=1e-5)


def test_head_and_tail_questions_give_the_same_score():
    embedding = random_embedding()
    everyone = np.arange(7, dtype=np.int32)
    forwards = embedding.score(None, everyone, np.full(7, 2, np.int32))
    backwards = embedding.score(None, everyone, np.full(7, 5, np.int32))
    np.testing.assert_allclose(forwards, backwards.T, rtol=1e-5)


def test_rotated_composes():
    embedding = random_embedding()
    heads = np.array([2, 6])
    both = embedding.phases(np.array([0, 4])) + embedding.phases(np.array([3, 4]))
    turned = as_complex(embedding.rotated(heads, both), 5)
    np.testing.assert_allclose(turned[0], as_complex(embedding.entity, 5)[2], rtol=1e-5)
    expected = as_complex(embedding.entity, 5)[6] * np.exp(-2j * embedding.phase[1])
    np.testing.assert_allclose(turned[1], expected, rtol=1e-5)


def test_many_entities_on_threads():
    heads, relations = np.arange(3, dtype=np.int32), np.zeros(3, np.int32)
    one, two = (random_embedding(2 * BLOCK + 3, threads=threads) for threads in (1, 2))
    scores = one.score(None, heads, relations)
    np.testing.assert_array_equal(scores, two.score(None, heads, relations))
    assert scores[2, -1] == pytest.approx(
        6
        - np.abs(
            np.diff(as_complex(np.stack([one.rotated([2], one.phases([0]))[0], one.entity[-1]]), 5), axis=0)
        ).sum()
    )


def test_a_copy_in_another_process_and_calls_at_once_give_the_same_scores():
    embedding = random_embedding(2 * BLOCK + 3, threads=2)
    heads, relations = np.arange(40, dtype=np.int32), np.arange(40, dtype=np.int32) % 6
    scores = embedding.score(None, heads, relations)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(embedding)).score(None, heads, relations), scores)
    with ThreadPoolExecutor(4) as pool:
        for start, some in enumerate(
            pool.map(lambda i: embedding.score(None, heads[i:], relations[i:]), range(8))
        ):
            np.testing.assert_array_equal(some, scores[start:])


@pytest.mark.parametrize(("name", "dim", "mrr"), [("kinship", 2000, 0.652), ("umls", 1000, 0.740)])
def test_authors_checkpoints(authors_data, name, dim, mrr):
    dataset = load_dataset(authors_data / name)
    dicts = (authors_data / "rotate" / f"{name}.{kind}.dict" for kind in ("entities", "relations"))
    embedding = load_authors_checkpoint(authors_data / "rotate" / f"{name}-{dim}", dataset.vocab, *dicts)
    report = evaluate(embedding, dataset, "test").as_dict()
    assert report["both"]["expected"]["mrr"] == pytest.approx(mrr, abs=0.0006)
