"""One model, asked by many threads at once: the answers of one thread, and no memory kept."""

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from rnnlogic.model import RNNLogic
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import family
from tests.torture.runs import config_of  # settings that make a fit quick

RELATIONS = ("parent", "married^-1", "grandparent")
QUESTIONS = [(head, relation) for head in ("grandpa0", "grandma1", "child0_0") for relation in RELATIONS]
MANY, KEPT = 18, 64 * 1024


@pytest.fixture(scope="module", params=["rnnlogic", "rnnlogic-emb", "plus-emb"])
def model(request) -> RNNLogic:
    dataset = family()
    embedding = random_embedding(dataset.vocab.num_entities, dataset.vocab.num_relations)
    given = embedding if request.param.endswith("emb") else None
    return RNNLogic(config_of(request.param)).fit(dataset, embeddings=given)


def told(model: RNNLogic, question) -> list:
    return [answer.as_dict() for answer in model.predict(*question, 5, facts="all")]


def test_many_threads_get_the_same_answers(model):
    fresh = RNNLogic(model.config)._take(model.dataset, model.config, model.learned)  # nothing cached yet
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda i: told(fresh, QUESTIONS[i % len(QUESTIONS)]), range(4 * len(QUESTIONS)))
        )
    expected = [told(model, question) for question in QUESTIONS]
    assert found == expected * 4


def test_many_predictions_leave_memory_where_it_was(model):
    for question in QUESTIONS:
        told(model, question)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.take_snapshot()
        for i in range(MANY):
            told(model, QUESTIONS[i % len(QUESTIONS)])
        gc.collect()
        grown = sum(one.size_diff for one in tracemalloc.take_snapshot().compare_to(before, "filename"))
    finally:
        tracemalloc.stop()
    assert grown < KEPT
