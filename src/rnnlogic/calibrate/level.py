"""Probabilities for one kind of evidence: how many facts are missing depends on what is known.

The cases are facts that the rules were not fitted to. Where the evidence holds them, each is hidden in
turn, so that the rules see it as they would see a missing fact. Each case stands for as many of those that
are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.chances import expit
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Tick, no_tick
from rnnlogic.calibrate.missing import LEAST, Origin, estimated_missing
from rnnlogic.calibrate.missing import Scored as ScoredFacts
from rnnlogic.calibrate.probability import (
    AS_THEY_ARE,
    ProbabilityModel,
    Reliability,
    Rows,
    Values,
    best_shift,
    fit_probability,
    held_out_logits,
    recalibration,
    relation_shifts,
    reliability_of_cases,
    stretched,
)
from rnnlogic.calibrate.proposals import (
    BOTH_WAYS,
    FEATURES,
    ONE_WAY,
    Design,
    Proposals,
    draw_proposals,
    look_twice,
    straight,
    two_way,
)
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.rules.ruleset import RuleSet

CASES = 3000  # facts hidden: their share is then known to one percent
WORK = 5e7  # questions times rules that answer them, to see what is proposed
QUESTIONS = (2000, 48_000)  # but at least and at most so many questions
LOOKS = 10_000  # proposals that are asked for both ways: about as long as the cases take
HIGHEST = 0.999  # nothing is certain


def shown(probability: float) -> str:
    """A probability as people see it, in every command the same; never 0 or 1."""
    return "<0.001" if probability < 0.001 else f"{min(probability, HIGHEST):.3f}"


@dataclass(frozen=True)
class Basis:
    """What probabilities are measured on."""

    facts: str  # "validation facts", ...
    missing: int  # facts that are missing from the known facts
    origin: Origin  # how their number is known

    @property
    def is_counted(self) -> bool:
        """Whether the missing facts are held out, so that what is stated can be checked."""
        return self.origin == "counted"


@dataclass(frozen=True, eq=False)
class Level:
    """How probable facts are that this evidence does not hold."""

    evidence: str
    basis: Basis
    cases: int  # facts hidden
    reached: int  # those of them that rules reach
    one_way: ProbabilityModel  # by one question alone, with offsets for 2R relations: for a first choice
    both_ways: ProbabilityModel
    unreached: float  # the chance of a fact that no rule reaches
    reliability: Reliability  # cross-validated

    @property
    def highest(self) -> float:
        """No probability is higher: the rule of succession for facts that were right each time."""
        return min(HIGHEST, (self.reached + 1) / (self.reached + 2))

    def probabilities(self, graph: Graph, scorer: AnswerScorer, facts: NDArray[np.integer]) -> Values:
        """The chance of facts [n, 3] to be true, relations in 0..2R-1; a fact and its inverse have the same.

        Facts of the graph are hidden, each while its own questions are asked.
        """
        facts = straight(np.asarray(facts).reshape(-1, 3), graph.num_relations)
        features, ways = two_way(graph, scorer, facts)
        return self.of_features(features, ways, facts[:, 1])

    def of_features(self, features: Values, ways: NDArray[np.int64], relation: NDArray[np.integer]) -> Values:
        """The chances [n] of facts whose features [n, WIDTH] and ways to reach them [n] are known."""
        found = np.minimum(expit(self.both_ways.logits(features, relation)), self.highest)
        return np.where(ways > 0, found, self.unreached)

    def sentence(self) -> str:
        """What a probability means, and what it was measured on."""
        basis = self.basis
        hidden = "each hidden in turn" if self.evidence != "train" else "which the rules have not seen"
        if basis.facts == "training facts":
            hidden = "each hidden in turn; the rules were fitted to them, so it may be too high"
        error = f" (calibration error {self.reliability.error:.3f})" if basis.is_counted else ""
        return (
            f"A probability is the chance that the fact is true. {self.assumption()} "
            f"Measured on {self.cases:,} {basis.facts}, {hidden}{error}."
        )

    def assumption(self) -> str:
        """How many facts are missing, and how that is known, in one sentence."""
        number = f"{self.basis.missing:,}"
        if self.basis.is_counted:
            return f"Facts missing from the known facts ({self.evidence}): {number}, which are held out."
        if self.basis.origin == "given":
            return f"Facts missing from the known facts ({self.evidence}): {number}, as you said."
        return (
            f"Facts missing from the known facts ({self.evidence}): about {number}. This is an estimate "
            "from how often hidden facts are found again and how much else is proposed; --missing changes it."
        )

    def table(self) -> list[dict[str, Any]]:
        """Probabilities and how many facts have them; the share observed only where facts are held out."""
        rows = self.reliability.table()
        if self.basis.is_counted:
            return rows
        return [{key: value for key, value in row.items() if key != "observed"} for row in rows]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "evidence": self.evidence,
            "measured_on": self.basis.facts,
            "facts": self.cases,
            "reached": self.reached,
            "missing": self.basis.missing,
            "missing_is": self.basis.origin,
            "calibration_error": self.reliability.error if self.basis.is_counted else None,
            "reliability": self.table(),
            "meaning": self.sentence(),
        }


class LevelTask(NamedTuple):
    """What probabilities for one kind of evidence are fitted to."""

    evidence: str
    graph: Graph
    facts: Triples  # that look like missing ones
    basis: Basis  # where the number of missing facts is estimated, a first guess of it
    random: np.random.Generator


class _Sample(NamedTuple):
    """What probabilities are fitted to: hidden facts, and a sample of what rules propose."""

    task: LevelTask
    picked: Triples  # the cases
    is_reached: NDArray[np.bool_]  # [picked]
    cases: Rows  # those that are reached, both ways
    one_way: ProbabilityModel
    proposals: Proposals


def fit_levels(
    scorer: AnswerScorer,
    tasks: Sequence[LevelTask],
    effort: float = 1.0,
    tick: Tick = no_tick,
) -> list[Level]:
    """Fit probabilities to samples of facts that look like missing ones; with less effort smaller ones.

    Questions of one kind of evidence are asked side by side; fits, which take one core, those of all kinds.
    """
    samples: list[_Sample] = []
    for task in tasks:
        tick(len(samples), len(tasks))
        samples.append(_sample(scorer, task, effort))
    threads = getattr(scorer, "threads", None)
    levels = list(map_ordered(_fitted, samples, None, threads, here=True))
    tick(len(tasks), len(tasks))
    return levels


def _sample(scorer: AnswerScorer, task: LevelTask, effort: float) -> _Sample:
    """The cases, and proposals: many by one question, the probable ones of them by both."""
    graph, facts, random = task.graph, task.facts, task.random
    picked = facts[np.sort(random.permutation(len(facts))[: round(effort * CASES)])]
    features, ways = two_way(graph, scorer, picked)
    stands_for = np.full(len(picked), task.basis.missing / max(len(picked), 1))
    cases = Rows(features, picked[:, 1].astype(np.int64), stands_for).select(ways > 0)
    asked = scorer.rules.head_relations().astype(np.int64)
    questions = int(effort * np.clip(WORK * len(asked) / max(len(scorer.rules), 1), *QUESTIONS))
    design = Design.of(graph, asked, questions, picked)
    drawn, number = draw_proposals(scorer, design, random), graph.num_relations
    one_way = fit_probability(_each_way(cases, number), drawn.rows, 2 * number, ONE_WAY)
    proposals = look_twice(scorer, design, drawn, one_way, round(effort * LOOKS), random)
    return _Sample(task, picked, ways > 0, cases, one_way, proposals)


def _fitted(shared: None, sample: _Sample) -> Level:
    """By both questions, and how far that is right."""
    del shared
    task, picked, is_reached, cases, one_way, proposals = sample
    num_relations, rows = task.graph.num_relations, proposals.rows
    groups = picked[is_reached, 0], proposals.facts[:, 0]
    both_ways = fit_probability(cases, rows, num_relations, BOTH_WAYS)
    held_out = held_out_logits(cases, rows, groups, num_relations, BOTH_WAYS, both_ways)
    missing = float(task.basis.missing)
    if task.basis.is_counted:
        stretch = recalibration(held_out[0], cases.weight, held_out[1], rows.weight)
        both_ways = replace(both_ways, stretch=stretch)
        shifts = relation_shifts(cases, rows, both_ways)
        one_way = replace(one_way, offsets=one_way.offsets + np.tile(shifts, 2))
        both_ways = replace(both_ways, offsets=both_ways.offsets + shifts)
        held_out = (
            stretched(held_out[0] + shifts[cases.relation], stretch),
            stretched(held_out[1] + shifts[rows.relation], stretch),
        )
    else:
        found = _missing(sample, held_out)
        expected = missing * _picked(picked, task.graph) / max(len(picked), 1)
        missing, ratio = float(found.sum()), np.maximum(found / np.maximum(expected, LEAST), LEAST)
        cases = replace(cases, weight=cases.weight * ratio[cases.relation])
        both_ways = fit_probability(cases, rows, num_relations, BOTH_WAYS)
        held_out = held_out_logits(cases, rows, groups, num_relations, BOTH_WAYS, both_ways)
        one_way = replace(one_way, offsets=one_way.offsets + np.tile(np.log(ratio), 2))
    unreached = missing / max(len(picked), 1) * int((~is_reached).sum())
    return Level(
        task.evidence,
        replace(task.basis, missing=round(missing)),
        len(picked),
        int(is_reached.sum()),
        one_way,
        both_ways,
        min(unreached / (task.graph.num_entities**2 * max(num_relations, 1)), HIGHEST),
        reliability_of_cases(expit(held_out[0]), cases.weight, expit(held_out[1]), rows.weight),
    )


def _picked(picked: Triples, graph: Graph) -> NDArray[np.int64]:
    """Hidden facts of each relation [R]."""
    return np.bincount(picked[:, 1], minlength=graph.num_relations)


def _missing(sample: _Sample, held_out: tuple[Values, Values]) -> Values:
    """Missing facts of each relation [R], where they are not held out: estimated, or as somebody says."""
    task, picked, _, cases, _, proposals = sample
    hidden = ScoredFacts(held_out[0], cases.relation, cases.weight)
    others = ScoredFacts(held_out[1], proposals.rows.relation, proposals.rows.weight)
    known = np.bincount(task.graph.triples()[:, 1], minlength=task.graph.num_relations)
    found = estimated_missing(hidden, others, _picked(picked, task.graph), known)
    if task.basis.origin == "estimated":
        return found
    share = found if found.sum() > 0 else known
    return np.asarray(task.basis.missing * share / max(float(share.sum()), LEAST))


def asked_direction(rules: RuleSet, relation: int, num_relations: int) -> int:
    """The relation id whose rules propose facts of `relation`: itself, or its inverse if it has no rules."""
    return relation if len(rules.by_head(relation)) else relation + num_relations


def _each_way(cases: Rows, num_relations: int) -> Rows:
    """One row for each question that reaches a case, with its features and its relation (0..2R-1)."""
    width = len(FEATURES)
    reached = [cases.features[:, 2 * width + way] > 0 for way in (0, 1)]
    features = [
        cases.features[is_reached, way * width : (way + 1) * width] for way, is_reached in enumerate(reached)
    ]
    relation = [cases.relation[is_reached] + way * num_relations for way, is_reached in enumerate(reached)]
    weight = [cases.weight[is_reached] for is_reached in reached]
    return Rows(np.concatenate(features), np.concatenate(relation), np.concatenate(weight))


def with_decisions(level: Level, dataset: Dataset, graph: Graph, scorer: AnswerScorer) -> Level:
    """The level with the log-odds of each relation shifted to suit what was accepted and rejected.

    Accepted facts are in the graph by now; each is hidden while it is asked for, as held-out facts are.
    """
    facts = np.concatenate([dataset.accepted, dataset.rejected])
    is_true = np.arange(len(facts)) < len(dataset.accepted)
    if not len(facts):
        return level
    features, ways = two_way(graph, scorer, facts)
    plain = replace(level.both_ways, stretch=AS_THEY_ARE).logits(features, facts[:, 1])
    shifts = np.zeros(graph.num_relations)
    for relation in np.unique(facts[ways > 0, 1]).tolist():
        own = (facts[:, 1] == relation) & (ways > 0)
        shifts[relation] = _shift(plain[own], is_true[own], level.both_ways.stretch)
    both_ways, one_way = level.both_ways, level.one_way
    return replace(
        level,
        both_ways=replace(both_ways, offsets=both_ways.offsets + shifts),
        one_way=replace(one_way, offsets=one_way.offsets + np.tile(shifts, 2)),
    )


def _shift(logits: Values, is_true: NDArray[np.bool_], stretch: Values) -> float:
    """What to add to log-odds [n] before they are stretched, so that facts [n] are as true as they are."""
    signs = np.where(is_true, -1.0, 1.0)

    def loss(shift: float) -> float:
        found = stretched(logits + shift, stretch)
        # A shift costs about as much as two decisions against it
        return float(np.logaddexp(0, signs * found).sum()) + 0.5 * shift**2

    return best_shift(loss)
