"""One piece of work: a seed of a setting or of another model, or a study of a finished run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.studies.reproduce.experiment import (
    CHOICE,
    OTHERS,
    PYKEEN,
    ROTATE,
    Bench,
    Progress,
    Setting,
    experiment_names,
)
from rnnlogic.studies.reproduce.files import write_json

STUDIES = {"rules": "rules_per_relation.json", "case": "case.json"}  # file of the report


class Work(NamedTuple):
    """What one process does."""

    dataset: str
    setting: str  # of the experiment file, with a point of a figure or not; or another model
    seed: int = 0
    study: str = ""  # of a finished run

    @property
    def name(self) -> str:
        """For people and for `parse`: `kinship/ours/0`, `kinship/ours/0/rules`."""
        return "/".join([self.dataset, self.setting, str(self.seed), *filter(None, [self.study])])

    @classmethod
    def parse(cls, text: str) -> Work:
        """Read a name."""
        dataset, setting, seed, *study = text.split("/")
        return cls(dataset, setting, int(seed), *study)

    def folder(self, bench: Bench) -> Path:
        """The run folder."""
        return bench.folder(self.dataset, self.setting, self.seed)

    def is_done(self, bench: Bench) -> bool:
        """Whether what it leaves behind is there: the report that is written last."""
        experiment, reports = bench.experiment(self.dataset), self.folder(bench) / "reports"
        if self.study:
            return (reports / STUDIES[self.study]).is_file()
        name = Setting.parse(self.setting).name
        is_rnnlogic = name in experiment.settings and name != ROTATE
        is_plus = is_rnnlogic and "plus" in experiment.settings[name].get("variant", "")
        last = "test-train+valid" if is_rnnlogic and not is_plus else "test"
        return (reports / f"{last}.json").is_file()

    def needs(self, bench: Bench) -> list[Work]:
        """What must be done before."""
        if self.study:
            return [self._replace(study="")]
        if self.setting in PYKEEN:  # seed 0 chooses the settings of all
            return [self._replace(seed=0)] if self.seed else []
        experiment = bench.experiment(self.dataset)
        before = (experiment.rules_from(self.setting), experiment.embedding_from(self.setting))
        return [Work(self.dataset, setting, self.seed) for setting in before if setting is not None]

    def perform(self, bench: Bench, progress: Progress) -> None:
        """Do it; what is finished already stays."""
        if self.study:
            self._perform_study(bench, progress)
        elif Setting.parse(self.setting).name in bench.experiment(self.dataset).settings:
            from rnnlogic.studies.reproduce.variants import run_variant

            run_variant(bench, self.dataset, self.setting, self.seed, progress)
        else:
            from rnnlogic.studies.reproduce.others import run_other

            run_other(bench, self.dataset, self.setting, self.seed, progress)

    def _perform_study(self, bench: Bench, progress: Progress) -> None:
        from rnnlogic.studies.reproduce.studies import case_study, rules_study

        folder = self.folder(bench)
        result: Mapping[str, Any]
        if self.study == "rules":
            result = rules_study(folder, bench.is_small, progress)
        else:
            result = case_study(folder, progress)
        write_json(folder / "reports" / STUDIES[self.study], result)

    def forget(self, bench: Bench) -> None:
        """Remove what it left behind, so that it is done again."""
        if self.study:
            (self.folder(bench) / "reports" / STUDIES[self.study]).unlink(missing_ok=True)
        else:
            shutil.rmtree(self.folder(bench), ignore_errors=True)
        if self.setting in PYKEEN and self.seed == 0:
            for name in CHOICE:
                (self.folder(bench).parent / name).unlink(missing_ok=True)


def named_works(text: str, bench: Bench, seeds: int | None) -> list[Work]:
    """All seeds of `kinship/ours`."""
    dataset, _, setting = text.partition("/")
    if dataset not in experiment_names():
        raise UnknownNameError("dataset", dataset, experiment_names())
    experiment = bench.experiment(dataset)
    known = [*experiment.settings, *OTHERS]
    if Setting.parse(setting).name not in known:
        raise RNNLogicError(f"{text}: {dataset} has the settings {', '.join(known)}")
    return [Work(dataset, setting, seed) for seed in range(seeds or experiment.seeds)]


def with_needed(works: Sequence[Work], bench: Bench) -> list[Work]:
    """The same with all that they need, each once, before those that need it."""
    ordered: dict[Work, None] = {}

    def add(work: Work) -> None:
        for needed in work.needs(bench):
            add(needed)
        ordered.setdefault(work)

    for work in works:
        add(work)
    return list(ordered)
