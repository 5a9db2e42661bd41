"""Rule files: readable text, AnyBURL's lines, the authors' id files, JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats.anyburl import holds_anyburl, read_anyburl_rules, write_anyburl_rules
from rnnlogic.rules.formats.ids import holds_ids, read_id_rules, write_id_rules
from rnnlogic.rules.formats.lines import ImportReport, TableImport, read_lines
from rnnlogic.rules.formats.text import (
    holds_json,
    read_jsonl_rules,
    read_text_rules,
    write_jsonl_rules,
    write_text_rules,
)
from rnnlogic.rules.rule import Rule
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable

RuleFormat = Literal["text", "anyburl", "ids", "jsonl"]
_READERS = {
    "text": read_text_rules,
    "anyburl": read_anyburl_rules,
    "ids": read_id_rules,
    "jsonl": read_jsonl_rules,
}


class RuleImport(NamedTuple):
    """The rules of a file, and a report of what was dropped."""

    rules: RuleSet
    report: ImportReport


def read_rules(path: str | Path, vocab: Vocab, format: RuleFormat | None = None) -> RuleImport:  # noqa: A002
    """Read a rule file.

    Only the first of repeated rules is kept. Empty and trivial rules are kept in text and JSON Lines, and
    dropped in id files.

    Args:
        path: The file.
        vocab: The names that rules may use.
        format: How the file is written; by default its first line decides.

    Returns:
        The rules, and a report of what was dropped.

    Raises:
        RNNLogicError: If the file cannot be read, or a line is no rule of this format.

    Examples:
        >>> vocab = load_dataset("umls").vocab
        >>> write_rules("rules.txt", [parse_rule("affects <- causes & affects", vocab)], vocab)
        >>> rules, report = read_rules("rules.txt", vocab)
    """
    table, report = read_table(path, vocab, format)
    return RuleImport(table.rules, report)


def read_table(path: str | Path, vocab: Vocab, format: RuleFormat | None = None) -> TableImport:  # noqa: A002
    """Like `read_rules`, with the figures that the file gives for each rule."""
    path = Path(path)
    return _READERS[format or format_of(path)](path, vocab)


def format_of(path: str | Path) -> RuleFormat:
    """The format of a file by its first line that is not blank."""
    first = next((line for line in read_lines(Path(path)) if line.strip()), "#")
    if holds_json(first):
        return "jsonl"
    if holds_anyburl(first):
        return "anyburl"
    return "ids" if holds_ids(first) else "text"


def write_rules(
    path: str | Path, rules: Iterable[Rule], vocab: Vocab, style: Literal["long", "short"] = "long"
) -> None:
    """Write one rule per line as text; the write is atomic.

    Args:
        path: The file.
        rules: The rules by ids.
        vocab: The names of these ids.
        style: "long" has variables, "short" has none, as in `format_rule`.

    Raises:
        RNNLogicError: If the file cannot be written, or the vocabulary lacks an id of a rule.
    """
    write_text_rules(path, ((rule, {}) for rule in rules), vocab, style)


def write_table(path: str | Path, table: RuleTable, vocab: Vocab, format: RuleFormat) -> None:  # noqa: A002
    """Write rules with those of their figures that the format can hold; the write is atomic.

    AnyBURL lines need the columns predictions, support and confidence. An id file gets its dictionary beside
    it.
    """
    if format == "text":
        write_text_rules(path, table.rows(), vocab)
    elif format == "anyburl":
        write_anyburl_rules(path, table, vocab)
    elif format == "ids":
        write_id_rules(path, table, vocab)
    else:
        write_jsonl_rules(path, table, vocab)
