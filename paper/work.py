"""One piece of work: a seed of a setting or baseline, or a study of a finished run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

from paper.experiment import CHOICE, OTHERS, PYKEEN, Bench, Setting, experiment_names
from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.base.types import Progress
from rnnlogic.runs.files import evaluation_name, has_report, report_path, write_report

STUDIES = {"rules": "rules_per_relation", "case": "case"}  # study -> name of its report


class Work(NamedTuple):
    """The work of one process."""

    dataset: str
    setting: str  # of the experiment file, perhaps with the point of a figure; or a baseline
    seed: int = 0
    study: str = ""  # a key of STUDIES; empty for the run itself

    @property
    def name(self) -> str:
        """Such as `kinship/ours/0` or `kinship/ours/0/rules`; `parse` reads it."""
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
        """Whether the report that is written last is there."""
        if self.study:
            return has_report(self.folder(bench), STUDIES[self.study])
        last = bench.experiment(self.dataset).evaluations(self.setting)[-1]
        return has_report(self.folder(bench), evaluation_name(*last))

    def needs(self, bench: Bench) -> list[Work]:
        """The work that must be done first."""
        if self.study:
            return [self._replace(study="")]
        if self.setting in PYKEEN:  # seed 0 chooses the settings for all seeds
            return [self._replace(seed=0)] if self.seed else []
        experiment = bench.experiment(self.dataset)
        rules = experiment.rules_from(self.setting)
        before = [*filter(None, [rules]), *experiment.embeddings_from(self.setting)]
        return [Work(self.dataset, setting, self.seed) for setting in before]

    def perform(self, bench: Bench, progress: Progress) -> None:
        """Do the work; what is already finished is kept."""
        if self.study:
            self._perform_study(bench, progress)
        elif Setting.parse(self.setting).name in bench.experiment(self.dataset).settings:
            from paper.variants import run_variant

            run_variant(bench, self.dataset, self.setting, self.seed, progress)
        else:
            from paper.others import run_other

            run_other(bench, self.dataset, self.setting, self.seed, progress)

    def _perform_study(self, bench: Bench, progress: Progress) -> None:
        from paper.studies import case_study, rules_study

        folder = self.folder(bench)
        result: Mapping[str, Any]
        if self.study == "rules":
            result = rules_study(folder, bench.is_small, progress)
        else:
            result = case_study(folder, progress)
        write_report(folder, STUDIES[self.study], result)

    def forget(self, bench: Bench) -> None:
        """Remove the results, so that the work is done again."""
        if self.study:
            report_path(self.folder(bench), STUDIES[self.study]).unlink(missing_ok=True)
        else:
            shutil.rmtree(self.folder(bench), ignore_errors=True)
        if self.setting in PYKEEN and self.seed == 0:
            for name in CHOICE:
                (self.folder(bench).parent / name).unlink(missing_ok=True)


def named_works(text: str, bench: Bench, seeds: int | None) -> list[Work]:
    """All seeds of a row such as `kinship/ours`."""
    dataset, _, setting = text.partition("/")
    if dataset not in experiment_names():
        raise UnknownNameError("dataset", dataset, experiment_names())
    experiment = bench.experiment(dataset)
    known = [*experiment.settings, *OTHERS]
    if Setting.parse(setting).name not in known:
        raise RNNLogicError(f"{text}: {dataset} has no such setting; choose one of {', '.join(known)}")
    return [Work(dataset, setting, seed) for seed in range(seeds or experiment.seeds)]


def with_needed(works: Sequence[Work], bench: Bench) -> list[Work]:
    """The work and all that it needs, each once and after what it needs itself."""
    needs: dict[Work, list[Work]] = {}
    found = list(works)
    for work in found:  # grows on the way
        if work not in needs:
            needs[work] = work.needs(bench)
            found += needs[work]
    return list(TopologicalSorter(needs).static_order())
