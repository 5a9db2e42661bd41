"""`rnnlogic rules RUN export` and `rnnlogic rules convert`: rule files and programs for other tools."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.models import load_model
from rnnlogic.cli.options import (
    AsJson,
    Basis,
    LabelsOption,
    MostOption,
    Reading,
    RelationOption,
    RunFolder,
    grouped,
    load_named,
)
from rnnlogic.cli.output import echo, print_json

if TYPE_CHECKING:
    from rnnlogic.data.dataset import Dataset
    from rnnlogic.model import RNNLogic
    from rnnlogic.rules.formats import RuleFormat
    from rnnlogic.rules.table import RuleTable


FileFormat = Literal["text", "anyburl", "ids", "jsonl"]
# fmt: off
Program = Literal[
    "prolog", "datalog", "sparql", "sparql-construct", "sparql-insert", "shacl", "cypher", "sql",
    "sql-ranking", "sparql-ranking",
]
# fmt: on
Target = Literal[FileFormat, Program]
OutputFile = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.")]


@dataclass(frozen=True)
class Picked:
    """Which rules are written."""

    relation: RelationOption = None
    most: MostOption = None
    head: Annotated[str | None, typer.Option(help="Rank answers for this entity only.")] = None


EVERYTHING = Picked()


@grouped
def export(
    run: RunFolder,
    output: OutputFile,
    target: Annotated[Target, typer.Option("--format", help="File format or language.")] = "text",
    picked: Picked = EVERYTHING,
    facts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the training facts for the program."),
    ] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Leave labels out of comments.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the rules of a run to a file: `rnnlogic rules RUN export ...`.

    Rule files: text, anyburl (also for PyClause), ids (the authors' format), jsonl. A jsonl file gets AMIE's
    statistics. An anyburl file gets AnyBURL's: paths that visit an entity twice do not count.

    Programs: prolog, datalog (clingo), sparql, cypher and sql return what every rule predicts and by how many
    paths; sparql-construct and sparql-insert produce the predicted facts only, and so does shacl: SHACL 1.2
    Rules after the W3C Working Draft of 11 July 2026.

    Files hold the names of the data. Labels are shown in comments, where the format has comments, and in a
    jsonl file under their own key.

    Rankings: sql-ranking and sparql-ranking score all answers for a relation in one query, as
    `rnnlogic predict --facts train` does.
    """
    relation, head = picked.relation, picked.head
    _check_options(target, relation, head, facts)
    model = load_model(run, Basis(ids=ids))
    dataset, table = model.dataset, weighted_rules(model, relation, picked.most)
    if target not in ("text", "jsonl"):
        table = _expressible(table, target)
    if not len(table):
        raise RNNLogicError(f"{run}: there are no rules for {relation or 'any relation'}")
    if target.endswith("-ranking"):
        text = _ranking(model, table, target, cast(str, relation), head)
        _write_texts({output: text} | _facts_text(facts, target, dataset))
    else:
        _write(output, table, dataset, target, facts)
    _report({"file": str(output), "format": target, "rules": len(table)}, [], as_json)


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Rule file.")],
    output: OutputFile,
    target: Annotated[Target, typer.Option("--to", help="File format or language; rankings need a run.")],
    data: Annotated[str, typer.Option(metavar="DATASET", help="Dataset with the relations of the rules.")],
    origin: Annotated[
        FileFormat | None, typer.Option("--from", help="Format of IN. Default: decided by its first line.")
    ] = None,
    labels: LabelsOption = None,
    as_json: AsJson = False,
) -> None:
    """Write a rule file in another format or as a program.

    Statistics that anyburl or jsonl needs and IN does not contain are counted on the training facts.
    """
    from rnnlogic.rules.formats import read_table

    if target.endswith("-ranking"):
        raise RNNLogicError("a ranking needs the weights of a run: use `rnnlogic rules RUN export`")
    dataset = load_named(data, Reading(labels=labels))
    table, report = read_table(source, dataset.vocab, origin)
    _write(output, table, dataset, target)
    counts = {"read": report.read, "dropped": report.dropped(), "rules": len(table)}
    _report({"file": str(output), "format": target, **counts}, report.lines(), as_json)


def weighted_rules(model: RNNLogic, relation: str | None, most: int | None) -> RuleTable:
    """The rules of a run with their weights, by relation, heaviest first."""
    from rnnlogic.rules.table import WEIGHT, RuleTable

    learned, vocab = model.learned, model.dataset.vocab
    table = RuleTable(learned.rules, {WEIGHT: learned.weights.tolist()})
    return table.heaviest(None if relation is None else vocab.relation_id(relation), most)


def _expressible(table: RuleTable, target: Target) -> RuleTable:
    """The table without rules that a format cannot hold; a note says how many these are.

    Only our own formats hold named evidence, and all but id files rules with constants.
    """
    kinds = {"are features (such as [linked])": table.rules.are_features}
    if target in ("ids", "anyburl", "shacl"):
        kinds["are conditions on numbers or dates"] = table.rules.are_conditions
    if target == "ids":
        kinds["have constants"] = table.rules.have_constants
    for kind, are_lost in kinds.items():
        if are_lost.any():
            echo(
                f"note: {are_lost.sum():,} rules {kind} and are left out: text and jsonl can hold them; "
                "without them answers may rank differently",
                err=True,
            )
    return table.take([i for i in range(len(table)) if not any(are_lost[i] for are_lost in kinds.values())])


def _check_options(target: Target, relation: str | None, head: str | None, facts: Path | None) -> None:
    is_ranking, is_file = target.endswith("-ranking"), target in get_args(FileFormat)
    if is_ranking and relation is None:
        raise RNNLogicError(f"{target} needs --relation")
    if head is not None and not is_ranking:
        raise RNNLogicError("--head is for rankings: sql-ranking, sparql-ranking")
    if facts is not None and is_file:
        raise RNNLogicError(f"--facts is for programs; {target} is a rule file")


def _ranking(model: RNNLogic, table: RuleTable, target: Target, relation: str, head: str | None) -> str:
    from rnnlogic.predictors.loglinear.predictor import RuleScorer
    from rnnlogic.rules.programs import RANKINGS

    vocab = model.dataset.vocab
    if not isinstance(model.scorer, RuleScorer):
        raise RNNLogicError("this run does not score answers by rules alone, so no query can rank as it does")
    entity = None if head is None else vocab.entity_id(head)
    write, feature = RANKINGS[target], model.learned.feature
    return write(table, vocab, vocab.relation_id(relation), feature, entity, model.dataset.path_kind)


def _write(
    output: Path, table: RuleTable, dataset: Dataset, target: Target, facts: Path | None = None
) -> None:
    from rnnlogic.rules.formats import write_table
    from rnnlogic.rules.programs import PROGRAMS

    if target in PROGRAMS:
        text = PROGRAMS[target](table, dataset.vocab, dataset.path_kind)
        _write_texts({output: text} | _facts_text(facts, target, dataset))
        return
    if target == "anyburl" and not _has_anyburl_figures(table):
        table = _with_anyburl_statistics(table, dataset)
    elif target == "jsonl" and "support" not in table.columns:
        table = _with_amie_statistics(table, dataset)
    write_table(output, table, dataset.vocab, cast("RuleFormat", target))


def _has_anyburl_figures(table: RuleTable) -> bool:
    """Whether the figures can come from AnyBURL; AMIE's, which mean something else, have more columns."""
    from rnnlogic.rules.formats.lines import FIGURES

    return set(FIGURES) <= set(table.columns) and "pca_confidence" not in table.columns


def _with_anyburl_statistics(table: RuleTable, dataset: Dataset) -> RuleTable:
    from rnnlogic.statistics.anyburl import with_anyburl_statistics

    with StageProgress() as progress:
        tick = partial(progress, "statistics")
        found, samples = with_anyburl_statistics(table, dataset.graph("train"), tick=tick)
    if samples:
        echo(
            f"note: {samples:,} rules have too many paths to follow all; their figures are those of a random"
            " sample of entities",
            err=True,
        )
    return found


def _with_amie_statistics(table: RuleTable, dataset: Dataset) -> RuleTable:
    from rnnlogic.statistics.pairs import with_statistics

    with StageProgress() as progress:
        tick, names = partial(progress, "statistics"), dataset.vocab.with_ids()
        return with_statistics(table, dataset.graph("train"), names, examples=1, tick=tick)


def _facts_text(path: Path | None, target: Target, dataset: Dataset) -> dict[Path, str]:
    from rnnlogic.rules.programs import facts_for

    return {} if path is None else {path: facts_for(target)(dataset.train, dataset.vocab, dataset.values)}


def _write_texts(texts: dict[Path, str]) -> None:
    from rnnlogic.rules.formats.lines import write_text

    for path, text in texts.items():
        write_text(path, text)


def _report(result: dict[str, Any], lines: list[str], as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    for line in lines:
        echo(line)
    echo(f"{result['rules']:,} rules written to {result['file']}")
