"""Rules with given confidences: both aggregations against plain Python."""

from itertools import pairwise
from math import prod

import numpy as np
import pytest

from paper.baselines.confidence import MaxScorer, confidence_scorer, smoothed_confidences
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.features.ground import Grounder
from rnnlogic.mining.mine import find_candidates
from rnnlogic.mining.settings import MineSettings
from rnnlogic.rules.formats import read_table
from rnnlogic.rules.table import RuleTable
from tests.helpers.family import family

DATASET = family()
GRAPH = DATASET.graph("train")
RULES = find_candidates(GRAPH, MineSettings(), max_length=2).rules
HEADS = np.repeat(np.arange(GRAPH.num_entities, dtype=np.int32), 6)
RELATIONS = np.tile(np.arange(6, dtype=np.int32), GRAPH.num_entities)


@pytest.fixture
def table() -> RuleTable:
    rng = np.random.default_rng(0)
    predictions = rng.integers(5, 8, len(RULES)).tolist()  # few different confidences, so that there are ties
    support = [int(rng.integers(1, 4)) for _ in predictions]
    return RuleTable(RULES, {"predictions": predictions, "support": support})


def reaching(confidences) -> dict[tuple[int, int], list[float]]:
    """Confidences of the rules that reach each entity, by query and entity."""
    found: dict[tuple[int, int], list[float]] = {}
    for part in Grounder(GRAPH, RULES).ground(HEADS, RELATIONS):
        columns = part.columns()
        for query, entity, rule in zip(columns.query, columns.entity, columns.rule, strict=True):
            found.setdefault((int(query), int(entity)), []).append(float(confidences[rule]))
    return found


def test_max_compares_the_three_most_confident_rules(table):
    scores = confidence_scorer(table, "max", threads=1).score(GRAPH, HEADS, RELATIONS)
    found = reaching(smoothed_confidences(table))
    assert np.isfinite(scores).sum() == len(found)
    best = {key: (sorted(values, reverse=True) + [0.0] * 3)[:3] for key, values in found.items()}
    order = sorted(best, key=lambda key: best[key])
    for lower, upper in pairwise(order):
        assert (scores[lower] == scores[upper]) == (best[lower] == best[upper])
        assert scores[lower] <= scores[upper]
    assert len(set(map(tuple, best.values()))) > 20


def test_noisy_or(table):
    scores = confidence_scorer(table, "noisy-or", threads=1).score(GRAPH, HEADS, RELATIONS)
    found = reaching(smoothed_confidences(table))
    assert np.isfinite(scores).sum() == len(found)
    for key, values in found.items():
        assert 1 - np.exp(-scores[key]) == pytest.approx(1 - prod(1 - value for value in values))


def test_rules_of_a_file(tmp_path):
    path = tmp_path / "rules"
    path.write_text("10\t7\t0.7\tgrandparent(X,Y) <= parent(X,A), parent(A,Y)\n")
    table, _ = read_table(path, DATASET.vocab, "anyburl")
    assert smoothed_confidences(table).tolist() == pytest.approx([7 / 15, 7 / 15])  # and the rule backwards
    assert smoothed_confidences(table, 0).tolist() == pytest.approx([0.7, 0.7])


def test_what_is_missing_or_too_much_is_told(table):
    with pytest.raises(RNNLogicError, match="the rules have no predictions"):
        confidence_scorer(RuleTable(RULES))
    with pytest.raises(RNNLogicError, match="too many; round them first"):
        MaxScorer(RULES, np.arange(300_000))
