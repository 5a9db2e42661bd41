"""Training and scores of NeuralLP and DRUM."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from paper.baselines.drum import DRUM
from paper.baselines.neural_lp import NeuralLP
from paper.baselines.walks import Edges, Questions, edges_of
from rnnlogic.base.types import Queries, Tick, no_tick
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.generator.train import torch_threads
from rnnlogic.statistics.statistics import training_queries

SMALLEST = 1e-10  # probability of an answer that no walk reaches


class DifferentiableSettings(BaseModel):
    """Settings of the model and its training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Literal["neural-lp", "drum"] = "drum"
    seed: int = Field(0, ge=0)
    steps: int = Field(3, ge=1, description="Longest rule body")
    rank: int = Field(3, ge=1, description="Number of DRUM's walkers")
    hidden_size: int = Field(64, ge=1, description="Size of the LSTM's state")
    learning_rate: float = Field(0.01, gt=0)
    batch_size: int = Field(64, ge=1, description="Queries per step of Adam, all of one relation")
    epochs: int = Field(10, ge=1)
    patience: int = Field(3, ge=1, description="Stop after so many epochs without a better validation MRR")
    valid_facts: int = Field(2000, ge=1, description="Validation facts to evaluate after each epoch, at most")
    threads: int = Field(1, ge=1)


class DifferentiableScorer:
    """A trained model that scores answers from the facts of any graph."""

    def __init__(self, model: nn.Module, batch_size: int = 64) -> None:
        self.model, self._batch_size = model, batch_size
        # One tuple, replaced as a whole: a graph and its edges stay together whichever thread looks.
        self._last: tuple[Graph, Edges] | None = None

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E]; -inf for entities that no walk reaches."""
        edges = self._edges_of(graph)
        scores = np.empty((len(heads), graph.num_entities))
        with torch.inference_mode():
            for relation in np.unique(relations):
                asked = np.flatnonzero(relations == relation)
                for start in range(0, len(asked), self._batch_size):
                    batch = asked[start : start + self._batch_size]
                    questions = _questions(graph, int(relation), heads[batch], None)
                    scores[batch] = self.model(edges, questions).double().numpy()
        return np.where(scores > 0, scores, -np.inf)

    def __getstate__(self) -> dict[str, Any]:
        """The model without the last graph, which another process need not get."""
        return self.__dict__ | {"_last": None}

    def _edges_of(self, graph: Graph) -> Edges:
        last = self._last
        if last is None or last[0] is not graph:
            last = self._last = graph, edges_of(graph)
        return last[1]


def fit_differentiable(
    dataset: Dataset, settings: DifferentiableSettings | None = None, progress: Tick = no_tick
) -> DifferentiableScorer:
    """Train on the training queries, each with its own fact hidden; the epoch of best validation MRR is kept.

    Torch's random state and number of threads are the same afterwards as before.
    """
    settings = settings or DifferentiableSettings()
    with torch_threads(settings.threads), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return _fit(dataset, settings, progress)


def _fit(dataset: Dataset, settings: DifferentiableSettings, progress: Tick) -> DifferentiableScorer:
    graph, rng = dataset.graph("train"), np.random.default_rng(settings.seed)
    model = make_model(2 * graph.num_relations, settings)
    optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate)
    scorer, edges = DifferentiableScorer(model, settings.batch_size), edges_of(graph)
    best, best_epoch, best_state = -1.0, 0, model.state_dict()
    for epoch in range(1, settings.epochs + 1):
        for batch in _batches(training_queries(graph, None, settings.seed), settings.batch_size, rng):
            questions = _questions(graph, int(batch[0, 1]), batch[:, 0], batch[:, 2])
            loss = answer_loss(model(edges, questions), questions.hidden)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        mrr = evaluate(scorer, dataset, "valid", most_facts=settings.valid_facts).metrics()["mrr"]
        if mrr > best:
            best, best_epoch, best_state = mrr, epoch, copy.deepcopy(model.state_dict())
        progress(epoch, settings.epochs, f"valid MRR {mrr:.3f}")
        if epoch - best_epoch >= settings.patience:
            break
    model.load_state_dict(best_state)
    return scorer


def make_model(num_relations: int, settings: DifferentiableSettings) -> nn.Module:
    """An untrained model; `num_relations` counts inverses too."""
    if settings.model == "drum":
        return DRUM(num_relations, settings.steps, settings.hidden_size, settings.rank)
    return NeuralLP(num_relations, settings.steps, settings.hidden_size)


def answer_loss(scores: Tensor, answers: Tensor | None) -> Tensor:
    """Mean of -log p(answer), where p is a row of scores [B, E] divided by its sum."""
    assert answers is not None
    right = scores[torch.arange(len(answers)), answers]
    return -torch.log(right / scores.sum(dim=1).clamp_min(SMALLEST) + SMALLEST).mean()


def _questions(
    graph: Graph, relation: int, heads: NDArray[np.int32], hidden: NDArray[np.int32] | None
) -> Questions:
    answers = None if hidden is None else torch.as_tensor(hidden.astype(np.int64))
    return Questions(relation, graph.inverse(relation), torch.as_tensor(heads.astype(np.int64)), answers)


def _batches(queries: Queries, size: int, rng: np.random.Generator) -> Iterator[Queries]:
    """All queries once, in random order, in batches of one relation each."""
    shuffled = queries[rng.permutation(len(queries))]
    of_relation = shuffled[np.argsort(shuffled[:, 1], kind="stable")]
    ends = np.flatnonzero(np.diff(of_relation[:, 1])) + 1
    batches = [
        block[start : start + size]
        for block in np.split(of_relation, ends)
        for start in range(0, len(block), size)
    ]
    for i in rng.permutation(len(batches)):
        yield batches[i]
