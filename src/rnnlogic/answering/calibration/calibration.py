"""The calibration of a model: probabilities for each kind of evidence, and how they are kept on disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np

from rnnlogic.answering.calibration.level import Basis, Level, fit_level
from rnnlogic.answering.calibration.probability import ProbabilityModel
from rnnlogic.answering.calibration.reliability import Bin, Reliability
from rnnlogic.answering.calibration.standing import WIDTH
from rnnlogic.base.budget import Budget
from rnnlogic.base.types import Arrays, Progress
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset, Evidence
from rnnlogic.data.graph import Triples
from rnnlogic.predictors.base import AnswerScorer

EVIDENCES = cast("tuple[Evidence, ...]", tuple(EVIDENCE_SPLITS))
MISSING = 0.1  # of the facts of a graph from which nothing was held back: so many are taken to be missing
FORMAT = 1
LEAST_EFFORT = 0.1


@dataclass(frozen=True, eq=False)
class Calibration:
    """How probable facts are, for each kind of evidence."""

    levels: dict[str, Level]

    def sentence(self, evidence: Evidence) -> str:
        """What a probability means with this evidence, and what it was measured on."""
        return self.levels[evidence].sentence()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {evidence: level.as_dict() for evidence, level in self.levels.items()}


def calibrate(
    dataset: Dataset,
    scorer: AnswerScorer,
    progress: Progress,
    seed: int = 0,
    evidences: Sequence[Evidence] = EVIDENCES,
    relations: Sequence[int] | None = None,
    effort: float = 1.0,
) -> Calibration:
    """Fit probabilities for some kinds of evidence, for facts of some relations (all if not given).

    With evidence train and train+valid no test fact is looked at, only their number. Less effort looks at
    fewer facts.
    """
    wanted = np.arange(dataset.vocab.num_relations) if relations is None else np.array(relations, np.int64)
    levels: dict[str, Level] = {}
    for done, evidence in enumerate(evidences):
        progress("calibrate", done, len(evidences), "")
        facts, basis = cases_for(dataset, evidence)
        facts = facts[np.isin(facts[:, 1], wanted)]
        random = np.random.default_rng([seed, EVIDENCES.index(evidence)])
        graph = dataset.graph(evidence)
        levels[evidence] = fit_level(graph, scorer, evidence, facts, basis, wanted, random, effort)
    progress("calibrate", len(evidences), len(evidences), "")
    return Calibration(levels)


def calibrate_in_time(
    dataset: Dataset, scorer: AnswerScorer, progress: Progress, seed: int, budget: Budget
) -> Calibration:
    """`calibrate` within a budget: first with little effort, then with as much as there is time for.

    Kinds of evidence that are left out are calibrated when they are first asked for.
    """
    levels: dict[str, Level] = {}
    rate = 0.0  # seconds for one kind of evidence with full effort
    done: list[float] = []
    for i, evidence in enumerate(EVIDENCES):
        if budget.is_over or rate * LEAST_EFFORT > budget.left:
            budget.cut("calibrate", f"left for later: evidence {', '.join(EVIDENCES[i:])}")
            break
        if not rate:
            started = time.monotonic()
            tried = calibrate(dataset, scorer, progress, seed, [evidence], effort=LEAST_EFFORT)
            rate, levels = (time.monotonic() - started) / LEAST_EFFORT, tried.levels
        effort = min(1.0, budget.left / (len(EVIDENCES) - i) / max(rate, 1e-9))
        effort = max(effort, LEAST_EFFORT)
        if effort > LEAST_EFFORT or evidence not in levels:
            levels |= calibrate(dataset, scorer, progress, seed, [evidence], effort=effort).levels
        done.append(effort)
    if done and min(done) < 1:
        budget.cut("calibration", f"rests on {min(done):.0%} of the usual sample")
    return Calibration(levels)


def cases_for(dataset: Dataset, evidence: Evidence) -> tuple[Triples, Basis]:
    """Facts that show how missing ones look, and how many are missing."""
    held_back = {"train": len(dataset.valid) + len(dataset.test), "train+valid": len(dataset.test), "all": 0}
    missing, assumed = held_back[evidence], not held_back[evidence]
    if assumed:
        size = sum(len(dataset.facts(split)) for split in EVIDENCE_SPLITS[evidence])
        missing = round(min(MISSING * size, len(dataset.test) or size))
    if evidence == "all" and len(dataset.valid) + len(dataset.test):
        return np.concatenate([dataset.valid, dataset.test]), Basis("held-out facts", missing, assumed)
    if len(dataset.valid):
        return dataset.valid, Basis("validation facts", missing, assumed)
    return dataset.train, Basis("training facts", missing, assumed)


def pack_calibration(calibration: Calibration) -> tuple[Arrays, dict[str, Any]]:
    """Arrays by name, and plain values for JSON."""
    arrays: Arrays = {}
    about: dict[str, Any] = {"format": FORMAT, "width": WIDTH, "levels": {}}
    for evidence, level in calibration.levels.items():
        for name in ("one_way", "both_ways"):
            model: ProbabilityModel = getattr(level, name)
            for field in fields(model):
                arrays[f"{evidence}.{name}.{field.name}"] = np.asarray(getattr(model, field.name), float)
        about["levels"][evidence] = {
            "measured_on": level.basis.facts,
            "missing": level.basis.missing,
            "missing_is_assumed": level.basis.assumed,
            "facts": level.cases,
            "reached": level.reached,
            "unreached": level.unreached,
            "reliability": level.reliability.as_list(),
        }
    return arrays, about


def unpack_calibration(arrays: Arrays, about: dict[str, Any]) -> Calibration | None:
    """The calibration that was packed; None if another version of the program made it."""
    if about.get("format") != FORMAT or about.get("width") != WIDTH:
        return None
    levels = {}
    for evidence, told in about["levels"].items():
        levels[evidence] = Level(
            evidence,
            Basis(told["measured_on"], told["missing"], told["missing_is_assumed"]),
            told["facts"],
            told["reached"],
            _model(arrays, f"{evidence}.one_way"),
            _model(arrays, f"{evidence}.both_ways"),
            told["unreached"],
            Reliability(tuple(Bin(**one) for one in told["reliability"])),
        )
    return Calibration(levels)


def _model(arrays: Arrays, prefix: str) -> ProbabilityModel:
    names = [field.name for field in fields(ProbabilityModel)]
    *vectors, constant = (arrays[f"{prefix}.{name}"] for name in names)
    ceiling, mean, scale, weights, offsets = vectors
    return ProbabilityModel(ceiling, mean, scale, weights, offsets, float(constant))
