"""PyKEEN models as scorers: the scores are PyKEEN's own, in our order of names."""

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.pykeen_scorer import PyKEENScorer
from rnnlogic.evaluation.evaluate import evaluate


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "inverse_triples"])
def trained(request, ring):
    """A tiny RotatE of PyKEEN whose ids are in another order than ours, and its factory."""
    from pykeen.models import RotatE
    from pykeen.training import SLCWATrainingLoop
    from pykeen.triples import TriplesFactory

    vocab = ring.vocab
    named = [(vocab.entities[h], vocab.relations[r], vocab.entities[t]) for h, r, t in ring.train]
    factory = TriplesFactory.from_labeled_triples(
        np.array(named),
        entity_to_id={name: i for i, name in enumerate(reversed(vocab.entities))},
        relation_to_id={name: i for i, name in enumerate(reversed(vocab.relations))},
        create_inverse_triples=request.param,
    )
    model = RotatE(triples_factory=factory, embedding_dim=4, random_seed=0)
    loop = SLCWATrainingLoop(model=model, triples_factory=factory)
    loop.train(factory, num_epochs=1, batch_size=32, use_tqdm=False)
    return model, factory


def test_scores_are_those_of_pykeen(ring, trained):
    from pykeen.predict import predict_target

    model, factory = trained
    scores = PyKEENScorer(model, factory, ring.vocab, batch_size=2).score(
        None, np.array([4, 7, 7], np.int32), np.array([1, 5, 2], np.int32)
    )
    questions = [
        {"head": "e04", "relation": "r1"},
        {"tail": "e07", "relation": "r2"},
        {"head": "e07", "relation": "r2"},
    ]
    for row, question in zip(scores, questions, strict=True):
        frame = predict_target(model=model, triples_factory=factory, **question).df
        column = "head_label" if "tail" in question else "tail_label"
        expected = dict(zip(frame[column], frame["score"], strict=True))
        assert dict(zip(ring.vocab.entities, row, strict=True)) == pytest.approx(expected, rel=1e-5)


def test_it_can_be_evaluated(ring, trained):
    report = evaluate(PyKEENScorer(*trained, ring.vocab), ring, "test")
    assert 0 < report.as_dict()["both"]["expected"]["mrr"] < 1


def test_unknown_names_are_errors(trained):
    with pytest.raises(RNNLogicError, match=r"does not know entity 'x' \(1 of 2 names missing\)"):
        PyKEENScorer(*trained, Vocab(("e01", "x"), ("r1",)))


def test_a_model_that_cannot_score_all_tails_is_refused(ring, trained):
    model, factory = trained

    class Silent:
        device = model.device

        def predict_t(self, batch):
            raise NotImplementedError

    with pytest.raises(RNNLogicError, match="Silent cannot score all tails"):
        PyKEENScorer(Silent(), factory, ring.vocab).score(None, np.array([0]), np.array([0]))
