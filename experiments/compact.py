"""Compact models of finished runs: how few rules keep how much accuracy, and how readable the reasons become.

    python -m experiments.compact RUN [RUN ...] [--caps 10 50 100 200]
        [--set KEY=VALUE ...] [--json FILE]

The full model of each run is compacted once. Rows: the full model; for every cap the largest model with at
most so many rules per relation and direction, and the one that `compact.rules=CAP` chooses; the default.
Evidence train, both sides, expected ties. Choices are made on validation facts; test facts only fill
the columns. The table is printed as Markdown and kept as reports/compact.json in the run folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from paper.studies import full_model
from rnnlogic.base.executor import default_threads
from rnnlogic.config import changed, override
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Triples
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.fit.compact.compact import Compact, chosen, compact_paths, teacher_of
from rnnlogic.fit.compact.validation import level_at, model_at
from rnnlogic.predictors.base import Predictor
from rnnlogic.runs.embedding import embedding_of
from rnnlogic.runs.files import write_report
from rnnlogic.runs.folder import Run

CAPS = (10, 50, 100, 200)
TOP = 3
ANSWERS = 2000  # right first answers whose reasons are looked at, at most
COLUMNS: dict[str, str] = {
    "level": "",
    "rules": ",",
    "most": ",",
    "valid_mrr": ".4f",
    "test_mrr": ".4f",
    "top3_of_score": ".0%",
    "top3_of_positive": ".0%",
    "reaching": ".0f",
    "positive": ".0%",
    "length": ".2f",
}
TITLES = (
    "model",
    "rules",
    "most per direction",
    "valid MRR",
    "test MRR",
    "top 3 of the score",
    "top 3 of what speaks for it",
    "rules that reach it",
    "positive weights",
    "mean length",
)


def reasons(predictor: Predictor, dataset: Dataset, answers: Triples) -> dict[str, float]:
    """Medians over right first answers [n, 3]: what the top rules carry, and how many rules reach one."""
    of_score, of_positive, reaching = [], [], []
    picked = np.sort(np.random.default_rng(0).permutation(len(answers))[:ANSWERS])
    for head, relation, tail in answers[picked].tolist():
        found = predictor.contributions(dataset.graph("train"), head, relation, tail)
        adds, score = found.values, found.values.sum() + (found.rest or 0.0)
        top = np.sort(adds)[-TOP:].sum()
        of_score.append(min(top / score, 1.0) if score > 0 else 0.0)
        of_positive.append(np.clip(top, 0, None) / max(adds[adds > 0].sum(), 1e-300))
        reaching.append(len(adds))
    if not reaching:
        return {"top3_of_score": np.nan, "top3_of_positive": np.nan, "reaching": np.nan}
    return {
        "top3_of_score": float(np.median(of_score)),
        "top3_of_positive": float(np.median(of_positive)),
        "reaching": float(np.median(reaching)),
    }


def row(level: str, predictor: Predictor, dataset: Dataset) -> dict[str, Any]:
    """One line of the table, by the evaluation that users run."""
    valid, report = evaluate(predictor, dataset, "valid"), evaluate(predictor, dataset, "test")
    is_first = (report.ranks.better == 0) & (report.ranks.tied == 1)
    rules = predictor.rules
    return {
        "level": level,
        "rules": len(rules),
        "most": int(np.bincount(rules.heads).max(initial=0)),
        "valid_mrr": valid.metrics()["mrr"],
        "test_mrr": report.metrics()["mrr"],
        **reasons(predictor, dataset, report.asked[is_first]),
        "positive": float(np.mean(predictor.weights > 0)),
        "length": float(rules.lengths.mean()),
    }


def study(folder: Path, caps: list[int], changes: list[str]) -> dict[str, Any]:
    """The table of one run."""
    run = Run.open(folder)
    dataset, config = run.dataset(), run.config()
    full = full_model(run, embedding_of(run))
    wanted = {"rules": None, "enabled": True}
    config = override(changed(config, {"compact": wanted}), changes)
    teacher, threads, started = teacher_of(full, dataset, config), default_threads(), time.perf_counter()
    used = time.process_time()
    paths = compact_paths(teacher, threads, _ticker(folder.name))
    minutes, processor = (time.perf_counter() - started) / 60, (time.process_time() - used) / 60

    def small(ids: Any, weights: Any) -> Predictor:
        found = full.predictor.reduced(full.rules[ids], weights)
        assert found is not None, "compaction is for predictors that are a weighted sum of rules"
        return found

    def models() -> Iterator[tuple[str, Predictor]]:
        yield "full", full.predictor
        for cap in caps:
            yield f"at most {cap}", small(*model_at(paths, level_at(paths, 0.0, cap), len(full.rules)))
            capped = config.compact.model_copy(update={"rules": cap})
            yield f"compact.rules={cap}", _chosen(chosen(teacher._replace(settings=capped), paths), small)
        yield "default", _chosen(chosen(teacher, paths), small)

    default = chosen(teacher, paths)
    frontier = [
        {"rules": level.rules, "valid_mrr": level.mrr, "drop": level.drop} for level in default.levels
    ]
    rows = [row(level, predictor, dataset) for level, predictor in models()]
    return {
        "dataset": dataset.name,
        "seed": config.seed,
        "tolerance": config.compact.tolerance,
        "minutes": minutes,
        "processor_minutes": processor,
        "threads": threads,
        "rows": rows,
        "frontier": frontier,
    }


def _chosen(compact: Compact, small: Callable[[Any, Any], Predictor]) -> Predictor:
    return small(compact.rules, compact.weights)


def table(found: dict[str, Any]) -> str:
    """The study as Markdown."""
    about = (
        f"{found['dataset']}, seed {found['seed']}, tolerance {found['tolerance']}: "
        f"compaction took {found['minutes']:.1f} minutes on {found['threads']} thread(s), "
        f"{found['processor_minutes']:.1f} minutes of processor time"
    )
    lines = [f"| {' | '.join(TITLES)} |", "|---" * len(TITLES) + "|"]
    for one in found["rows"]:
        cells = " | ".join(format(one[name], form) for name, form in COLUMNS.items())
        lines.append(f"| {cells} |")
    return "\n".join([about, "", *lines, ""])


def _ticker(name: str) -> Callable[..., None]:
    """Progress on standard error."""
    return lambda done, total, note="": print(f"{name}: {done}/{total} {note}", file=sys.stderr, flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--caps", nargs="*", type=int, default=list(CAPS), help="rules per direction")
    parser.add_argument("--set", nargs="*", default=[], help="other settings, compact.keep=0.5")
    parser.add_argument("--json", type=Path, help="also write all tables to this file")
    args = parser.parse_args()
    tables = []
    for folder in args.runs:
        found = study(folder, args.caps, args.set)
        write_report(folder, "compact", found)
        print(table(found), flush=True)
        tables.append(found)
    if args.json:
        args.json.write_text(json.dumps(tables, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
