"""Arguments and options that several commands share, and the loading of a dataset as they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from rnnlogic.cli.output import print_note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rnnlogic.data.dataset import Dataset

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder that `rnnlogic fit` made.")]
RelationOption = Annotated[
    str | None,
    typer.Option("--relation", help="Only rules with this head relation; NAME^-1: inverse."),
]
MostOption = Annotated[
    int | None, typer.Option("--most", help="Only the heaviest rules of each relation.", min=1)
]
BanOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ban",
        metavar="PATTERN",
        help="Never use matching rules; repeatable: 'treats <- * & causes', '* <- isa & ...'.",
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="PATTERN", help="Use no rules but matching ones; repeatable, like --ban."),
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
        help="Approximate time limit in minutes; reports what was skipped.",
        min=0,
    ),
]
DataArgument = Annotated[str, typer.Argument(metavar="DATASET", help="Dataset name, folder or file.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one setting; repeatable.")
]
ThreadsOption = Annotated[int | None, typer.Option(help="Threads (default: all cores).", min=1)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


Evidence = Literal["train", "train+valid", "all"]
EvidenceOption = Annotated[
    Evidence,
    typer.Option("--facts", help="Facts that are known: rules are applied to them."),
]
GraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph", metavar="DATASET", help="Apply the rules to another graph: dataset name, folder or file."
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
TemplatesOption = Annotated[
    Path | None,
    typer.Option(
        "--templates",
        metavar="FILE",
        help="How relations are said: lines of relation<TAB>X depends on Y<TAB>Y is needed by X.",
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
ConstraintsOption = Annotated[
    Path | None,
    typer.Option(
        "--constraints",
        metavar="FILE",
        help="What must hold: YAML or TSV such as `functional: section`, or SHACL and OWL (.ttl, .nt, .rdf).",
    ),
]
AllowOption = Annotated[bool, typer.Option("--allow-violations", help="Keep answers that break constraints.")]

WithFacts = Annotated[
    Path | None,
    typer.Option("--with", metavar="FILE", help="Facts that are known besides, for this command."),
]
WithoutFacts = Annotated[
    Path | None,
    typer.Option("--without", metavar="FILE", help="Facts that are taken away, for this command."),
]
MissingOption = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="N|SHARE",
        help="How many facts are missing: a number, or a share such as 5%. Default: an estimate.",
    ),
]


@dataclass(frozen=True)
class Reading:
    """How to read a dataset."""

    columns: Annotated[
        str | None,
        typer.Option(
            metavar="HEAD,RELATION,TAIL",
            help="Columns of the table, by name or by number from 1: from,kind,to or 1,3,2.",
        ),
    ] = None
    sep: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER",
            help="What separates the columns: a character, or tab, space, comma, semicolon, bar.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How a text file is written, for example utf-8, cp1252 or utf-16."),
    ] = None
    labels: LabelsOption = None
    query: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="SPARQL, Cypher or SQL that gives head, relation and tail, for endpoints and databases.",
        ),
    ] = None
    weight: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Weights of facts, above 0 and at most 1; score/1000 divides."),
    ] = None
    source: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Where facts come from; several: a|b or a;b.")
    ] = None
    min_weight: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Leave out facts of a lower weight.")
    ] = None
    without_source: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Leave out facts that come from nowhere else; repeatable."),
    ] = None
    skip_incomplete: Annotated[
        bool, typer.Option("--skip-incomplete", help="Skip rows with an empty cell.")
    ] = False
    keep_null_words: Annotated[
        bool, typer.Option("--keep-null-words", help="Take NULL, N/A, nan, - and unknown for names.")
    ] = False
    numeric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RELATION|off",
            help="Relations whose tails are numbers or dates, repeatable; off: none. Default: found.",
        ),
    ] = None


NO_READING = Reading()


@dataclass(frozen=True)
class Basis:
    """What a model answers from, and how it shows names."""

    evidence: EvidenceOption = "all"
    graph: GraphOption = None
    labels: LabelsOption = None
    ids: IdsOption = False
    constraints: ConstraintsOption = None


@dataclass(frozen=True)
class ChangedBasis(Basis):
    """The same, with facts that are known besides or taken away, for this command."""

    more: WithFacts = None
    less: WithoutFacts = None


@dataclass(frozen=True)
class Proposals:
    """Which proposals are shown, and how."""

    missing: MissingOption = None
    allow_violations: AllowOption = False
    excel_safe: ExcelSafe = False


@dataclass(frozen=True)
class Running:
    """Where a command runs, and how long it may take."""

    max_minutes: MaxMinutes = None
    cluster: ClusterOption = None


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters of a dataclass are made of one option for each of its fields.

    A default of the parameter gives the defaults of its options.
    """
    plain = signature(command, eval_str=True)
    shown: list[Parameter] = []
    groups: dict[str, Any] = {}
    for one in plain.parameters.values():
        if is_dataclass(one.annotation):
            groups[one.name] = one.annotation
            shown += _options_of(one)
        else:
            shown.append(one.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def with_options(*args: Any, **told: Any) -> None:
        made = {
            name: group(**{field.name: told.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(*args, **made, **told)

    with_options.__signature__ = plain.replace(parameters=shown)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in shown}
    return with_options


def _options_of(group: Parameter) -> list[Parameter]:
    """One parameter for each field of a group."""
    hints = get_type_hints(group.annotation, include_extras=True)
    made = []
    for one in fields(group.annotation):
        default = one.default if group.default is Parameter.empty else getattr(group.default, one.name)
        default = Parameter.empty if default is MISSING else default
        made.append(Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[one.name]))
    return made


def load_named(
    name: str,
    reading: Reading = NO_READING,
    *,
    seed: int = 0,
    ratios: Sequence[float] | None = None,
    ids: bool = False,
    templates: Path | None = None,
    attributes: Sequence[str] = (),
) -> Dataset:
    """Load a dataset as the options say; the caller prints the lines of its report, doubts included.

    `attributes` are those of the graph that a model comes from.
    """
    import warnings

    from rnnlogic.data.dataset import DataWarning, load_dataset
    from rnnlogic.data.labels import templated

    told = {one.name: getattr(reading, one.name) for one in fields(reading)} | {"attributes": attributes}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the report says the same
        dataset = load_dataset(
            name, seed=seed, ratios=ratios, progress=lambda line: print_note(line, err=True), **told
        )
    if templates is not None:
        found = templated(dataset.vocab, templates)
        dataset = dataset.with_vocab(found.vocab)
        if found.note:
            print_note(found.note)
    return dataset.with_vocab(dataset.vocab.with_ids()) if ids else dataset


def print_notes(dataset: Dataset, *, err: bool = False) -> None:
    """Print what reading and cleaning found, a line each."""
    for line in dataset.report.lines():
        print_note(line, err)


def print_cut(stage: str, what: str) -> None:
    """Print what a stage left out for want of time."""
    print_note(f"time is up: {stage}: {what}")


def given(settings: Mapping[str, Any]) -> list[str]:
    """Options as changes of settings, KEY=VALUE; those that were not given change nothing."""
    return [f"{key}={value}" for key, value in settings.items() if value is not None]
