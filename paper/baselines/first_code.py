"""The paper's first released code (RNNLogic w/o emb.), as what it computes; without its generator.

It solves no convex problem. It passes once over the training queries, and every walk of a rule is a step of
Adam on the weight of the rule, with the decay in each step. The gradient is 1 - p for a walk to any known
answer and - p for other walks, where p is the softmax of scores that are divided by the temperature. So a
weight ends near the share of the rule's walks that lead to known answers. A query then selects rules by a
softmax of undivided scores, which is its best one or two. Its generator is pre-trained on all mined paths
alike and hardly changes in ten rounds (100 steps of 1e-5), so here a round draws mined rules at random; the
final rules are those that were selected most. Entities that no rule reaches have the score 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from paper.baselines import kernels
from paper.baselines.kernels import Flags, Floats, Ints
from rnnlogic.base.budget import Work
from rnnlogic.base.types import Tick, no_tick
from rnnlogic.config import preset_for
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.features.ground import Grounder
from rnnlogic.features.kernels import ANSWER, WRONG
from rnnlogic.features.table import Candidates
from rnnlogic.mining.mine import best_per_head, mine_rules
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import training_queries

FEWER = {"umls": 100}  # final rules per relation where its authors took fewer


class FirstCodeSettings(BaseModel):
    """As its authors call it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(0, ge=0)
    max_length: int = Field(3, ge=1)
    rounds: int = Field(10, ge=1)
    drawn: int = Field(2000, ge=1, description="Rules per relation and round")
    kept: int = Field(200, ge=1, description="Final rules per relation: those that were selected most")
    learning_rate: float = Field(0.01, gt=0)
    weight_decay: float = Field(0.0005, ge=0)
    temperature: float = Field(100.0, gt=0)
    threads: int = Field(1, ge=1)


@dataclass(frozen=True, eq=False)
class ZeroElsewhere:
    """A scorer whose score is 0 where no rule leads."""

    scorer: Scorer

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E]."""
        found = self.scorer.score(graph, heads, relations)
        return np.where(np.isneginf(found), 0.0, found)


def fit_first_code(
    dataset: Dataset, settings: FirstCodeSettings | None = None, tick: Tick = no_tick
) -> ZeroElsewhere:
    """Select rules in rounds, and learn the weights of the final ones."""
    settings = settings or FirstCodeSettings()
    graph, rules = dataset.graph("train"), select_rules(dataset, settings, tick)
    weights = learn_weights(graph, rules, settings)
    return ZeroElsewhere(RuleScorer(rules, weights, "count", settings.threads))


def select_rules(dataset: Dataset, settings: FirstCodeSettings, tick: Tick = no_tick) -> RuleSet:
    """The mined rules that training queries select most, in rounds with other rules drawn each time."""
    graph, mine = dataset.graph("train"), preset_for(dataset).mine
    mined = mine_rules(
        graph, mine, settings.max_length, seed=settings.seed, work=Work(settings.threads)
    ).rules
    total, random = np.zeros(len(mined)), np.random.default_rng(settings.seed)
    for number in range(settings.rounds):
        drawn = best_per_head(mined, random.random(len(mined)), settings.drawn)
        total[drawn] += selections_of(graph, mined[drawn], settings)
        tick(number + 1, settings.rounds)
    return mined[best_per_head(mined, total, settings.kept)]


def learn_weights(
    graph: Graph, rules: RuleSet, settings: FirstCodeSettings, others_right: bool = True
) -> Floats:
    """The weights after one pass; by default a walk to any known answer is right, as in the code."""
    weights = np.zeros(len(rules))
    told = settings.learning_rate, settings.weight_decay, settings.temperature
    for found, is_answer, is_known in training_walks(graph, rules, settings):
        own = weights[found.ids]
        kernels.adam_pass(*_walks(found), is_known if others_right else is_answer, own, *told)
        weights[found.ids] = own
    return weights


def selections_of(graph: Graph, rules: RuleSet, settings: FirstCodeSettings) -> Floats:
    """How much the training queries select each rule."""
    weights, selections = learn_weights(graph, rules, settings), np.zeros(len(rules))
    for found, is_answer, _ in training_walks(graph, rules, settings):
        told = *_walks(found), is_answer, weights[found.ids], graph.num_entities
        selections[found.ids] += kernels.select(*told)
    return selections


def training_walks(
    graph: Graph, rules: RuleSet, settings: FirstCodeSettings
) -> Iterator[tuple[Candidates, Flags, Flags]]:
    """Training queries in random order, own fact hidden: candidates, which is the answer, which are known."""
    grounder, queries = Grounder(graph, rules, settings.threads), training_queries(graph, None, settings.seed)
    np.random.default_rng(settings.seed).shuffle(queries)
    for relation in rules.head_relations():
        heads, _, tails = (np.ascontiguousarray(part) for part in queries[queries[:, 1] == relation].T)
        for part in grounder.ground(heads, int(relation), tails):
            found = part.candidates().labelled(graph, tails[part.queries], leave_out=True)
            yield found, found.label == ANSWER, found.label != WRONG


def _walks(found: Candidates) -> tuple[Ints, Ints, Ints, Ints]:
    return found.query_ptr, found.candidate_ptr, found.rule.astype(np.int64), found.count.astype(np.int64)
