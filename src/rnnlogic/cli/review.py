"""`rnnlogic review`: what people decided about facts, and deciding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli.options import AsJson, ExcelSafe, RunFolder, grouped
from rnnlogic.cli.output import echo, print_json, print_note, print_table

if TYPE_CHECKING:
    from rnnlogic.model import RNNLogic
    from rnnlogic.review.decision import Decision

FACT = "HEAD RELATION TAIL"
Three = tuple[str, str, str]


@dataclass(frozen=True)
class Decided:
    """Decisions about facts, and who makes them."""

    accept: Annotated[Three | None, typer.Option(metavar=FACT, help="This fact is true.")] = None
    reject: Annotated[Three | None, typer.Option(metavar=FACT, help="This fact is false.")] = None
    other_reason: Annotated[
        Three | None, typer.Option(metavar=FACT, help="It is true, but not for the reason that was shown.")
    ] = None
    unsure: Annotated[Three | None, typer.Option(metavar=FACT, help="Nobody can tell.")] = None
    comment: Annotated[str, typer.Option(help="Why.")] = ""
    by: Annotated[str, typer.Option(metavar="NAME", help="Who decides; with --undo, whose decision.")] = ""

    @property
    def facts(self) -> dict[str, Three]:
        """The fact of each verdict that was given."""
        given = {
            "accept": self.accept,
            "reject": self.reject,
            "other-reason": self.other_reason,
            "unsure": self.unsure,
        }
        return {verdict: fact for verdict, fact in given.items() if fact}


@grouped
def review(
    run: RunFolder,
    decided: Decided,
    undo: Annotated[bool, typer.Option("--undo", help="Take back the last decision.")] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write decisions as a table (.csv), or accepted facts with rules (.nt, .ttl, .cypher).",
        ),
    ] = None,
    excel_safe: ExcelSafe = False,
    as_json: AsJson = False,
) -> None:
    """Decide about facts, or list what was decided.

    Decisions are in RUN.decisions.jsonl, beside the run. Rejected facts are gone from all answers at once,
    and accepted ones are known facts. `rnnlogic fit --review FILE` learns from them.
    """
    from rnnlogic.review.log import DecisionLog
    from rnnlogic.runs.folder import Run

    if bool(decided.facts) + undo + (export is not None) > 1:
        raise RNNLogicError("give decisions, --undo or --export, not several of them")
    if decided.facts or undo:
        _print(_changed(run, decided, undo), as_json)
        return
    Run.open(run)  # says what is wrong with the folder
    decisions = DecisionLog.of_run(run).read()
    for line in decisions.warnings():
        print_note(line)
    if export is not None:
        from rnnlogic.complete.accepted import write_decisions

        number = write_decisions(export, decisions, excel_safe)
        echo(
            f"{number:,} {'decisions' if export.suffix == '.csv' else 'facts'} written to {export}", err=True
        )
    else:
        _print(list(decisions.current().values()), as_json)


def _changed(run: Path, decided: Decided, undo: bool) -> list[Decision]:
    """Decide, or take back the last decision."""
    from rnnlogic.model import RNNLogic
    from rnnlogic.review.decision import checked

    model: RNNLogic = RNNLogic.load(run)
    by, comment = decided.by, decided.comment
    if not undo:
        return [model.review(*fact, checked(verdict), comment, by) for verdict, fact in decided.facts.items()]
    last = model.undo_review(by=by)
    if last is None:
        raise RNNLogicError(f"{run}: there is no decision{f' by {by}' if by else ''} to take back")
    echo("taken back:", err=True)
    return [last]


def _print(decisions: list[Decision], as_json: bool) -> None:
    if as_json:
        print_json([one.as_dict() for one in decisions])
    elif not decisions:
        echo("nothing was decided yet")
    else:
        headers = ["verdict", "head", "relation", "tail", "by", "time", "comment"]
        rows = [
            [one.verdict, *one.fact, one.by, one.time[:16].replace("T", " "), one.comment]
            for one in decisions
        ]
        print_table(headers, rows)
