"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

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
