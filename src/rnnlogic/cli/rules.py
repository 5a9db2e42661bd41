"""`rnnlogic rules`: show the rules of a run, plot their frontier, export them, convert rule files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.progress import StageProgress
from rnnlogic.cli import export
from rnnlogic.cli.models import load_model, preliminary_mark
from rnnlogic.cli.options import AsJson, Basis, IdsOption, RelationOption, RunFolder, grouped
from rnnlogic.cli.output import echo, print_json, print_note, print_table, terminal_width

if TYPE_CHECKING:
    from rnnlogic.base.types import Arrays, Progress
    from rnnlogic.explain.listing import RuleInfo
    from rnnlogic.model import RNNLogic
    from rnnlogic.runs.folder import Run

FIGURES = ["weight", "predictions", "support", "confidence", "pca_confidence", "head_coverage"]
EXAMPLE = "rnnlogic rules runs/umls --relation treats --most 10"


class RunFirst(TyperGroup):
    """Moves the verb to the front: `rules RUN` is `rules show RUN`, `rules RUN export` `rules export RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reorder arguments that do not begin with a command."""
        if args and args[0] not in (*self.commands, "--help"):
            args = ["export", args[0], *args[2:]] if args[1:2] == ["export"] else ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=RunFirst,
    no_args_is_help=True,
    subcommand_metavar="RUN [export] | convert ...",
    rich_markup_mode=None,
)


@app.callback(epilog=f"Example: {EXAMPLE}")
def rules() -> None:
    """Show the rules of a run, or export them.

    rnnlogic rules RUN [--relation R] [--most N] [--sort use]

    rnnlogic rules RUN export --format FORMAT -o FILE

    rnnlogic rules convert IN --to FORMAT -o OUT --data DATASET
    """


Sort = Literal["use", "weight", "confidence", "support"]


@dataclass(frozen=True)
class Narrowed:
    """Which rules are shown."""

    relation: RelationOption = None
    most: Annotated[int, typer.Option("--most", help="Rules shown of each relation.", min=1)] = 10
    sort: Annotated[Sort, typer.Option("--sort", help="Which rules come first.")] = "use"
    min_confidence: Annotated[
        float, typer.Option("--min-confidence", help="Only rules of at least this confidence.", min=0, max=1)
    ] = 0.0
    min_support: Annotated[
        int, typer.Option("--min-support", help="Only rules of at least this support.", min=0)
    ] = 0
    max_length: Annotated[
        int | None, typer.Option("--max-length", help="Only rules with at most this many body atoms.", min=0)
    ] = None
    everything: Annotated[bool, typer.Option("--all", help="All rules instead of the top ones.")] = False


@app.command("show", epilog=f"Example: {EXAMPLE}")
@grouped
def show(
    run: RunFolder,
    narrowed: Narrowed,
    ids: IdsOption = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="A table with exact figures and an example for each rule.")
    ] = False,
    frontier: Annotated[
        Path | None,
        typer.Option(
            "--frontier",
            metavar="FILE",
            help="Plot validation MRR against the number of rules; shows no rules.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the best rules of each relation: `rnnlogic rules RUN ...`.

    Use: how often the rule decided, that is, added more than any other rule to the best answer of a
    validation query. Rules with negative weights speak against an answer and come last.

    The figures are AMIE's, on the training facts. Confidence: of the pairs (X, Y) that the body joins, the
    share that are facts of the head. Support: the number of these facts. PCA confidence: the same share among
    the X that have a fact of the head. Head coverage: support / facts of the head. For rules that join very
    many pairs they come from a sample and are marked "about"; --statistics counts them all.
    """
    from rnnlogic.explain.listing import CONSIDERED, Choice, rule_lines, same_rules

    if frontier is not None:
        _plot_frontier(run, frontier, as_json)
        return
    model = load_model(run, Basis(ids=ids))
    limits = narrowed.min_confidence, narrowed.min_support, narrowed.max_length
    most, relation = None if narrowed.everything else narrowed.most, narrowed.relation
    choice = Choice(most, narrowed.sort, *limits, use=True)
    with StageProgress() as progress:
        found = model.rules(relation, **asdict(choice), progress=Later(progress))
        same = same_rules(found, model.dataset.graph("train"))
    if not choice.considers_all(_number(model, relation)):
        print_note(f"only the {CONSIDERED} most promising rules of each relation were looked at")
    if statistics:
        _print_statistics(model, found, as_json)
    elif as_json:
        mark = preliminary_mark(model)
        print_json([rule.as_dict() | {"same_as": same.get(rule.text)} | mark for rule in found])
    elif not found:
        echo(f"there are no {'such ' if choice.is_narrow else ''}rules for {relation or 'any relation'}")
    else:
        totals = _rules_by_relation(model)
        for line in rule_lines(found, same, totals, model.dataset.vocab, terminal_width()):
            echo(line, **_style(line))


def _style(line: str) -> dict[str, Any]:
    """Relations in bold, what speaks against in red."""
    from rnnlogic.explain.listing import AGAINST

    if line and not line.startswith(" ") and line.endswith(("rule", "rules")):
        return {"bold": True}
    return {"fg": "red"} if line.strip() == AGAINST else {}


class Later:
    """Progress that is shown only once a command has taken its time."""

    def __init__(self, progress: Progress, seconds: float = 2.0) -> None:
        self.progress, self.due = progress, monotonic() + seconds

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """`done` of `total` steps of a stage are finished."""
        if monotonic() >= self.due:
            self.progress(stage, done, total, note)


def _rules_by_relation(model: RNNLogic) -> dict[str, int]:
    rules, vocab = model.learned.rules, model.dataset.vocab
    return {vocab.relation_name(head): len(rules.by_head(head)) for head in rules.head_relations().tolist()}


def _number(model: RNNLogic, relation: str | None) -> int:
    rules = model.learned.rules
    return len(rules) if relation is None else len(rules.by_head(model.dataset.vocab.relation_id(relation)))


def _plot_frontier(run: Path, output: Path, as_json: bool) -> None:
    from rnnlogic.runs.folder import Run

    points = plot_frontier(Run.open(run), output)
    if as_json:
        print_json({"file": str(output), "points": points})
    else:
        echo(f"frontier of {points} models written to {output}")


def _print_statistics(model: RNNLogic, found: Sequence[RuleInfo], as_json: bool) -> None:
    from rnnlogic.rules.rule import format_rule
    from rnnlogic.rules.ruleset import RuleSet
    from rnnlogic.rules.table import WEIGHT, RuleTable
    from rnnlogic.statistics.pairs import with_statistics

    dataset = model.dataset
    chosen = RuleSet.from_rules(rule.rule for rule in found)
    table = RuleTable(chosen, {WEIGHT: [rule.weight for rule in found]})
    with StageProgress() as progress:
        tick = partial(progress, "statistics")
        shown = dataset.vocab.with_ids() if as_json else dataset.vocab
        table = with_statistics(table, dataset.graph("train"), shown, tick=tick)
    names = dataset.vocab
    rows = [
        {"rule": format_rule(rule, names), "label": format_rule(rule, names, labels=True), **known}
        for rule, known in table.rows()
    ]
    if as_json:
        print_json(rows)
    else:
        print_table([*FIGURES, "rule", "example"], [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[Any]:
    return [*(row[name] for name in FIGURES), row["label"], next(iter(row["examples"]), "-")]


app.command("export", epilog="Example: rnnlogic rules runs/umls export --format anyburl -o rules.tsv")(
    export.export
)
app.command("convert", epilog="Example: rnnlogic rules convert rules.tsv --to text -o rules.txt --data umls")(
    export.convert
)


KINDS = (".png", ".svg", ".pdf")


def plot_frontier(run: Run, output: Path) -> int:
    """Draw the frontier of a run; gives its number of points."""
    if output.suffix.lower() not in KINDS:
        raise RNNLogicError(f"{output}: --frontier writes {', '.join(KINDS)} files")
    arrays = run.frontier()
    if arrays is None:
        raise RNNLogicError(
            f"{run.folder}: this run has no frontier; `rnnlogic fit` leaves one when it makes a compact model"
        )
    try:
        import matplotlib
    except ImportError:
        raise RNNLogicError("--frontier needs matplotlib: pip install '.[plots]' in the clone") from None
    matplotlib.use("Agg")
    try:
        _draw(arrays, output)
    except OSError as error:
        raise RNNLogicError(f"{output}: cannot be written ({error.strerror})") from None
    return len(arrays["rules"])


def _draw(arrays: Arrays, output: Path) -> None:
    import matplotlib.pyplot as plt

    rules, mrr, error, chosen = arrays["rules"], arrays["mrr"], arrays["error"], int(arrays["chosen"])
    figure, panel = plt.subplots(figsize=(6.4, 4.0))
    panel.plot(rules, mrr, marker=".", label="compact models")
    panel.fill_between(rules, mrr - error, mrr + error, alpha=0.2, label="standard error of the loss")
    full = float(mrr[0] + arrays["drop"][0])
    panel.axhline(full, linestyle="--", color="grey", label=f"full model, MRR {full:.3f}")
    kept = f"kept: {int(rules[chosen]):,} rules, MRR {mrr[chosen]:.3f}"
    panel.plot(rules[chosen], mrr[chosen], "o", color="black", label=kept)
    panel.set(xscale="log", xlabel="rules", ylabel="validation MRR")
    panel.grid(alpha=0.3)
    panel.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(output, dpi=120)
    plt.close(figure)
