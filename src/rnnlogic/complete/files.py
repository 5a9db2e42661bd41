"""Writing new facts: .tsv, .csv, .jsonl, .nt (N-Triples) and .parquet; a file appears whole or not at all."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rnnlogic.base.errors import DataError
from rnnlogic.base.files import write_atomically
from rnnlogic.base.text import cell, valid_json
from rnnlogic.complete.complete import NewFact
from rnnlogic.rules.programs.sparql import iri

COLUMNS = ("head", "relation", "tail", "probability", "rule", "path")
LABELLED = ("head", "relation", "tail", "rule", "path")  # columns that have a second one, with labels


class Form(NamedTuple):
    """How tables look."""

    labels: bool = False
    excel_safe: bool = False


def check_output(path: Path) -> None:
    """Refuse a file that could not be written, before any work is done."""
    if path.suffix not in _WRITERS:
        raise DataError(f"unknown kind of file {path.suffix!r}; choose {', '.join(_WRITERS)}", path)
    if not path.resolve().parent.is_dir():
        raise DataError("its folder does not exist; make it first", path)
    if path.suffix == ".parquet":
        _import_duckdb(path)


def write_facts(
    path: Path, facts: Iterable[NewFact], labels: bool = False, excel_safe: bool = False
) -> list[NewFact]:
    """Write facts as they come, in the format of the file's ending; gives them back.

    With `labels` tables get further columns with what people see: head_label, relation_label, ...
    `excel_safe` puts a ' before texts in .tsv and .csv files that a spreadsheet would take for a formula.
    """
    check_output(path)
    written: list[NewFact] = []

    def noted() -> Iterator[NewFact]:
        for fact in facts:
            written.append(fact)
            yield fact

    form = Form(labels, excel_safe)
    try:
        write_atomically(path, lambda file: _WRITERS[path.suffix](path, noted(), file, form))
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror or error})", path) from None
    return written


def facts_as(suffix: str, facts: Iterable[NewFact]) -> bytes:
    """The content of a file of facts with this ending."""
    content = io.BytesIO()
    _WRITERS[suffix](Path(f"facts{suffix}"), iter(facts), content, Form())
    return content.getvalue()


def _write_tsv(path: Path, facts: Iterator[NewFact], file: BinaryIO, form: Form) -> None:
    file.write(("\t".join(_columns(form)) + "\n").encode())
    for fact in facts:
        cells = _shielded(fact, form)
        for text in cells:
            if set(text) & set("\t\r\n"):
                problem = f"{text!r} holds a tab or a line break, which .tsv cannot express; .jsonl can"
                raise DataError(problem, path)
        file.write(("\t".join(cells) + "\n").encode())


def _write_csv(path: Path, facts: Iterator[NewFact], file: BinaryIO, form: Form) -> None:
    """With quotes where a name needs them, as spreadsheets read it."""
    del path
    for cells in chain([_columns(form)], (_shielded(fact, form) for fact in facts)):
        line = io.StringIO()
        csv.writer(line).writerow(cells)  # line ends \r\n, as RFC 4180 has it
        file.write(line.getvalue().encode())


def _columns(form: Form) -> list[str]:
    return [*COLUMNS, *(f"{name}_label" for name in LABELLED if form.labels)]


def _cells(fact: NewFact, form: Form) -> list[str]:
    probability = f"{fact.probability:.6f}"
    names = [fact.head, fact.relation, fact.tail, probability, fact.rule or "", fact.path or ""]
    return names + [fact.shown(name) or "" for name in LABELLED if form.labels]


def _shielded(fact: NewFact, form: Form) -> list[str]:
    return [cell(text, form.excel_safe) for text in _cells(fact, form)]


def _write_jsonl(path: Path, facts: Iterator[NewFact], file: BinaryIO, form: Form) -> None:
    del path, form  # every fact comes with its labels
    for fact in facts:
        file.write((valid_json(fact.as_dict()) + "\n").encode())


def _write_nt(path: Path, facts: Iterator[NewFact], file: BinaryIO, form: Form) -> None:
    """One triple a line; the lines before it are comments: with labels, and with probability and rule."""
    del path
    for fact in facts:
        note = f"# {fact.probability:.6f} {_one_line(fact.rule or '')}".rstrip()
        if form.labels:
            file.write(f"# {_one_line(_words(fact))}\n".encode())
        triple = " ".join(iri(name) for name in (fact.head, fact.relation, fact.tail))
        file.write(f"{note}\n{triple} .\n".encode())


def _words(fact: NewFact) -> str:
    """Fact and rule as people see them."""
    words = f"{fact.shown('head')} {fact.shown('relation')} {fact.shown('tail')}"
    return words if fact.rule is None else f"{words}: {fact.shown('rule')}"


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _write_parquet(path: Path, facts: Iterator[NewFact], file: BinaryIO, form: Form) -> None:
    """Through duckdb, which reads JSON Lines faster than it takes rows from Python."""
    duckdb = _import_duckdb(path)
    with tempfile.TemporaryDirectory() as folder:
        lines, table = Path(folder, "facts.jsonl"), Path(folder, "facts.parquet")
        with lines.open("wb") as rows:
            for fact in facts:
                cells = dict(zip(_columns(form), _cells(fact, form), strict=True))
                row = cells | {"probability": fact.probability, "rule": fact.rule, "path": fact.path}
                rows.write((valid_json(row) + "\n").encode())
        kinds = {name: "DOUBLE" if name == "probability" else "VARCHAR" for name in _columns(form)}
        columns = ", ".join(f"{name}: '{kind}'" for name, kind in kinds.items())
        source = f"read_json('{lines}', format='newline_delimited', columns={{{columns}}})"
        with duckdb.connect() as database:
            database.sql(f"COPY (SELECT * FROM {source}) TO '{table}' (FORMAT parquet)")
        file.write(table.read_bytes())


def _import_duckdb(path: Path) -> Any:
    try:
        import duckdb
    except ImportError:
        raise DataError("Parquet files are written by duckdb: pip install duckdb", path) from None
    return duckdb


_WRITERS: dict[str, Callable[[Path, Iterator[NewFact], BinaryIO, Form], None]] = {
    ".tsv": _write_tsv,
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".nt": _write_nt,
    ".parquet": _write_parquet,
}
