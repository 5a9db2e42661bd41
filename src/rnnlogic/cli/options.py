"""Arguments and options that several commands share, and the loading of a dataset as they say."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnlogic.cli.output import print_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rnnlogic.data.dataset import Dataset

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder that `rnnlogic fit` made.")]
RelationOption = Annotated[
    str | None,
    typer.Option("--relation", help="Only rules with this head relation; NAME^-1: inverse."),
]
TopOption = Annotated[
    int | None, typer.Option("--top", help="Only the heaviest rules of each relation.", min=1)
]
BanOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ban",
        metavar="PATTERN",
        help="Never use matching rules; repeatable: 'treats <- * & causes', '* <- isa & ...'.",
    ),
]
ExcelSafe = Annotated[
    bool,
    typer.Option("--excel-safe", help="Put ' before names that a spreadsheet would take for a formula."),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="PLACE",
        envvar="RNNLOGIC_CLUSTER",
        help="Where to run: ray, ray://HOST:PORT, processes (see docs/scale.md). Default: threads.",
    ),
]
MaxMinutes = Annotated[
    float | None,
    typer.Option(
        "--max-minutes",
        help="Stop after about this many minutes with what there is; says what it cut.",
        min=0,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class EvidenceChoice(StrEnum):
    """Facts that rules are applied to."""

    train = "train"
    train_valid = "train+valid"
    everything = "all"


EvidenceOption = Annotated[
    EvidenceChoice, typer.Option("--evidence", help="Facts that the rules are applied to.")
]
GraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph", metavar="DATASET", help="Apply the rules to another graph: dataset name, folder or file."
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="HEAD,RELATION,TAIL",
        help="Columns of the table, by name or by number from 1: from,kind,to or 1,3,2.",
    ),
]
SepOption = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="CHARACTER",
        help="What separates the columns: a character, or tab, space, comma, semicolon, bar.",
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="Names to show for entities and relations: lines of name<TAB>label.",
    ),
]
IdsOption = Annotated[bool, typer.Option("--ids", help="Show names as in the data instead of labels.")]
TypesOption = Annotated[
    str | None,
    typer.Option(
        "--types",
        metavar="RELATION|off",
        help="Relation that gives the types of entities. Default: rdf:type, instance of (P31) or type.",
    ),
]
QueryOption = Annotated[
    str | None,
    typer.Option(
        "--query",
        metavar="TEXT",
        help="SPARQL, Cypher or SQL that gives head, relation and tail, for endpoints and database files.",
    ),
]


def load_named(
    name: str,
    columns: str | None = None,
    sep: str | None = None,
    labels: Path | None = None,
    query: str | None = None,
    *,
    seed: int = 0,
    ratios: Sequence[float] | None = None,
    ids: bool = False,
) -> Dataset:
    """Load a dataset as the options say; the caller prints the lines of its report, doubts included."""
    import warnings

    from rnnlogic.data.dataset import DataWarning, load_dataset

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the report says the same
        dataset = load_dataset(
            name, seed=seed, ratios=ratios, columns=columns, sep=sep, labels=labels, query=query
        )
    return dataset.with_vocab(dataset.vocab.with_ids()) if ids else dataset


def print_notes(dataset: Dataset, *, err: bool = False) -> None:
    """Print what reading and cleaning found, a line each."""
    for line in dataset.report.lines():
        print_note(line, err)


def print_cut(stage: str, what: str) -> None:
    """Print what a stage left out for want of time."""
    print_note(f"time is up: {stage}: {what}")
