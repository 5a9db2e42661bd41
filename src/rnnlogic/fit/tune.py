"""Search for good settings of a dataset: few knobs, validation facts only; a killed search resumes.

A trial learns rules without EM rounds and measures their validation MRR; what trials of the same length have
in common (mined rules, the pre-trained generator) is made once. The first trial has the default settings.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.files import write_atomically
from rnnlogic.base.types import Arrays, Progress, silent
from rnnlogic.config import Config, changed, preset_for
from rnnlogic.data.dataset import Dataset
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.fit.pipeline import learn
from rnnlogic.fit.result import MemoryStore

if TYPE_CHECKING:
    import optuna

JOURNAL, SETTINGS, REPORT = "trials.log", "settings.yaml", "report.md"
COMMON = ("mined", "pretrained")  # stages that trials of the same length share
FEATURES = ("binary", "log1p", "count")
PACKAGED = "packaged"  # marks the trial of the default settings, which need not be the first one that ends


@dataclass(frozen=True)
class Tuned:
    """What a search found."""

    config: Config  # the best settings, for a whole fit
    trials: tuple[dict[str, Any], ...]  # number, validation MRR, minutes, and the knobs; best first
    importance: Mapping[str, float]  # of each knob for reaching the best trials; empty after few trials
    minutes: float  # of all trials
    packaged: int  # number of the trial that had the default settings

    @property
    def gain(self) -> float:
        """Validation MRR of the best trial minus that of the default settings."""
        usual = next(trial for trial in self.trials if trial["trial"] == self.packaged)
        return float(self.trials[0]["valid_mrr"] - usual["valid_mrr"])


@dataclass
class _Search:
    """What all trials share."""

    dataset: Dataset
    base: Config
    variants: Sequence[str]
    end: float  # a value of time.monotonic()
    progress: Progress
    common: dict[int, dict[str, Arrays]] = field(default_factory=dict)  # by length

    def knobs(self) -> dict[str, Any]:
        """The values of the default settings."""
        base = self.base
        values = {
            "max_length": base.max_length,
            "rules": base.final.rules,
            "feature": base.predictor.feature,
            "weight_decay": base.predictor.weight_decay,
        }
        return values | ({"variant": base.variant} if len(self.variants) > 1 else {})

    def suggested(self, trial: optuna.Trial) -> dict[str, Any]:
        """Values to try."""
        longest = max(self.base.max_length, 3)
        most = self.base.final.rules
        values = {
            "max_length": trial.suggest_int("max_length", 1, longest),
            "rules": trial.suggest_int("rules", min(20, most), 2 * most, log=True),
            "feature": trial.suggest_categorical("feature", FEATURES),
            "weight_decay": trial.suggest_float("weight_decay", 0.1, 1000.0, log=True),
        }
        if len(self.variants) > 1:
            values["variant"] = trial.suggest_categorical("variant", list(self.variants))
        return values

    def __call__(self, trial: optuna.Trial) -> float:
        """Validation MRR of one trial; a trial that the time does not suffice for does not count."""
        import optuna

        number = f"trial {trial.number}"
        self.progress(number, 0, 1)
        values = self.suggested(trial)
        quick = {"em": {"optimizer": "none"}, "compact": {"enabled": False}}
        config = changed(settings_with(self.base, values), quick)
        store = MemoryStore()
        store.stages |= self.common.setdefault(config.max_length, {})

        def stop_in_time(stage: str, done: int, total: int, note: str = "") -> None:
            del stage, done, total, note
            # What others are compared with is finished.
            if not _is_packaged(trial) and time.monotonic() > self.end:
                raise optuna.TrialPruned

        learned = learn(self.dataset, config, store, stop_in_time)
        self.common[config.max_length] |= {
            name: store.stages[name] for name in COMMON if name in store.stages
        }
        most = config.em.valid_facts
        mrr = evaluate(learned.predictor, self.dataset, "valid", most_facts=most).metrics()["mrr"]
        self.progress(number, 1, 1, f"valid MRR {mrr:.4f}")
        return mrr


def settings_with(base: Config, values: Mapping[str, Any]) -> Config:
    """Settings with the values of the knobs."""
    predictor = {key: values[key] for key in ("feature", "weight_decay")}
    changes = {"max_length": values["max_length"], "variant": values.get("variant", base.variant)}
    return changed(base, changes | {"final": {"rules": values["rules"]}, "predictor": predictor})


def tune(
    dataset: Dataset,
    folder: str | Path,
    minutes: float,
    variants: Sequence[str] = ("rnnlogic",),
    seed: int = 0,
    progress: Progress = silent,
    most_trials: int | None = None,
) -> Tuned:
    """Try settings for so many minutes in all, those of earlier sessions in the folder included.

    Writes settings.yaml, which `rnnlogic fit --config` takes, and report.md.
    """
    if not len(dataset.valid):
        raise RNNLogicError(
            "there are no validation facts to choose settings by; `rnnlogic data split` makes some"
        )
    folder = Path(folder)
    _refuse_foreign_files(folder)
    folder.mkdir(parents=True, exist_ok=True)
    study = _study(folder, dataset, seed)
    base = changed(preset_for(dataset, variants[0]), {"seed": seed})
    left = minutes - _minutes(study)
    search = _Search(dataset, base, variants, time.monotonic() + 60 * left, progress)
    _try_packaged_first(study, search)
    while time.monotonic() < search.end and len(_complete(study)) < (most_trials or 1 << 30):
        study.optimize(search, n_trials=1)
    if not _complete(study):
        raise RNNLogicError(f"{minutes:g} minutes do not suffice for one trial; give more")
    found = _tuned(study, base)
    write_atomically(folder / SETTINGS, yaml.safe_dump(found.config.model_dump(mode="json"), sort_keys=False))
    write_atomically(folder / REPORT, report(found, dataset.name))
    return found


def report(found: Tuned, name: str) -> str:
    """The trials and what mattered, as Markdown."""
    lines = [
        f"# Settings for {name}",
        "",
        f"{len(found.trials)} trials in {found.minutes:.1f} minutes. Best validation MRR"
        f" {found.trials[0]['valid_mrr']:.4f}, {found.gain:+.4f} against the default settings (trial"
        f" {found.packaged}). The best of many trials looks a little better on validation facts than it is.",
        "",
        *_table(["knob", "importance"], [[k, f"{v:.2f}"] for k, v in found.importance.items()]),
        *_table(
            list(found.trials[0]), [[_cell(value) for value in trial.values()] for trial in found.trials]
        ),
    ]
    return "\n".join(lines)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    marked = [f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *rows)]
    return [*marked, ""]


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _refuse_foreign_files(folder: Path) -> None:
    """Never write into a folder that holds something else: it may be somebody's run."""
    if folder.exists() and not folder.is_dir():
        raise RNNLogicError(f"{folder}: is a file; a search needs a folder")
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if names and JOURNAL not in names:
        raise RNNLogicError(f"{folder}: holds other files ({names[0]}); choose another folder")


def _study(folder: Path, dataset: Dataset, seed: int) -> optuna.Study:
    try:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise RNNLogicError("the search needs Optuna: pip install '.[tune]' in the clone") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
        studies = optuna.get_all_study_names(storage)
        if studies and studies != [dataset.name]:
            raise RNNLogicError(f"{folder}: holds a search for {studies[0]}; choose another folder")
        study = optuna.create_study(
            storage=storage, study_name=dataset.name, direction="maximize", load_if_exists=True
        )
    except (RNNLogicError, OSError):
        raise
    except Exception as problem:  # Optuna takes its journal on trust: any error may come of a damaged line
        raise RNNLogicError(
            f"{folder / JOURNAL}: is damaged ({type(problem).__name__}); put back a whole copy, or search in"
            " another folder"
        ) from None
    study.sampler = optuna.samplers.TPESampler(seed=seed * 1000 + len(study.trials), n_startup_trials=5)
    return study


def _try_packaged_first(study: optuna.Study, search: _Search) -> None:
    """Have the default settings tried next, unless they were; a session that was killed may have begun to.

    Other trials without them can be compared with nothing, so then this one runs even if the time is up.
    """
    import optuna

    if _packaged(study) is not None:
        return
    waiting = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.WAITING,))
    if not waiting:
        study.enqueue_trial(search.knobs(), user_attrs={PACKAGED: True})
    if _complete(study):
        study.optimize(search, n_trials=1)


def _packaged(study: optuna.Study) -> int | None:
    """The number of the finished trial with the default settings; None if there is none yet."""
    return next((trial.number for trial in _complete(study) if _is_packaged(trial)), None)


def _is_packaged(trial: optuna.Trial | optuna.trial.FrozenTrial) -> bool:
    """Whether a trial has the default settings; earlier versions did not mark it, but began with it."""
    return PACKAGED in trial.user_attrs or trial.number == 0


def _complete(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    return [trial for trial in study.trials if trial.value is not None]


def _minutes(study: optuna.Study) -> float:
    """Time that finished trials took; trials of a session that was killed do not count."""
    return float(
        sum(trial.duration.total_seconds() / 60 for trial in study.trials if trial.duration is not None)
    )


def _tuned(study: optuna.Study, base: Config) -> Tuned:
    import optuna

    done = sorted(_complete(study), key=lambda trial: (-(trial.value or 0.0), trial.number))
    importance: dict[str, float] = {}
    if len(done) >= 6:  # fewer say nothing of what mattered
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        importance = optuna.importance.get_param_importances(study, evaluator=evaluator)
    trials = tuple(
        {
            "trial": trial.number,
            "valid_mrr": trial.value,
            "minutes": round(trial.duration.total_seconds() / 60, 2) if trial.duration else None,
            **trial.params,
        }
        for trial in done
    )
    packaged = _packaged(study)
    assert packaged is not None, "the first trial to end has the default settings"
    return Tuned(settings_with(base, done[0].params), trials, importance, _minutes(study), packaged)
