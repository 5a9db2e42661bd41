"""Compare what two folders hold: fitted runs of any variant, embeddings, or baselines with their ranks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rnnlogic.data.dataset import Dataset, Evidence
from rnnlogic.embeddings.checkpoints import fingerprint as training_fingerprint
from rnnlogic.embeddings.files import is_finished, load_embedding
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.evaluation.compare import Comparison, compare
from rnnlogic.evaluation.evaluate import Progress, Split, evaluate
from rnnlogic.evaluation.files import load_ranks
from rnnlogic.evaluation.report import Report
from rnnlogic.runs.folder import EMBEDDING, Run, fingerprint
from rnnlogic.runs.reports import ranks_path
from rnnlogic.model import RNNLogic


def compare_runs(
    a: str | Path,
    b: str | Path,
    split: Split = "test",
    evidence: Evidence = "train",
    samples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Evaluate two folders on the same facts and compare them by a paired bootstrap over facts.

    A folder is a run (`rnnlogic fit`), an embedding (`rnnlogic embed`), or holds ranks that
    `rnnlogic.evaluation.files.save_ranks` kept. One of the two must be a run if the other is an embedding.
    """
    folders = [Path(a), Path(b)]
    datasets = {folder: Run.open(folder).dataset() for folder in folders if Run.exists(folder)}
    data = next(iter(datasets.values()), None)
    for folder, own in datasets.items():
        _require_same(folder, fingerprint(own), {} if data is None else fingerprint(data))
    reports = [_evaluated(folder, data, split, evidence, progress) for folder in folders]
    return compare(reports[0], reports[1], samples, seed)


def _evaluated(
    folder: Path, data: Dataset | None, split: Split, evidence: Evidence, progress: Progress | None
) -> Report:
    if Run.exists(folder):
        return RNNLogic.load(folder).evaluate(split, evidence, progress=progress)
    if ranks_path(folder, split, evidence).is_file():
        report, stored = load_ranks(ranks_path(folder, split, evidence))
        _require_same(folder, stored, {} if data is None else fingerprint(data))
        return report
    places = [place for place in (folder, folder / EMBEDDING) if is_finished(place)]
    if not places:
        raise RNNLogicError(
            f"{folder}: is no run, no embedding, and holds no ranks of {split} facts with evidence"
            f" {evidence}; make a run with `rnnlogic fit DATASET -o {folder}`"
        )
    if data is None:
        raise RNNLogicError(f"{folder}: an embedding has no facts to be asked for; compare it with a run")
    embedding, about = load_embedding(places[0], data.vocab)
    _require_same(folder, about.get("origin", {}).get("data", {}), training_fingerprint(data))
    return evaluate(embedding, data, split, evidence, progress=progress)


def _require_same(folder: Path, stored: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Refuse different data; the name of a dataset may differ."""
    for key in stored.keys() & wanted.keys() - {"name"}:
        if stored[key] != wanted[key]:
            raise RNNLogicError(
                f"{folder}: is of other data than what it is compared with"
                f" ({key}: {stored[key]} here, {wanted[key]} there); compare runs of one dataset"
            )
