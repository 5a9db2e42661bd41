"""`rnnlogic compare` and `diff`: two runs on the same facts, and what changed from one to the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.evaluate import Split
from rnnlogic.cli.options import AsJson, Basis, EvidenceOption, IdsOption, grouped
from rnnlogic.cli.output import echo, print_json, print_table, print_text, write_file

if TYPE_CHECKING:
    from rnnlogic.evaluation.compare import Comparison

METRIC_HEADERS = ("metric", "A", "B", "A - B", "from", "to", "p")
RELATION_HEADERS = ("relation", "queries", "MRR A", "MRR B", "A - B", "A wins", "B wins")


@dataclass(frozen=True)
class Bootstrap:
    """How confidence intervals are found."""

    samples: Annotated[int, typer.Option(help="Number of bootstrap samples.", min=1, max=1_000_000)] = 10_000
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.", min=0)] = 0


BOOTSTRAP = Bootstrap()


@grouped
def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of a run, embedding or baseline.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Folder to compare it with.")],
    split: Annotated[Split, typer.Option(help="Facts to rank.")] = "test",
    evidence: EvidenceOption = "train",
    bootstrap: Bootstrap = BOOTSTRAP,
    ids: IdsOption = False,
    as_json: AsJson = False,
) -> None:
    """Test whether RUN_A outperforms RUN_B. A paired bootstrap over facts decides."""
    from rnnlogic.runs.compare import compare_runs

    with StageProgress() as progress:
        result = compare_runs(
            run_a,
            run_b,
            split,
            evidence,
            bootstrap.samples,
            bootstrap.seed,
            partial(progress, f"evaluate {split}"),
        )
    if as_json:
        print_json({"a": str(run_a), "b": str(run_b), **result.as_dict()})
    else:
        _print_comparison(result, run_a, run_b, {} if ids else _labels(run_a, run_b))


def _labels(*folders: Path) -> Mapping[str, str]:
    """What people see of relations, by name, as the first run among the folders says."""
    from rnnlogic.runs.dataset import read_dataset
    from rnnlogic.runs.folder import Run

    folder = next((folder for folder in folders if Run.exists(folder)), None)
    if folder is None:
        return {}
    vocab = read_dataset(folder).vocab
    return {name: vocab.relation_label(i) for i, name in enumerate(vocab.relations)}


def _print_comparison(result: Comparison, run_a: Path, run_b: Path, labels: Mapping[str, str]) -> None:
    echo(f"A: {run_a}\nB: {run_b}")
    print_text(
        f"{result.dataset}, {result.split} facts, known facts {result.evidence}: {result.queries:,} queries,"
        f" {result.facts:,} facts, {result.samples:,} bootstrap samples, 95 % intervals"
    )
    print_table(METRIC_HEADERS, [_rounded(astuple(row)) for row in result.metrics])
    echo(f"queries: A wins {result.wins:,}, ties {result.ties:,}, B wins {result.losses:,}\n")
    rows = [(labels.get(row.relation, row.relation), *astuple(row)[1:]) for row in result.relations]
    print_table(RELATION_HEADERS, [_rounded(row) for row in rows])


def _rounded(values: tuple[Any, ...]) -> list[Any]:
    return [round(value, 4) + 0.0 if isinstance(value, float) else value for value in values]  # no -0


SHOWN = 10  # rows of each kind on the screen


def diff(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="Run folder, the earlier one.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Run folder, the later one.")],
    most: Annotated[int, typer.Option(help="Number of proposals to compare; 0: only rules.", min=0)] = 100,
    evidence: EvidenceOption = "all",
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write all of it as a page.")
    ] = None,
    ids: IdsOption = False,
    as_json: AsJson = False,
) -> None:
    """Say what changed from RUN_A to RUN_B."""
    from rnnlogic.cli.models import load_model
    from rnnlogic.complete.difference import difference

    models = [load_model(run, Basis(ids=ids)) for run in (run_a, run_b)]
    with StageProgress() as progress:
        rules = [model.rules(progress=progress) for model in models]
        facts = [
            list(model.complete(most=most, facts=evidence, progress=progress)) if most else []
            for model in models
        ]
    found = difference((rules[0], rules[1]), (facts[0], facts[1]))
    if page is not None:
        write_file(page, found.card(str(run_a), str(run_b)).page())
        echo(f"page written to {page}", err=True)
    if as_json:
        print_json({"a": str(run_a), "b": str(run_b), **found.as_dict()})
        return
    for section in found.card(str(run_a), str(run_b), SHOWN).sections:
        echo(section.title, bold=True)
        if section.table is not None:
            print_table(list(section.table.headers), [list(row) for row in section.table.rows])
        for text in section.text:
            print_text(text)
        echo()
