"""Writing new facts: .tsv, .csv, .jsonl, .nt (N-Triples) and .parquet; a file appears whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from rnnlogic.answering.completion.complete import NewFact
from rnnlogic.base.atomic import write_atomically
from rnnlogic.base.errors import DataError
from rnnlogic.base.text import cell
from rnnlogic.rules.programs.sparql import iri

SPREADSHEETS = (".tsv", ".csv")
COLUMNS = ("head", "relation", "tail", "probability", "rule", "path")
PARQUET_TYPES = {name: "DOUBLE" if name == "probability" else "VARCHAR" for name in COLUMNS}


def check_output(path: Path) -> None:
    """Refuse a file that could not be written, before any work is done."""
    if path.suffix not in _WRITERS:
        raise DataError(f"unknown kind of file {path.suffix!r}; choose {', '.join(_WRITERS)}", path)
    if not path.resolve().parent.is_dir():
        raise DataError("its folder does not exist; make it first", path)
    if path.suffix == ".parquet":
        _import_duckdb(path)


def write_facts(path: Path, facts: Iterable[NewFact], excel_safe: bool = False) -> list[NewFact]:
    """Write facts as they come, in the format of the file's ending; gives them back.

    `excel_safe` puts a ' before names in .tsv and .csv files that a spreadsheet would take for a formula.
    """
    check_output(path)
    written: list[NewFact] = []

    def noted() -> Iterator[NewFact]:
        for fact in facts:
            written.append(fact)
            yield fact

    def shielded(new: Iterator[NewFact]) -> Iterator[NewFact]:
        return map(_shielded, new) if excel_safe and path.suffix in SPREADSHEETS else new

    try:
        write_atomically(path, lambda file: _WRITERS[path.suffix](path, shielded(noted()), file))
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror or error})", path) from None
    return written


def _shielded(fact: NewFact) -> NewFact:
    head, relation, tail = (cell(name, True) for name in (fact.head, fact.relation, fact.tail))
    rule, path = (text and cell(text, True) for text in (fact.rule, fact.path))
    return replace(fact, head=head, relation=relation, tail=tail, rule=rule, path=path)


def _write_tsv(path: Path, facts: Iterator[NewFact], file: BinaryIO) -> None:
    file.write(("\t".join(COLUMNS) + "\n").encode())
    for fact in facts:
        cells = _cells(fact)
        for text in cells:
            if set(text) & set("\t\r\n"):
                problem = f"{text!r} holds a tab or a line break, which .tsv cannot express; .jsonl can"
                raise DataError(problem, path)
        file.write(("\t".join(cells) + "\n").encode())


def _write_csv(path: Path, facts: Iterator[NewFact], file: BinaryIO) -> None:
    """With quotes where a name needs them, as spreadsheets read it."""
    del path
    for cells in chain([list(COLUMNS)], map(_cells, facts)):
        line = io.StringIO()
        csv.writer(line).writerow(cells)  # line ends \r\n, as RFC 4180 has it
        file.write(line.getvalue().encode())


def _cells(fact: NewFact) -> list[str]:
    probability = f"{fact.probability:.6f}"
    return [fact.head, fact.relation, fact.tail, probability, fact.rule or "", fact.path or ""]


def _write_jsonl(path: Path, facts: Iterator[NewFact], file: BinaryIO) -> None:
    del path
    for fact in facts:
        file.write((json.dumps(fact.as_dict(), ensure_ascii=False) + "\n").encode())


def _write_nt(path: Path, facts: Iterator[NewFact], file: BinaryIO) -> None:
    """One triple a line; the line before it is a comment with probability and rule."""
    del path
    for fact in facts:
        note = f"# {fact.probability:.6f} {' '.join((fact.rule or '').splitlines())}".rstrip()
        triple = " ".join(iri(name) for name in (fact.head, fact.relation, fact.tail))
        file.write(f"{note}\n{triple} .\n".encode())


def _write_parquet(path: Path, facts: Iterator[NewFact], file: BinaryIO) -> None:
    """Through duckdb, which reads JSON Lines faster than it takes rows from Python."""
    duckdb = _import_duckdb(path)
    with tempfile.TemporaryDirectory() as folder:
        lines, table = Path(folder, "facts.jsonl"), Path(folder, "facts.parquet")
        with lines.open("wb") as rows:
            _write_jsonl(path, facts, rows)
        columns = ", ".join(f"{name}: '{kind}'" for name, kind in PARQUET_TYPES.items())
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


_WRITERS: dict[str, Callable[[Path, Iterator[NewFact], BinaryIO], None]] = {
    ".tsv": _write_tsv,
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".nt": _write_nt,
    ".parquet": _write_parquet,
}
