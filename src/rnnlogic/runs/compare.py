"""Compare what two folders hold: fitted runs of any variant, embeddings, or baselines with their ranks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Tick
from rnnlogic.data.dataset import Dataset, Evidence
from rnnlogic.embeddings.files import is_finished, load_embedding
from rnnlogic.embeddings.fit import fingerprint as training_fingerprint
from rnnlogic.evaluation.compare import Comparison, compare
from rnnlogic.evaluation.evaluate import Split, evaluate
from rnnlogic.evaluation.report import Report, load_ranks
from rnnlogic.runs.files import ranks_path
from rnnlogic.runs.fitted import Fitted, load_fitted
from rnnlogic.runs.folder import EMBEDDING, Run, fingerprint


def compare_runs(
    a: str | Path,
    b: str | Path,
    split: Split = "test",
    evidence: Evidence = "train",
    samples: int = 10_000,
    seed: int = 0,
    progress: Tick | None = None,
) -> Comparison:
    """Evaluate two folders on the same facts and compare them by a paired bootstrap over facts.

    A folder is a run (`rnnlogic fit`), an embedding (`rnnlogic embed`), or holds ranks that
    `rnnlogic.evaluation.report.save_ranks` kept. If one is an embedding, the other must be a run.
    """
    folders = [Path(a), Path(b)]
    runs = {folder: load_fitted(folder) for folder in folders if Run.exists(folder)}
    data = next((fitted.dataset for fitted in runs.values()), None)
    for folder, fitted in runs.items():
        _require_same(folder, fingerprint(fitted.dataset), data)
    reports = [_evaluated(folder, runs.get(folder), data, split, evidence, progress) for folder in folders]
    return compare(reports[0], reports[1], samples, seed)


def _evaluated(
    folder: Path,
    fitted: Fitted | None,
    data: Dataset | None,
    split: Split,
    evidence: Evidence,
    progress: Tick | None,
) -> Report:
    if fitted is not None:
        return evaluate(fitted.scorer, fitted.dataset, split, evidence, progress=progress)
    ranks = ranks_path(folder, split, evidence)
    if ranks.is_file():
        report, stored = load_ranks(ranks)
        _require_same(folder, stored, data)
        return report
    return _evaluated_embedding(folder, data, split, evidence, progress)


def _evaluated_embedding(
    folder: Path, data: Dataset | None, split: Split, evidence: Evidence, progress: Tick | None
) -> Report:
    places = [place for place in (folder, folder / EMBEDDING) if is_finished(place)]
    if not places:
        raise RNNLogicError(
            f"{folder}: is neither a run nor an embedding, and has no ranks of {split} facts with known facts"
            f" {evidence}; make a run with `rnnlogic fit DATASET -o {folder}`"
        )
    if data is None:
        raise RNNLogicError(f"{folder}: an embedding has no facts to evaluate; compare it with a run")
    embedding, about = load_embedding(places[0], data.vocab)
    _refuse_others(folder, about.get("origin", {}).get("data", {}), training_fingerprint(data))
    return evaluate(embedding, data, split, evidence, progress=progress)


def _require_same(folder: Path, stored: Mapping[str, str], data: Dataset | None) -> None:
    _refuse_others(folder, stored, {} if data is None else fingerprint(data))


def _refuse_others(folder: Path, stored: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Refuse different data; the name of a dataset may differ."""
    for key in (key for key in wanted if key in stored and key != "name"):
        if stored[key] != wanted[key]:
            raise RNNLogicError(
                f"{folder}: was made from other data than the run it is compared with"
                f" ({key}: {stored[key]} here, {wanted[key]} there); compare runs of one dataset"
            )
