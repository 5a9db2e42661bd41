"""Make docs/results.md and the README's table of the run folders below runs/experiments: nothing is typed.

python experiments/report.py
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from experiment import RUNS, Experiment, experiment_names, load_experiment

FIGURES = Path("docs/figures")
DRAWN = {"dimension": "MRR by embedding dimension", "facts": "MRR by share of training facts"}
PAGE, README, ABOUT = Path("docs/results.md"), Path("README.md"), "embedding/about.json"
BEGIN, END = "<!-- results: made by experiments/report.py -->\n", "<!-- end of results -->\n"
METRICS = ("mrr", "mr", "hits@1", "hits@3", "hits@10")
NAMES = {
    "rotate": "RotatE",
    "rnnlogic": "RNNLogic w/o emb.",
    "reinforce": "RNNLogic w/o emb., REINFORCE",
    "rnnlogic-emb": "RNNLogic with emb.",
    "plus": "RNNLogic+ w/o emb.",
    "plus-emb": "RNNLogic+ with emb.",
}

HEAD = """# Results

Made by `python experiments/report.py` from run folders; every row can be rerun with the command given.
Filtered ranking on the authors' splits; ties by expectation over random shuffles (see
[evaluation](evaluation.md)); settings chosen on validation facts. Minutes are for fit and evaluation of one
seed on 2 cores, in 2026-11 with other fits beside: a quiet one needs less ([lab notes](lab-notes.md)).
Mean ± standard deviation over seeds where there are several.
"""

SUMMARY = {
    "rotate": "rotate",
    "ours": "rnnlogic",
    "emb": "rnnlogic-emb",
    "plus": "plus",
    "plus-emb": "plus-emb",
}
NOTE = (
    "Authors' splits, evidence train, both sides, expected ties; minutes: fit and test, 2 busy cores;"
    " ± over seeds. [Everything](docs/results.md)."
)


def runs_of(dataset: str, setting: str) -> list[Path]:
    """Finished run folders with a test report, by seed."""
    folders = (RUNS / dataset / setting).glob("seed-*")
    done = (folder for folder in folders if (folder / "reports" / "test.json").is_file())
    return sorted(done, key=lambda folder: int(folder.name.removeprefix("seed-")))


def read(folder: Path, name: str) -> dict[str, Any]:
    """A JSON file of a run folder."""
    values: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return values


def spread(values: list[float], metric: str) -> str:
    """Mean, and deviation where there are several."""
    digits = 1 if metric == "mr" else 3
    text = f"{mean(values):.{digits}f}"
    return f"{text} ± {stdev(values):.{digits}f}" if len(values) > 1 else text


def metric_row(label: str, folders: list[Path], report: str, side: str) -> str:
    """One line of a table."""
    reports = [read(folder, f"reports/{report}.json")[side]["expected"] for folder in folders]
    cells = [spread([values[metric] for values in reports], metric) for metric in METRICS]
    return f"| {label} | {' | '.join(cells)} | {minutes_of(folders)} | {len(folders)} |"


def published_row(model: str, values: dict[str, float]) -> str:
    """A line of published numbers."""
    cells = [str(values.get(metric, "-")) for metric in METRICS]
    return f"| *{NAMES[model]}, published* | {' | '.join(cells)} | - | - |"


def minutes_of(folders: list[Path]) -> str:
    """Mean minutes of fit (or training) and test evaluation."""
    about = ["model.json" if (folder / "model.json").is_file() else ABOUT for folder in folders]
    spent = [
        read(folder, name)["minutes"] + read(folder, "reports/test.json")["seconds"] / 60
        for folder, name in zip(folders, about, strict=True)
    ]
    return f"{mean(spent):.1f}"


def dataset_section(experiment: Experiment) -> Iterator[str]:
    """Tables of one dataset."""
    name = experiment.dataset
    if not any(runs_of(name, setting) for setting in experiment.settings):
        return
    yield f"\n## {name}\n\nPublished: {experiment.source}. Experiment file: `experiments/{name}.yaml`."
    yield from metric_table("test, evidence train", experiment, "test", "both")
    yield from metric_table("test, tail side only, evidence train", experiment, "test", "tail")
    yield from metric_table("test, evidence train+valid", experiment, "test-train+valid", "both")
    yield from metric_table("valid, evidence train", experiment, "valid", "both")
    yield f"\n`python experiments/run.py {name} --data DIR --setting SETTING --seeds ...`"
    yield from rounds_table(name)
    yield from rules_table(name)


def metric_table(title: str, experiment: Experiment, report: str, side: str) -> Iterator[str]:
    """One kind of report for all settings, each group of them below the numbers published for it."""
    yield f"\n| {title} | {' | '.join(METRICS)} | minutes | seeds |\n|---|" + "---|" * (len(METRICS) + 2)
    for model, published in experiment.published.items():
        if report == "test" and side in published:
            yield published_row(model, published[side])
        for setting in experiment.settings:
            folders = runs_of(experiment.dataset, setting)
            have = folders and (folders[0] / "reports" / f"{report}.json").is_file()
            if have and experiment.model(setting) == model:
                yield metric_row(setting, folders, report, side)


def rounds_table(dataset: str) -> Iterator[str]:
    """Validation MRR after every EM round, by setting."""
    rows = []
    for setting in ("ours", "reinforce", "paper"):
        for folder in runs_of(dataset, setting)[:1]:
            lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
            rounds = [r for r in map(json.loads, lines) if r["stage"] == "round"]
            rows.append((setting, [f"{r['valid_mrr']:.3f}" for r in rounds]))
    if rows:
        most = max(len(values) for _, values in rows)
        yield (
            f"\n| valid MRR by round | {' | '.join(str(i + 1) for i in range(most))} |\n|---|" + "---|" * most
        )
        for setting, values in rows:
            yield f"| {setting}, seed 0 | {' | '.join(values + ['-'] * (most - len(values)))} |"


def rules_table(dataset: str) -> Iterator[str]:
    """Test MRR of the best N rules per relation, by who chose them."""
    for folder in runs_of(dataset, "ours"):
        if (folder / "reports" / "rules_per_relation.json").is_file():
            result = read(folder, "reports/rules_per_relation.json")
            numbers = list(next(iter(result.values())))
            yield f"\n| test MRR by rules per relation | {' | '.join(numbers)} |\n|---|" + "---|" * len(
                numbers
            )
            for source, values in result.items():
                yield f"| {source} | {' | '.join(f'{values[number]:.3f}' for number in numbers)} |"
            yield f"\n`python experiments/rules_per_relation.py {folder}`"
            return


def figure_section(name: str, title: str) -> Iterator[str]:
    """A figure, and the data it shows."""
    data = FIGURES / f"{name}.csv"
    if not data.is_file():
        return
    yield f"\n## {title}\n\n![{title}](figures/{name}.png)\n"
    with data.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    yield f"| {' | '.join(head)} |\n|---|" + "---|" * (len(head) - 1)
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield f"\n`python experiments/figures.py {name} --data DIR`; seed 0, evidence train."


def page() -> str:
    """The whole page."""
    lines = [line for name in experiment_names() for line in dataset_section(load_experiment(name))]
    lines += [line for name, title in DRAWN.items() for line in figure_section(name, title)]
    return HEAD + "\n".join(lines) + "\n"


def summary() -> str:
    """The README's table: our settings beside the published numbers."""
    names = experiment_names()
    lines = [f"| test MRR (minutes) | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for setting, model in SUMMARY.items():
        experiments = [load_experiment(name) for name in names]
        published = [e.published.get(model, {}).get("both", {}).get("mrr", "-") for e in experiments]
        lines.append(f"| *{NAMES[model]}, published* | {' | '.join(map(str, published))} |")
        lines.append(
            f"| {NAMES[model]}, ours | {' | '.join(summary_cell(e, setting) for e in experiments)} |"
        )
    return "\n".join([*lines, "", NOTE]) + "\n"


def summary_cell(experiment: Experiment, setting: str) -> str:
    """Test MRR and minutes of one setting."""
    folders = runs_of(experiment.dataset, setting)
    if not folders:
        return "-"
    ours = [read(folder, "reports/test.json")["both"]["expected"]["mrr"] for folder in folders]
    return f"{spread(ours, 'mrr')} ({minutes_of(folders)})"


def main() -> None:
    """Write the page and the table."""
    PAGE.write_text(page(), encoding="utf-8")
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    README.write_text(before + BEGIN + summary() + END + rest.partition(END)[2], encoding="utf-8")
    print(f"{PAGE} and the table in {README} written")


if __name__ == "__main__":
    main()
