"""The calibration of a model: probabilities for each kind of evidence, and how they are kept on disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, cast, get_args

import numpy as np

from rnnlogic.base.arrays import LARGEST, Declaration, Declared, require_arrays
from rnnlogic.base.budget import Budget, TimeIsUp
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import one_blas_thread
from rnnlogic.base.types import Arrays, Progress
from rnnlogic.calibrate.level import Basis, Level, LevelTask, fit_levels, with_decisions
from rnnlogic.calibrate.missing import Origin, number_given
from rnnlogic.calibrate.probability import AS_THEY_ARE, Bin, ProbabilityModel, Reliability
from rnnlogic.calibrate.proposals import FEATURES, WIDTH
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset, Evidence
from rnnlogic.data.graph import Triples
from rnnlogic.predictors.base import AnswerScorer

EVIDENCES = cast("tuple[Evidence, ...]", tuple(EVIDENCE_SPLITS))
MISSING = 0.1  # of the facts: a first guess where nothing is held out; the estimate does not depend on it
FORMAT = 4  # 3 had other stretches; 2 assumed how many facts are missing; 1 had other features
LEAST_EFFORT = 0.1  # of the usual sample, which is 300 cases then
ONE = 0.3  # of a budget, where one kind of evidence is needed before anything else


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
    effort: float = 1.0,
    missing: float | None = None,
) -> Calibration:
    """Fit probabilities for some kinds of evidence.

    `missing` says how many facts are missing, or below 1 which share of the known ones. With evidence train
    and train+valid no test fact is looked at, only their number. Less effort looks at fewer facts.
    """
    tasks = []
    for evidence in evidences:
        facts, basis = cases_for(dataset, evidence, missing)
        random = np.random.default_rng([seed, EVIDENCES.index(evidence)])
        tasks.append(LevelTask(evidence, dataset.graph(evidence), facts, basis, random))
    with one_blas_thread():
        levels = fit_levels(scorer, tasks, effort, partial(progress, "calibrate"))
    found = zip(tasks, levels, strict=True)
    return Calibration(
        {task.evidence: with_decisions(level, dataset, task.graph, scorer) for task, level in found}
    )


def calibrate_in_time(
    dataset: Dataset,
    scorer: AnswerScorer,
    progress: Progress,
    seed: int,
    budget: Budget,
    evidences: Sequence[Evidence] = EVIDENCES,
) -> Calibration:
    """`calibrate` within a budget: first with little effort, then with as much as there is time for.

    Kinds of evidence that are left out are calibrated when they are first asked for.
    """
    if not budget.is_limited:
        return calibrate(dataset, scorer, progress, seed, evidences)
    levels: dict[str, Level] = {}
    done: dict[str, float] = {}  # effort
    rate = 0.0  # seconds for one kind of evidence with full effort

    def attempt(evidence: Evidence, effort: float) -> None:
        levels.update(calibrate(dataset, scorer, progress, seed, [evidence], effort=effort).levels)
        done[evidence] = effort

    try:
        with budget.enforced():
            for i, evidence in enumerate(evidences):
                if budget.is_over or rate * LEAST_EFFORT > budget.left:
                    break
                if not rate:
                    started = time.monotonic()
                    attempt(evidence, LEAST_EFFORT)
                    rate = (time.monotonic() - started) / LEAST_EFFORT
                effort = min(1.0, 0.8 * budget.left / (len(evidences) - i) / max(rate, 1e-9))
                if effort > LEAST_EFFORT or evidence not in levels:
                    attempt(evidence, max(effort, LEAST_EFFORT))
    except TimeIsUp:
        pass
    if len(levels) < len(evidences):
        missing = ", ".join(evidence for evidence in evidences if evidence not in levels)
        budget.cut("calibrate", f"left for later: known facts {missing}")
    if levels and min(done.values()) < 1:
        budget.cut("calibration", f"rests on {min(done.values()):.0%} of the usual sample")
    return Calibration(levels)


def calibrated(
    dataset: Dataset, scorer: AnswerScorer, progress: Progress, seed: int, evidence: Evidence, budget: Budget
) -> Calibration:
    """`calibrate` for one kind of evidence; within a budget, with little effort at least."""
    found = calibrate_in_time(dataset, scorer, progress, seed, budget.share(ONE), [evidence])
    if evidence in found.levels:
        return found
    return calibrate(dataset, scorer, progress, seed, [evidence], effort=LEAST_EFFORT)


def cases_for(dataset: Dataset, evidence: Evidence, missing: float | None = None) -> tuple[Triples, Basis]:
    """Facts that show how missing ones look, and how many are missing; a first guess if that is estimated."""
    held_out = {"train": len(dataset.valid) + len(dataset.test), "train+valid": len(dataset.test), "all": 0}
    size = sum(len(dataset.facts(split)) for split in EVIDENCE_SPLITS[evidence])
    origin: Origin
    number, origin = held_out[evidence], "counted"
    if missing is not None:
        number, origin = number_given(missing, size), "given"
    elif not number:
        number, origin = max(round(min(MISSING * size, len(dataset.test) or size)), 1), "estimated"
    if evidence == "all" and len(dataset.valid) + len(dataset.test):
        return np.concatenate([dataset.valid, dataset.test]), Basis("held-out facts", number, origin)
    if len(dataset.valid):
        return dataset.valid, Basis("validation facts", number, origin)
    return dataset.train, Basis("training facts", number, origin)


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
            "missing_is": level.basis.origin,
            "facts": level.cases,
            "reached": level.reached,
            "unreached": level.unreached,
            "reliability": level.reliability.as_list(),
        }
    return arrays, about


def unpack_calibration(arrays: Arrays, about: dict[str, Any], num_relations: int) -> Calibration | None:
    """The calibration that was packed; None if another version of the program made it."""
    if about.get("format") != FORMAT or about.get("width") != WIDTH:
        return None
    try:
        require_arrays(arrays, calibration_arrays(), {"R": num_relations})
        levels = {evidence: _level(evidence, told, arrays) for evidence, told in about["levels"].items()}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RNNLogicError(f"the calibration of this run cannot be read ({error}); fit again") from None
    return Calibration(levels)


def calibration_arrays() -> Declaration:
    """What `pack_calibration` gives."""
    widths: dict[str, tuple[int, str]] = {"one_way": (len(FEATURES), "2*R"), "both_ways": (WIDTH, "R")}
    declared: Declaration = {}
    for name, (width, relations) in widths.items():
        for part in ("ceiling", "mean", "scale", "weights"):
            declared[f"*.{name}.{part}"] = Declared("float64", (width,), finite=part != "ceiling")
        declared[f"*.{name}.offsets"] = Declared("float64", (relations,))
        declared[f"*.{name}.constant"] = Declared("float64")
        declared[f"*.{name}.stretch"] = Declared("float64", (len(AS_THEY_ARE),))
    return declared


def _level(evidence: str, told: dict[str, Any], arrays: Arrays) -> Level:
    missing, facts = (_within(told, name, LARGEST) for name in ("missing", "facts"))
    return Level(
        evidence,
        Basis(str(told["measured_on"]), int(missing), _origin(told["missing_is"])),
        int(facts),
        int(_within(told, "reached", facts)),
        _model(arrays, f"{evidence}.one_way"),
        _model(arrays, f"{evidence}.both_ways"),
        _within(told, "unreached", 1),
        Reliability(tuple(map(_bin, told["reliability"]))),
    )


def _origin(told: object) -> Origin:
    found = next((one for one in get_args(Origin) if one == told), None)
    if found is None:
        raise ValueError(f"missing_is is {told!r}")
    return cast("Origin", found)


def _bin(told: dict[str, Any]) -> Bin:
    most = {field.name: LARGEST if field.name == "facts" else 1 for field in fields(Bin)}
    return Bin(**{name: _within(told, name, limit) for name, limit in most.items()})


def _within(told: dict[str, Any], name: str, most: float) -> float:
    """A number from 0 to the most that it can be; a run may come from anybody."""
    number = float(told[name])
    if not 0 <= number <= most + 1e-6:  # sums of probabilities are rounded
        raise ValueError(f"{name} is {number:g}, not within 0 and {most:g}")
    return min(number, most)


def _model(arrays: Arrays, prefix: str) -> ProbabilityModel:
    *vectors, constant, stretch = (arrays[f"{prefix}.{field.name}"] for field in fields(ProbabilityModel))
    ceiling, mean, scale, weights, offsets = vectors
    if not (scale >= 1e-6).all() or not (ceiling >= -LARGEST).all():  # a fit gives 0.5 or more
        raise ValueError(f"{prefix}: a scale or ceiling is out of range")
    return ProbabilityModel(ceiling, mean, scale, weights, offsets, float(constant), stretch)
