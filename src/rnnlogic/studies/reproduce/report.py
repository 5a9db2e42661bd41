"""The report: a page made of run folders, nothing in it is typed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from rnnlogic.studies.reproduce.experiment import FOLDER, OTHERS, ROTATE, Bench, Experiment, experiment_names
from rnnlogic.studies.reproduce.figures import LABELS, plot, points_of, write_csv
from rnnlogic.studies.reproduce.files import metrics_of, read_json
from rnnlogic.studies.reproduce.published import Method, Side, load_published
from rnnlogic.studies.reproduce.tables import METRICS, cells, minutes_of, runs_of, spread, table
from rnnlogic.studies.reproduce.targets import (
    ABLATION,
    OPTIMISERS,
    SCRATCH,
    SMALL,
    TARGETS,
    VARIANTS,
    datasets_of,
)
from rnnlogic.studies.reproduce.work import STUDIES

NAMES = {
    "rotate": "RotatE, our own",
    "rnnlogic": "RNNLogic w/o emb.",
    "reinforce": "RNNLogic w/o emb., REINFORCE",
    "rnnlogic-emb": "RNNLogic with emb.",
    "plus": "RNNLogic+ w/o emb.",
    "plus-emb": "RNNLogic+ with emb.",
}
MORE = {"test-train+valid": "test, evidence train+valid", "valid": "valid, evidence train"}
HEAD = """# Results

Made by `rnnlogic reproduce` of run folders. Filtered ranking on the authors' splits; test facts, evidence
train; ties by expectation over random shuffles; settings chosen on validation facts. Cells are **ours
(published)**, ours as mean ± standard deviation over the seeds 0, 1, ... `-` is not run here. Published
numbers are those of the paper: its own, `quoted` by it from the method's paper, `rerun` by its authors, or
`run` (the paper says no more). Minutes are for fit and test of one seed, most with other experiments beside
on 2 cores; (+ n) is what the choice among the settings of a grid took. The last column links the experiment
file, and `rnnlogic reproduce DATASET/SETTING` runs a row again.
"""


class Page:
    """Sections of the report for one bench; figures are written beside the page."""

    def __init__(self, bench: Bench, path: Path) -> None:
        self.bench, self.path = bench, path

    def text(self) -> str:
        """The whole page."""
        lines = [line for target in TARGETS for line in self.target(target)]
        names = SMALL if self.bench.is_small else experiment_names()
        lines += [line for name in names for line in self.more(name)]
        size = "\n**Small size**: cheaper settings than those of the paper's tables.\n" * self.bench.is_small
        return HEAD + size + "\n".join(lines) + "\n"

    def target(self, target: str) -> list[str]:
        """The section of a target; nothing if no run of it is finished."""
        side = TARGETS[target].side
        if side is not None:
            found = [line for name in self.datasets(target) for line in self.methods(name, side)]
        else:
            sections = {"table4": self.optimisers, "case": self.case, "ablation": self.ablation}
            found = list(sections.get(target, self.figure)(target))
        about = ["", TARGETS[target].about] if TARGETS[target].about else []
        elsewhere = set(self.datasets(target)) - set(TARGETS[target].datasets)
        title = TARGETS[target].title + f" (here on {' and '.join(self.datasets(target))})" * bool(elsewhere)
        return ["", f"## {title}", *about, *found] if found else []

    def datasets(self, target: str) -> tuple[str, ...]:
        """Datasets of a target at our size."""
        return datasets_of(target, self.bench.is_small)

    def runs(self, dataset: str, setting: str) -> list[Path]:
        """Finished runs."""
        return runs_of(self.bench.out, dataset, setting)

    def link(self, dataset: str, setting: str) -> str:
        """A setting, as a link to the experiment file."""
        file = os.path.relpath(FOLDER / f"{dataset}.yaml", self.path.parent)
        return f"[{setting}]({Path(file).as_posix()})"

    def methods(self, dataset: str, side: Side) -> list[str]:
        """All methods on one dataset: those of others, then ours."""
        experiment = self.bench.experiment(dataset)
        if not any(self.runs(dataset, setting) for setting in (*VARIANTS, *OTHERS)):
            return []
        rows = [*self.rows_of_others(dataset, side), *self.own_rows(experiment, side)]
        headers = [dataset, *METRICS, "minutes", "seeds", "published", "experiment"]
        return table(headers, rows)

    def rows_of_others(self, dataset: str, side: Side) -> Iterator[list[str]]:
        """A row for every method that the paper compares with, and for rule files."""
        published = load_published()
        unpublished = set(OTHERS) - {method.ours for method in published.methods.values()}
        more = {model: Method(name=model, kind="rules", ours=model) for model in sorted(unpublished)}
        for key, method in (published.methods | more).items():
            own = self.runs(dataset, method.ours) if method.ours else []
            stated = dict(published.results[dataset].get(side, {}).get(key, {}))
            mark = str(stated.pop("from", "-"))
            if own or stated:
                values = cells(own, {name: float(value) for name, value in stated.items()}, side=side)
                link = self.link(dataset, str(method.ours)) if own else "-"
                yield [method.name, *values, minutes_of(own), _number(own), mark, link]

    def own_rows(self, experiment: Experiment, side: Side) -> Iterator[list[str]]:
        """A row for every setting of ours that has no table of its own, in the order of what is published."""
        for model, published in experiment.published.items():
            for setting in experiment.settings:
                if experiment.model(setting) == model and not setting.startswith((ABLATION, SCRATCH)):
                    yield from self.own_row(experiment, setting, published.get(side, {}), side)

    def own_row(
        self,
        experiment: Experiment,
        setting: str,
        published: dict[str, float],
        side: Side,
        report: str = "test",
    ) -> Iterator[list[str]]:
        """The row of a setting, if it was run or is published under this name."""
        own = [
            f for f in self.runs(experiment.dataset, setting) if (f / "reports" / f"{report}.json").is_file()
        ]
        is_main = setting in VARIANTS or setting in experiment.published
        if not own and not (is_main and published):
            return
        values = cells(own, published, report, side)
        note = experiment.notes.get(setting, setting)
        name = NAMES[experiment.model(setting)] + f" ({note})" * (not is_main)
        quoted = load_published().results[experiment.dataset]["both"][ROTATE]["from"]
        mark = (str(quoted) if setting == ROTATE else "its own") if published else "-"
        link = self.link(experiment.dataset, setting) if own else "-"
        yield [f"**{name}**", *values, minutes_of(own), _number(own), mark, link]

    def optimisers(self, target: str) -> Iterator[str]:
        """EM against REINFORCE: test MRR, and validation MRR after every round."""
        for dataset in self.datasets(target):
            experiment = self.bench.experiment(dataset)
            rows = []
            for setting, name in OPTIMISERS.items():
                own = self.runs(dataset, setting)
                if own:
                    model = "reinforce" if "reinforce" in setting else "rnnlogic"
                    published = experiment.published[model]["both"]
                    rounds = ", ".join(f"{mrr:.3f}" for mrr in _rounds(own[0]))
                    link = self.link(dataset, setting)
                    rows.append([name, cells(own, published)[0], _number(own), rounds, link])
            if rows:
                headers = [dataset, "mrr", "seeds", "valid mrr after each round, seed 0", "experiment"]
                yield from table(headers, rows)

    def figure(self, target: str) -> Iterator[str]:
        """A figure, and the data it shows."""
        points = points_of(target, self.bench)
        if not points:
            return
        folder, (label, is_log) = self.path.parent / "figures", LABELS[target]
        write_csv(folder / f"{target}.csv", points)
        if plot(folder / f"{target}.png", points, label, is_log):
            yield f"\n![{TARGETS[target].title}](figures/{target}.png)"
        values = sorted({point.x for point in points})
        by_line: dict[tuple[str, str], dict[int, float]] = {}
        for point in points:
            by_line.setdefault((point.dataset, point.model), {})[point.x] = point.test_mrr
        headers = [f"test mrr, seed 0, by {label}", *(f"{value:g}" for value in values)]
        yield from table(
            headers,
            [
                [f"{dataset}, {model}", *(f"{line[x]:.3f}" if x in line else "-" for x in values)]
                for (dataset, model), line in by_line.items()
            ],
        )
        yield f"\n[Data with minutes](figures/{target}.csv). `rnnlogic reproduce {target}`"

    def case(self, target: str) -> Iterator[str]:
        """The rules that add most to right answers, with an example of each."""
        for dataset in self.datasets(target):
            path = self.bench.folder(dataset, "ours", 0) / "reports" / STUDIES[target]
            for relation, found in read_json(path).items() if path.is_file() else ():
                rows = [
                    [
                        f"`{_short(rule['rule'])}`",
                        f"{rule['weight']:.2f}",
                        f"{rule['reached']}, {rule['first']}",
                        _short(_example(rule["example"], relation)),
                    ]
                    for rule in found["rules"]
                ]
                share = f"{found['first']} of {found['facts']} test answers ranked first"
                yield f"\n**{dataset}: `{relation}`**: {share}"
                yield from table(["rule", "weight", "reaches, ranked first", "for example"], rows)

    def ablation(self, target: str) -> Iterator[str]:
        """RNNLogic+ without its linear part, and one thing changed at a time."""
        for dataset in self.datasets(target):
            experiment = self.bench.experiment(dataset)
            rows = []
            for setting in experiment.settings:
                own = self.runs(dataset, setting) if setting.startswith(ABLATION) else []
                if own:
                    config = experiment.config(setting, 0)
                    kge = "yes" if config.has_embedding else "no"
                    parts = config.plus.aggregator, config.plus.rule_vectors, config.predictor.feature, kge
                    found = (
                        spread([metrics_of(f, split)["mrr"] for f in own]) for split in ("test", "valid")
                    )
                    rows.append([*parts, *found, minutes_of(own), self.link(dataset, setting)])
            if rows:
                headers = ["aggregator", "rule vectors", "counts as", "with KGE"]
                yield from table([*headers, "test mrr", "valid mrr", "minutes", "experiment"], rows)

    def more(self, dataset: str) -> Iterator[str]:
        """Other evidence and the validation facts, for our settings."""
        experiment = self.bench.experiment(dataset)
        for report, title in MORE.items():
            rows = [
                row[:8]
                for setting in experiment.settings
                for row in self.own_row(experiment, setting, {}, "both", report)
            ]
            if rows:
                yield f"\n## {dataset}: {title}"
                yield from table(["", *METRICS, "minutes", "seeds"], rows)


def write_report(bench: Bench, path: Path) -> None:
    """Write the page, and its figures beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(Page(bench, path).text(), encoding="utf-8")


def _number(folders: list[Path]) -> str:
    return str(len(folders)) if folders else "-"


def _rounds(folder: Path) -> Iterator[float]:
    """Validation MRR after every round of EM."""
    for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["stage"] == "round":
            yield record["valid_mrr"]


def _short(text: str) -> str:
    """Text with Freebase's names of relations, like /people/person/profession, cut to their last part."""
    return re.sub(r"(?<![^\s])/[^\s(]*/(?=[^/\s(]+\()", "", text)


def _example(example: dict[str, object], relation: str) -> str:
    if not example:
        return "-"
    path = " & ".join(f"{r}({h}, {t})" for h, r, t in example["path"])  # type: ignore[attr-defined]
    return f"{relation}({example['head']}, {example['tail']}) <- {path}"
