"""Probabilities for one kind of evidence: how many facts are missing depends on what is known.

The cases are facts that the rules were not fitted to. Where the evidence holds them, each is hidden in
turn, so that the rules see it as they would see a missing fact. Each case stands for its share of all that
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
from rnnlogic.calibrate.missing import LEAST, Origin, estimated_missing, spread
from rnnlogic.calibrate.missing import Scored as ScoredFacts
from rnnlogic.calibrate.probability import (
    AS_THEY_ARE,
    ProbabilityModel,
    Reliability,
    Rows,
    Values,
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

CASES = 3000  # facts hidden
WORK = 5e7  # questions times rules that answer them, to see what is proposed
QUESTIONS = (2000, 48_000)  # but at least and at most so many questions
LOOKS = 10_000  # proposals that are asked for both ways
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
    train: NDArray[np.int64]  # [R] training facts of each relation
    random: np.random.Generator


class _Begun(NamedTuple):
    """A sample of what rules propose, seen by one question each."""

    task: LevelTask
    picked: Triples  # the cases
    is_reached: NDArray[np.bool_]  # [picked]
    cases: Rows  # those that are reached, both ways
    design: Design
    drawn: Proposals


class _Seen(NamedTuple):
    """And some of it by both questions."""

    begun: _Begun
    one_way: ProbabilityModel
    proposals: Proposals


def fit_levels(
    scorer: AnswerScorer,
    tasks: Sequence[LevelTask],
    relations: NDArray[np.integer],  # below R
    effort: float = 1.0,
    tick: Tick = no_tick,
) -> list[Level]:
    """Fit probabilities to samples of facts that look like missing ones; with less effort smaller ones.

    Questions of one kind of evidence are asked side by side; fits, which take one core, those of all kinds.
    """
    begun: list[_Begun] = []
    for task in tasks:
        tick(len(begun), len(tasks))
        begun.append(_begin(scorer, task, relations, effort))
    threads = getattr(scorer, "threads", None)
    one_ways = map_ordered(_one_way, begun, None, threads, here=True)
    seen = [
        _Seen(one, model, _looked(scorer, one, model, effort))
        for one, model in zip(begun, list(one_ways), strict=True)
    ]
    levels = list(map_ordered(_finished, seen, max(len(relations), 1), threads, here=True))
    tick(len(tasks), len(tasks))
    return levels


def _begin(scorer: AnswerScorer, task: LevelTask, relations: NDArray[np.integer], effort: float) -> _Begun:
    graph, facts, random = task.graph, task.facts, task.random
    picked = facts[np.sort(random.permutation(len(facts))[: round(effort * CASES)])]
    features, ways = two_way(graph, scorer, picked)
    number = _picked(picked, graph)
    stands_for = task.basis.missing * spread(number, task.train) / np.maximum(number, 1)
    cases = Rows(features, picked[:, 1].astype(np.int64), stands_for[picked[:, 1]]).select(ways > 0)
    asked = relations_with_rules(scorer.rules, relations, graph.num_relations)
    questions = int(effort * np.clip(WORK * len(asked) / max(len(scorer.rules), 1), *QUESTIONS))
    design = Design.of(graph, asked, questions, picked)
    return _Begun(task, picked, ways > 0, cases, design, draw_proposals(scorer, design, random))


def _one_way(shared: None, begun: _Begun) -> ProbabilityModel:
    """By one question alone."""
    del shared
    number = begun.task.graph.num_relations
    return fit_probability(_each_way(begun.cases, number), begun.drawn.rows, 2 * number, ONE_WAY)


def _looked(scorer: AnswerScorer, begun: _Begun, one_way: ProbabilityModel, effort: float) -> Proposals:
    number, random = round(effort * LOOKS), begun.task.random
    return look_twice(scorer, begun.design, begun.drawn, one_way, number, random)


def _finished(relations: int, seen: _Seen) -> Level:
    """By both questions, and how far that is right; so many relations were asked about."""
    (task, picked, is_reached, cases, *_), one_way, proposals = seen
    num_relations, rows = task.graph.num_relations, proposals.rows
    groups = picked[is_reached, 0], proposals.facts[:, 0]
    both_ways = fit_probability(cases, rows, num_relations, BOTH_WAYS)
    held_out = held_out_logits(cases, rows, groups, num_relations, BOTH_WAYS, both_ways)
    missing = float(task.basis.missing)
    if not task.basis.is_counted:
        found = _missing(seen, held_out)
        missing = float(found.sum())
        ratio = found / np.maximum(
            task.basis.missing * spread(_picked(picked, task.graph), task.train), LEAST
        )
        ratio = np.maximum(ratio, LEAST)
        cases = replace(cases, weight=cases.weight * ratio[cases.relation])
        both_ways = fit_probability(cases, rows, num_relations, BOTH_WAYS)
        held_out = held_out_logits(cases, rows, groups, num_relations, BOTH_WAYS, both_ways)
        one_way = replace(one_way, offsets=one_way.offsets + np.tile(np.log(ratio), 2))
    stretch = _stretch(held_out, cases.weight, rows.weight) if task.basis.is_counted else AS_THEY_ARE
    both_ways = replace(both_ways, stretch=stretch)
    shifts = np.zeros(num_relations)
    if task.basis.is_counted:
        shifts = relation_shifts(cases, rows, both_ways)
    unreached = missing / max(len(picked), 1) * int((~is_reached).sum())
    return Level(
        task.evidence,
        replace(task.basis, missing=round(missing)),
        len(picked),
        int(is_reached.sum()),
        replace(one_way, offsets=one_way.offsets + np.tile(shifts, 2)),
        replace(both_ways, offsets=both_ways.offsets + shifts),
        min(unreached / (task.graph.num_entities**2 * relations), HIGHEST),
        _checked(held_out, shifts, stretch, cases, rows),
    )


def _picked(picked: Triples, graph: Graph) -> NDArray[np.int64]:
    """Hidden facts of each relation [R]."""
    return np.bincount(picked[:, 1], minlength=graph.num_relations)


def _missing(seen: _Seen, held_out: tuple[Values, Values]) -> Values:
    """Missing facts of each relation [R], where they are not held out: estimated, or as somebody says."""
    (task, picked, _, cases, *_), _, proposals = seen
    hidden = ScoredFacts(held_out[0], cases.relation, cases.weight)
    others = ScoredFacts(held_out[1], proposals.rows.relation, proposals.rows.weight)
    known = np.bincount(task.graph.triples()[:, 1], minlength=task.graph.num_relations)
    found = estimated_missing(hidden, others, _picked(picked, task.graph), known)
    if task.basis.origin == "estimated":
        return found
    share = found if found.sum() > 0 else known
    return np.asarray(task.basis.missing * share / max(float(share.sum()), LEAST))


def _stretch(held_out: tuple[Values, Values], case_weight: Values, weight: Values) -> Values:
    """A stretch of held-out log-odds, if that makes their error smaller."""
    cases, logits = held_out
    found = []
    for stretch in (AS_THEY_ARE, recalibration(cases, case_weight, logits, weight)):
        true_at, probability = (expit(stretched(part, stretch)) for part in (cases, logits))
        checked = reliability_of_cases(true_at, case_weight, probability, weight)
        found.append((checked.is_empty, checked.error, stretch))
    return min(found, key=lambda one: one[:2])[2]


def _checked(
    held_out: tuple[Values, Values], shifts: Values, stretch: Values, cases: Rows, proposals: Rows
) -> Reliability:
    """What is stated beside what is true, by log-odds of fits that have not seen the facts."""
    true_at, probability = (
        expit(stretched(logits + shifts[rows.relation], stretch))
        for logits, rows in zip(held_out, (cases, proposals), strict=True)
    )
    return reliability_of_cases(true_at, cases.weight, probability, proposals.weight)


def asked_direction(rules: RuleSet, relation: int, num_relations: int) -> int:
    """The relation id whose rules propose facts of `relation`: itself, or its inverse if it has no rules."""
    return relation if len(rules.by_head(relation)) else relation + num_relations


def relations_with_rules(
    rules: RuleSet, relations: NDArray[np.integer], num_relations: int
) -> NDArray[np.int64]:
    """Those of relation ids < R and of their inverses that rules answer."""
    both = np.concatenate([relations, np.asarray(relations) + num_relations])
    return np.intersect1d(both, rules.head_relations()).astype(np.int64)


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


FARTHEST = 10.0


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
    from scipy.optimize import minimize_scalar

    signs = np.where(is_true, -1.0, 1.0)

    def loss(shift: float) -> float:
        found = stretched(logits + shift, stretch)
        # A shift costs about as much as two decisions against it
        return float(np.logaddexp(0, signs * found).sum()) + 0.5 * shift**2

    return float(minimize_scalar(loss, bounds=(-FARTHEST, FARTHEST), method="bounded").x)
