"""The full model as a teacher."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Queries
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.fit.compact.types import Teacher
from rnnlogic.fit.result import Learned
from rnnlogic.predictors.loglinear.signs import Signs, signs_of
from rnnlogic.predictors.pieces import PiecePredictor


def teacher_of(
    full: Learned, dataset: Dataset, config: Config, pinned: NDArray[np.bool_] | None = None
) -> Teacher:
    """The full model with the data that it is judged on; its predictor must be a weighted sum of rules."""
    predictor = full.predictor
    return Teacher(
        dataset.graph("train"),
        dataset.graph("all"),
        full.rules,
        full.weights,
        full.support,
        full.confidence,
        _signs(full, config),
        predictor.values(full.rules, config, predictor.embedding),
        np.zeros(len(full.rules), bool) if pinned is None else pinned,
        validation_queries(dataset, config.em.valid_facts),
        config.compact,
        config.seed,
        predictor.elsewhere if isinstance(predictor, PiecePredictor) else None,
    )


def _signs(full: Learned, config: Config) -> Signs:
    """The signs that the full model's weights had to have, but for weights that were given."""
    signs = signs_of(full.lift, config.predictor.sign_lift)
    return np.where(full.weights * signs < 0, 0, signs).astype(np.int8)


def validation_queries(dataset: Dataset, most_facts: int) -> Queries:
    """Queries of validation facts in both directions, of a sample if there are more facts than asked."""
    facts = dataset.valid
    facts = facts[np.sort(np.random.default_rng(0).permutation(len(facts))[:most_facts])]
    back = facts[:, [2, 1, 0]] + np.array([0, dataset.vocab.num_relations, 0], facts.dtype)
    return np.concatenate([facts, back])
