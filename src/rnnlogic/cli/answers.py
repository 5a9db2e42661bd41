"""`rnnlogic predict` and `rnnlogic explain`: answers, and why."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from rnnlogic.base.atomic import write_atomically
from rnnlogic.base.errors import DataError, RNNLogicError, UnknownNameError
from rnnlogic.base.text import cell
from rnnlogic.cli.models import load_model
from rnnlogic.cli.options import AsJson, EvidenceChoice, EvidenceOption, ExcelSafe, GraphOption, RunFolder
from rnnlogic.cli.output import echo, print_json, print_row, print_table

if TYPE_CHECKING:
    from rnnlogic.answering.answers import Answer
    from rnnlogic.data.vocab import Vocab

BLOCK = 1000  # queries answered at a time
COLUMNS = ("head", "relation", "rank", "answer", "score", "probability", "known")

Query = tuple[str, str]  # head, relation


class KnownChoice(StrEnum):
    """What happens to answers that are facts already."""

    drop = "drop"
    keep = "keep"


def predict(
    run: RunFolder,
    head: Annotated[str | None, typer.Option(help="Entity to start from.")] = None,
    relation: Annotated[str | None, typer.Option(help="Relation; NAME^-1 asks the other way.")] = None,
    tail: Annotated[str | None, typer.Option(help="Ask for the heads of facts with this tail.")] = None,
    queries: Annotated[
        str | None, typer.Option("--input", help="File of head<TAB>relation lines; - for standard input.")
    ] = None,
    top: Annotated[int, typer.Option(help="Answers to show.", min=1)] = 10,
    evidence: EvidenceOption = EvidenceChoice.train,
    known: Annotated[
        KnownChoice, typer.Option(help="Leave out answers that are facts already, or keep them.")
    ] = KnownChoice.drop,
    graph: GraphOption = None,
    excel_safe: ExcelSafe = False,
    as_json: AsJson = False,
) -> None:
    """Predict missing facts: the best answers of (head, relation, ?), with probabilities.

    With --input there is one line per answer (columns separated by tabs), or with --json one per query.
    """
    model = load_model(run, graph)
    vocab = model.dataset.vocab
    if queries is None:
        query = _query(head, relation, tail, vocab)
        answers = model.predict(*query, top, evidence.value, known.value)
        _print_answers(query, answers, known, as_json, model.level(evidence.value).sentence())
        return
    if head or relation or tail:
        raise RNNLogicError("give --input, or --relation with --head or --tail, not both")
    wanted = _read_queries(queries, vocab)
    if not as_json:
        print_row(COLUMNS)
    for start in range(0, len(wanted), BLOCK):
        block = wanted[start : start + BLOCK]
        for query, answers in zip(
            block, model.predict_many(block, top, evidence.value, known.value), strict=True
        ):
            _print_lines(query, answers, as_json, excel_safe)


def explain(
    run: RunFolder,
    head: Annotated[str, typer.Option(help="Head of the fact.")],
    relation: Annotated[str, typer.Option(help="Relation; NAME^-1 for its inverse.")],
    tail: Annotated[str, typer.Option(help="Tail of the fact.")],
    instead: Annotated[
        str | None, typer.Option(metavar="TAIL", help="Why not this tail: explain the difference.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every idea and rule, not just one screen.")
    ] = False,
    paths: Annotated[int, typer.Option(help="Paths of a rule, with --all, --json and --html.", min=0)] = 3,
    rules: Annotated[int, typer.Option(help="Strongest rules that come with paths; 0 for all.", min=0)] = 10,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with a picture of the paths.")
    ] = None,
    evidence: EvidenceOption = EvidenceChoice.train,
    graph: GraphOption = None,
    as_json: AsJson = False,
) -> None:
    """Explain an answer on one screen: probability, rank, ideas, their strongest rules with a path each.

    Ideas sum to the score, and rules to their idea; what speaks against the answer comes last. For an answer
    in first place, few facts are named that it hangs on. JSON has everything, the strongest rules with paths.
    """
    model = load_model(run, graph)
    told = (
        model.explain(head, relation, tail, paths, evidence.value, rules or None)
        if instead is None
        else model.explain(head, relation, tail, paths, evidence.value, rules or None, instead=instead)
    )
    if as_json:
        print_json(told.as_dict())
    else:
        for line in told.lines(everything, _width()):
            echo(line)
    if page is not None:
        _write(page, told.page())


def _width() -> int:
    """Columns of the terminal within reason; 80 where there is none."""
    return min(max(get_terminal_size().columns, 60), 120) if sys.stdout.isatty() else 80


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror})", str(path)) from None
    echo(f"page written to {path}", err=True)


def _query(head: str | None, relation: str | None, tail: str | None, vocab: Vocab) -> Query:
    """The question as (head, relation, ?)."""
    if relation is None or (head is None) == (tail is None):
        hint = "; `rnnlogic explain` takes both ends" if head and tail else ""
        raise RNNLogicError(f"give --relation with either --head or --tail{hint}")
    if tail is None:
        return str(head), relation
    return tail, vocab.relation_name(vocab.inverse(vocab.relation_id(relation)))


def _read_queries(path: str, vocab: Vocab) -> list[Query]:
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


def _parse(path: str, number: int, line: str, vocab: Vocab) -> Query:
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) != 2 or not all(fields):
        raise DataError(f"expected head<TAB>relation, found {len(fields)} column(s)", path, number)
    try:
        vocab.entity_id(fields[0])
        vocab.relation_id(fields[1])
    except UnknownNameError as error:
        raise DataError(str(error), path, number) from None
    return fields[0], fields[1]


def _print_answers(
    query: Query, answers: list[Answer], known: KnownChoice, as_json: bool, meaning: str
) -> None:
    from rnnlogic.answering.calibration.level import shown

    if as_json:
        print_json(_as_dict(query, answers))
        return
    left_out = ", facts that are known left out" if known is KnownChoice.drop else ""
    echo(f"({query[0]}, {query[1]}, ?){left_out}")
    if not answers:
        echo("  no rule reaches an answer")
        return
    rows = [[i, a.label, shown(a.probability), a.score] for i, a in enumerate(answers, 1)]
    headers = ["rank", "answer", "probability", "score"]
    if known is KnownChoice.keep:
        headers.append("known")
        rows = [[*row, "known" if a.is_known else ""] for row, a in zip(rows, answers, strict=True)]
    print_table(headers, rows)
    echo("\n" + "\n".join(textwrap.wrap(meaning, _width())))


def _print_lines(query: Query, answers: list[Answer], as_json: bool, excel_safe: bool) -> None:
    if as_json:
        print_json(_as_dict(query, answers), indent=None)
        return
    asked = [cell(name, excel_safe) for name in query]
    for rank, answer in enumerate(answers, 1):
        numbers = f"{answer.score:.6g}", f"{answer.probability:.6g}", str(int(answer.is_known))
        print_row([*asked, str(rank), cell(answer.entity, excel_safe), *numbers])


def _as_dict(query: Query, answers: list[Answer]) -> dict[str, object]:
    return {"head": query[0], "relation": query[1], "answers": [answer.as_dict() for answer in answers]}
