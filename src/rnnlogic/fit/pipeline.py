"""The pipeline of a fit: makes a stage when its result is needed, within its share of the time, and keeps it.

It alone resumes, budgets and logs. What a stage needs of others it takes by name; `stages.py` has the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rnnlogic.base.budget import Budget
from rnnlogic.base.executor import default_threads, reuse_memory
from rnnlogic.base.types import Arrays, Progress, Tick
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.fit.given import NOTHING_GIVEN, Edits, GivenRules, edits_of
from rnnlogic.fit.result import Learned, Store, noted_cuts, unpack_learned
from rnnlogic.fit.stages import At, CheckedStore, stage_called
from rnnlogic.generator.train import torch_threads
from rnnlogic.predictors.base import Predictor, Task, predictor_class
from rnnlogic.rules.ruleset import RuleSet


@dataclass(frozen=True, eq=False)
class Fit:
    """One fit: what all stages share, and their results by name."""

    dataset: Dataset
    config: Config
    store: Store
    progress: Progress
    threads: int
    embedding: Scorer | None
    edits: Edits
    budget: Budget

    @property
    def predictor(self) -> type[Predictor]:
        """The class of the predictor."""
        return predictor_class(self.config.variant)

    def result(self, name: str, budget: Budget | None = None) -> Arrays:
        """The result of a stage: as kept, or made within a budget, by default its share of the time."""
        saved = self.store.load(name)
        if saved is not None:
            return saved
        stage, started = stage_called(name), time.perf_counter()
        made = stage.make(self, At(name, self.share_of(name) if budget is None else budget))
        if made.figures:  # before the result is kept, so that a kill loses no line
            self.note(name.partition("-")[0], started, **made.figures)
        self.store.save(name, made.arrays)
        return made.arrays

    def known(self, name: str) -> Arrays | None:
        """The result of a stage that was made before; None if it was not."""
        return self.store.load(name)

    def kept(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The result of a part of a stage: as kept before, or made."""
        saved = self.store.load(name)
        if saved is None:
            saved = make()
            self.store.save(name, saved)
        return saved

    def share_of(self, name: str) -> Budget:
        """The time that a stage may take from now on."""
        return self.budget.share(stage_called(name).share)

    def tick(self, stage: str) -> Tick:
        """Shows the progress of a stage."""
        return partial(self.progress, stage)

    def task(self, rules: RuleSet, budget: Budget, may_fail: bool = False) -> Task:
        """What a predictor learns from within a budget."""
        known = None if self.config.generate else self.edits.weights
        told = self.progress, self.note, self.kept
        return Task(
            self.dataset, rules, self.config, self.threads, self.embedding, known, *told, budget, may_fail
        )

    def with_config(self, config: Config) -> Fit:
        """The same fit with other settings from here on."""
        return replace(self, config=config)

    def note(self, stage: str, started: float, **figures: Any) -> None:
        """Log a stage: its figures and its duration."""
        self.store.log({"stage": stage, "seconds": round(time.perf_counter() - started, 2), **figures})


def learn(
    dataset: Dataset,
    config: Config,
    store: Store,
    progress: Progress,
    deadline: float | None = None,
    embedding: Scorer | None = None,
    given: GivenRules = NOTHING_GIVEN,
) -> Learned:
    """Learn rules and fit a predictor on them; stages found in the store are skipped.

    Every stage keeps to its share of the time until `deadline` (a value of time.monotonic()) and logs what it
    left out. Given rules are pinned; without `config.generate` the fit uses only these and the rules
    pinned in the settings.
    """
    reuse_memory()
    edits = edits_of(config, given, dataset.vocab)
    threads, kept = config.threads or default_threads(), CheckedStore(store, config, dataset.vocab)
    edits = edits.for_predictor(predictor_class(config.variant).uses_constants)
    fit = Fit(dataset, config, kept, progress, threads, embedding, edits, noted_cuts(deadline, kept))
    is_sum = fit.predictor.reduced is not Predictor.reduced
    is_compact = config.compact.enabled and config.generate and len(dataset.valid) > 0 and is_sum
    with torch_threads(1):  # torch's sums depend on the number of threads; ours do not
        found = fit.result("full")
        return unpack_learned(fit.result("compact") if is_compact else found, config, embedding)
