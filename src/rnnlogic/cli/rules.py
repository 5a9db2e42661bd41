"""`rnnlogic rules`: show the rules of a run, export them, convert rule files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from rnnlogic.cli import export
from rnnlogic.cli.options import AsJson, RelationOption, RunFolder, TopOption
from rnnlogic.cli.output import print_json, print_table
from rnnlogic.cli.progress import StageProgress

if TYPE_CHECKING:
    from rnnlogic.model import RNNLogic

HEADERS = ["weight", "prior", "support", "confidence", "rule"]
FIGURES = ["weight", "predictions", "support", "confidence", "pca_confidence", "head_coverage"]
EXAMPLE = "rnnlogic rules runs/umls --relation treats --top 10"


class RunFirst(TyperGroup):
    """Moves the verb to the front: `rules RUN` is `rules show RUN`, `rules RUN export` `rules export RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reorder arguments that do not begin with a command."""
        if args and args[0] not in (*self.commands, "--help"):
            args = ["export", args[0], *args[2:]] if args[1:2] == ["export"] else ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=RunFirst, no_args_is_help=True, subcommand_metavar="RUN [export] | convert ...")


@app.callback(epilog=f"Example: {EXAMPLE}")
def rules() -> None:
    """Show the rules of a run, or write them for other programs.

    rnnlogic rules RUN [--relation R] [--top N] [--statistics]

    rnnlogic rules RUN export --format FORMAT -o FILE

    rnnlogic rules convert IN --to FORMAT -o OUT --data DATASET
    """


@app.command("show", epilog=f"Example: {EXAMPLE}")
def show(
    run: RunFolder,
    relation: RelationOption = None,
    top: TopOption = None,
    statistics: Annotated[
        bool,
        typer.Option("--statistics", help="AMIE's statistics on the training facts, with an example."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show rules by relation, heaviest first: `rnnlogic rules RUN ...`.

    Prior: the rule's probability under the generator. Support: training queries that the rule answers.
    Confidence: support / (support + wrong), where wrong counts results that are not known answers.

    With --statistics, all figures are AMIE's, on the training facts. Predictions: pairs (x, y) that the body
    joins. Support: predictions that are facts of the head. Confidence: support / predictions. PCA confidence:
    support / predictions whose x has a fact of the head. Head coverage: support / facts of the head.
    """
    from rnnlogic.model import RNNLogic

    model = RNNLogic.load(run)
    if statistics:
        rows = _statistics(model, relation, top)
        headers, cells = [*FIGURES, "rule", "example"], [_cells(row) for row in rows]
    else:
        found = model.rules(relation, top)
        rows = [rule.as_dict() for rule in found]
        headers, cells = HEADERS, [[r.weight, r.prior, r.support, r.confidence, r.text] for r in found]
    if as_json:
        print_json(rows)
    elif not rows:
        typer.echo(f"there are no rules for {relation or 'any relation'}")
    else:
        print_table(headers, cells)


def _statistics(model: RNNLogic, relation: str | None, top: int | None) -> list[dict[str, Any]]:
    from rnnlogic.mining.amie import with_statistics
    from rnnlogic.rules.rule import format_rule

    dataset = model.dataset
    with StageProgress() as progress:
        table = with_statistics(
            export.weighted_rules(model, relation, top),
            dataset.graph("train"),
            dataset.vocab,
            tick=partial(progress, "statistics"),
        )
    return [{"rule": format_rule(rule, dataset.vocab), **known} for rule, known in table.rows()]


def _cells(row: dict[str, Any]) -> list[Any]:
    return [*(row[name] for name in FIGURES), row["rule"], next(iter(row["examples"]), "-")]


app.command("export", epilog="Example: rnnlogic rules runs/umls export --format anyburl -o rules.tsv")(
    export.export
)
app.command("convert", epilog="Example: rnnlogic rules convert rules.tsv --to text -o rules.txt --data umls")(
    export.convert
)
