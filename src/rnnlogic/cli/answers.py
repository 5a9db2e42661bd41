"""`rnnlogic predict` and `rnnlogic explain`: answers, and why."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from rnnlogic.base.errors import DataError, RNNLogicError, UnknownNameError
from rnnlogic.base.text import cell
from rnnlogic.cli.models import load_model, preliminary_mark
from rnnlogic.cli.options import (
    AsJson,
    ChangedBasis,
    MissingOption,
    Proposals,
    RunFolder,
    TypesOption,
    grouped,
)
from rnnlogic.cli.output import (
    echo,
    print_json,
    print_note,
    print_row,
    print_table,
    print_text,
    terminal_width,
    write_file,
)

if TYPE_CHECKING:
    from rnnlogic.data.vocab import Vocab
    from rnnlogic.explain.answers import Answer as Answered
    from rnnlogic.render.tables import Listed

BLOCK = 1000  # queries answered at a time
TOLD = 3  # rows without an answer that are told one by one
COLUMNS = ("head", "relation", "rank", "answer", "score", "probability", "known", "label", "problem")

Query = tuple[str, str]  # head, relation


class Row(NamedTuple):
    """A row of --input."""

    line: int
    query: Query
    problem: str | None  # why it cannot be answered


Known = Literal["drop", "keep"]


@dataclass(frozen=True)
class Questions:
    """What is asked, and how many answers are shown."""

    head: Annotated[str | None, typer.Option(help="Entity to start from.")] = None
    relation: Annotated[str | None, typer.Option(help="Relation; NAME^-1 asks the other way.")] = None
    tail: Annotated[str | None, typer.Option(help="Ask for the heads of facts with this tail.")] = None
    queries: Annotated[
        str | None, typer.Option("--input", help="File of head<TAB>relation lines; - for standard input.")
    ] = None
    most: Annotated[int, typer.Option(help="Answers to show.", min=1)] = 10
    known: Annotated[Known, typer.Option(help="Leave out answers that are facts already, or keep them.")] = (
        "drop"
    )


@grouped
def predict(
    run: RunFolder,
    asked: Questions,
    basis: ChangedBasis,
    proposals: Proposals,
    as_json: AsJson = False,
) -> None:
    """Predict missing facts, with probabilities. These are the best answers of (head, relation, ?).

    With --input there is one line per answer (columns separated by tabs), or with --json one per query. Rows
    with a name that the graph lacks are marked, the others answered; the exit code is then 1. Answers that
    break a constraint are left out and counted.
    """
    from rnnlogic.calibrate.missing import parsed_missing
    from rnnlogic.explain.asking import Question

    model = load_model(run, basis)
    vocab, known = model.dataset.vocab, asked.known
    how = Question(
        most=asked.most,
        facts=basis.evidence,
        known=known,
        allow_violations=proposals.allow_violations,
        missing=parsed_missing(proposals.missing),
    )
    if asked.queries is None:
        question = replace(how, head=asked.head, relation=asked.relation, tail=asked.tail)
        query, best = question.forward(vocab), model.answers([question])[0]
        meaning = model.level(how.facts, missing=how.missing).sentence()
        if as_json:
            print_json(_as_dict(query, best, vocab) | preliminary_mark(model))
        else:
            _print_answers(query, best, known, meaning, vocab)
        return
    if asked.head or asked.relation or asked.tail:
        raise RNNLogicError("give --input, or --relation with --head or --tail, not both")
    from rnnlogic.render.tables import Listed

    rows, left_out = _read_queries(asked.queries, vocab), 0
    if not as_json:
        print_row(COLUMNS)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        wanted = [row.query for row in block if row.problem is None]
        found = iter(model.answers([replace(how, head=head, relation=name) for head, name in wanted]))
        for row in block:
            answers: Listed[Answered] = Listed() if row.problem else next(found)
            left_out += sum(answers.left_out.values())
            _print_lines(row, answers, as_json, vocab, proposals.excel_safe)
    if left_out and not as_json:
        print_note(violations(left_out))
    _tell_unanswered(asked.queries, [row for row in rows if row.problem])


@dataclass(frozen=True)
class Answer:
    """The fact that is explained, perhaps against another."""

    head: Annotated[str, typer.Option(help="Head of the fact.")]
    relation: Annotated[str, typer.Option(help="Relation; NAME^-1 for its inverse.")]
    tail: Annotated[str, typer.Option(help="Tail of the fact.")]
    instead: Annotated[
        str | None, typer.Option(metavar="TAIL", help="Why not this tail: explain the difference.")
    ] = None


@dataclass(frozen=True)
class Shown:
    """How much of an explanation is shown, and where."""

    everything: Annotated[
        bool, typer.Option("--all", help="Show every idea and rule, not just one screen.")
    ] = False
    paths: Annotated[int, typer.Option(help="Paths of a rule, with --all, --json and --html.", min=0)] = 3
    rules: Annotated[int, typer.Option(help="Strongest rules that come with paths; 0 for all.", min=0)] = 10
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with a picture of the paths.")
    ] = None
    types: TypesOption = None
    missing: MissingOption = None


@grouped
def explain(
    run: RunFolder,
    answer: Answer,
    shown: Shown,
    basis: ChangedBasis,
    as_json: AsJson = False,
) -> None:
    """Explain an answer on one screen.

    The first reason is the shortest rule whose record is close to the best; others rest on other facts. For
    an answer in first place, few facts are named that it depends on. --all and JSON have everything: ideas
    that sum to the score, and the rules of each.
    """
    from rnnlogic.calibrate.missing import parsed_missing
    from rnnlogic.explain.asking import Question

    model, evidence = load_model(run, basis), basis.evidence
    asked = answer.head, answer.relation, answer.tail
    question = Question(
        head=answer.head,
        relation=answer.relation,
        tail=answer.tail,
        instead=answer.instead,
        facts=evidence,
        missing=parsed_missing(shown.missing),
        types=shown.types,
    )
    told = model.why(question, shown.paths, shown.rules or None)
    decided = model.decision(*asked)
    if as_json:
        mark = {} if decided is None else {"decision": decided.as_dict()}
        print_json(told.as_dict() | preliminary_mark(model) | mark)
    else:
        if decided is not None:
            print_note(decided.text())
        for number, line in enumerate(told.lines(shown.everything, terminal_width())):
            echo(line, **_style(line, number == 0))
        is_reached = bool(getattr(told, "contributions", True))
        if not is_reached and evidence == "train" and basis.graph is None:
            print_note("the known facts are those of train only: --facts all")
    if shown.page is not None:
        write_file(shown.page, told.page())
        echo(f"page written to {shown.page}", err=True)


NOTHING = "against   nothing"


def _style(line: str, is_title: bool) -> dict[str, Any]:
    """The question in bold, what speaks for and against it in colours."""
    if is_title:
        return {"bold": True}
    if line.startswith("because "):
        return {"fg": "green", "bold": True}
    if line.startswith(("Against it (", "against ")) and line != NOTHING:
        return {"fg": "red", "bold": True}
    return {"fg": "green", "bold": True} if line.startswith("For ") and line.endswith(")") else {}


def violations(number: int) -> str:
    """How many answers were left out because they break constraints."""
    what = "answer that breaks a constraint was" if number == 1 else "answers that break constraints were"
    return f"{number:,} {what} left out; --allow-violations keeps them."


def _read_queries(path: str, vocab: Vocab) -> list[Row]:
    """All questions of a file, checked before the first is answered."""
    lines = _lines(path)
    return [_parse(path, number, line, vocab) for number, line in enumerate(lines, 1) if line.strip()]


def _lines(path: str) -> Iterable[str]:
    if path == "-":
        return sys.stdin.read().splitlines()
    try:
        return Path(path).read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DataError("not UTF-8 text; save the file in that encoding", path, line) from None


def _parse(path: str, number: int, line: str, vocab: Vocab) -> Row:
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) != 2 or not all(fields):
        raise DataError(f"expected head<TAB>relation, found {len(fields)} column(s)", path, number)
    head, relation = fields
    problems = []
    for known in (partial(vocab.entity_id, head), partial(vocab.relation_id, relation)):
        try:
            known()
        except UnknownNameError as error:
            problems.append(str(error))
    return Row(number, (head, relation), "; ".join(problems) or None)


def _tell_unanswered(path: str, rows: list[Row]) -> None:
    """Say which rows were left unanswered, and let the exit code say so."""
    if not rows:
        return
    for row in rows[:TOLD]:
        echo(f"warning: {path}:{row.line}: {row.problem}", err=True)
    more = "; the column problem names them all" if len(rows) > TOLD else ""
    echo(f"warning: {len(rows):,} row(s) left unanswered{more}", err=True)
    raise typer.Exit(1)  # exit code if rows of --input were left unanswered


def _print_answers(query: Query, answers: Listed[Answered], known: Known, meaning: str, vocab: Vocab) -> None:
    from rnnlogic.calibrate.level import shown

    left_out = ", facts that are known left out" if known == "drop" else ""
    head, relation = vocab.entity_id(query[0]), vocab.relation_id(query[1])
    echo(f"({vocab.entity_title(head)}, {vocab.relation_label(relation)}, ?){left_out}")
    broken = sum(answers.left_out.values())
    if not answers:
        echo(f"  {violations(broken)}" if broken else "  no rule reaches an answer")
        return
    rows = [
        [i, vocab.entity_title(vocab.entity_id(a.entity)), shown(a.probability), a.score]
        for i, a in enumerate(answers, 1)
    ]
    headers = ["rank", "answer", "probability", "score"]
    if known == "keep":
        headers.append("known")
        rows = [[*row, "known" if a.is_known else ""] for row, a in zip(rows, answers, strict=True)]
    print_table(headers, rows)
    echo()
    if broken:
        print_text(violations(broken))
    print_text(meaning)


def _print_lines(row: Row, answers: Listed[Answered], as_json: bool, vocab: Vocab, excel_safe: bool) -> None:
    if as_json:
        told = _as_dict(row.query, answers, vocab) if row.problem is None else _unanswered(row)
        print_json(told, indent=None)
        return
    asked = [cell(name, excel_safe) for name in row.query]
    if row.problem is not None:
        print_row([*asked, *[""] * (len(COLUMNS) - len(asked) - 1), row.problem])
        return
    for rank, answer in enumerate(answers, 1):
        numbers = f"{answer.score:.6g}", f"{answer.probability:.6g}", str(int(answer.is_known))
        entity, label = (cell(name, excel_safe) for name in (answer.entity, answer.label))
        print_row([*asked, str(rank), entity, *numbers, label, ""])


def _as_dict(query: Query, answers: Listed[Answered], vocab: Vocab) -> dict[str, object]:
    """The question with the names of the data, its answers, and labels under their own key."""
    head, relation = vocab.entity_id(query[0]), vocab.relation_id(query[1])
    labels = vocab.labels_of([head, *(vocab.entity_id(a.entity) for a in answers)], [relation])
    return {
        "head": vocab.entities[head],
        "relation": vocab.relation_name(relation),
        "answers": [answer.as_dict() for answer in answers],
        "left_out": dict(answers.left_out),
        **({"labels": labels} if any(labels.values()) else {}),
    }


def _unanswered(row: Row) -> dict[str, object]:
    return {
        "head": row.query[0],
        "relation": row.query[1],
        "answers": [],
        "left_out": {},
        "problem": row.problem,
    }
