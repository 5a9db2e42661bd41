"""Our own rule files: text for people, and JSON Lines with all figures.

Text has one rule per line; blank lines and `#` comments are skipped. A comment at the end of a line may hold
figures of its rule:

    hobby(X,Y) <- friend(X,Z) & hobby(Z,Y)  # support=5 confidence=0.5

JSON Lines have one object per rule, `{"rule": "hobby(X,Y) <- ...", "weight": 0.8, "support": 12, ...}`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats.lines import FIGURES, ImportReport, TableImport, numbered, read_lines, write_text
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import Rule, format_rule, rule_label
from rnnlogic.rules.ruleset import parse_lines
from rnnlogic.rules.table import WEIGHT, RuleTable

RULE, LABEL = "rule", "label"  # keys in JSON Lines; the label is for people and is not read back
_NAME, _NUMBER = "|".join(FIGURES), r"\d{1,19}(?:\.\d{1,20})?(?:e-\d{1,3}|e\+?\d{1,2})?"
_FIGURE = re.compile(f"({_NAME})=({_NUMBER})")
# A quoted name ends with its quote, so nothing but a comment matches at the end of a line that holds a rule.
_COMMENT = re.compile(rf"\s#(?:\s+(?:{_NAME})=(?:{_NUMBER}))+\s*$")


def read_text_rules(path: Path, vocab: Vocab) -> TableImport:
    """Read rules as `parse_rule` does, with the figures in comments; empty and trivial rules are kept."""
    rows = [(rule, _figures(line)) for line, rule in parse_lines(read_lines(path), vocab, path)]
    return _imported(rows)


def write_text_rules(
    path: str | Path,
    rows: Iterable[tuple[Rule, Mapping[str, Any]]],
    vocab: Vocab,
    style: Literal["long", "short"] = "long",
) -> None:
    """Write one rule per line as `format_rule` does, with its statistics in a comment.

    Where relations have labels, a comment line before the rule shows it with them.
    """
    lines = list[str]()
    for rule, known in rows:
        label = rule_label(rule, vocab, style)
        lines += [] if label is None else [f"# {label}\n"]
        lines.append(f"{format_rule(rule, vocab, style)}{_comment(known)}\n")
    write_text(path, "".join(lines))


def _comment(known: Mapping[str, Any]) -> str:
    figures = [f"{name}={known[name]!r}" for name in FIGURES if name in known]
    return f"  # {' '.join(figures)}" if figures else ""


def _figures(line: str) -> dict[str, Any]:
    comment = _COMMENT.search(line)
    found = _FIGURE.findall(comment.group()) if comment else []
    return {name: int(text) if text.isdigit() else float(text) for name, text in found}


def read_jsonl_rules(path: Path, vocab: Vocab) -> TableImport:
    """Read rules with all their figures."""
    return _imported([_row(line, vocab, place) for place, line in numbered(read_lines(path), path)])


def write_jsonl_rules(path: str | Path, table: RuleTable, vocab: Vocab) -> None:
    """Write rules with all their figures."""
    lines = list[str]()
    for rule, known in table.rows():
        label = rule_label(rule, vocab)
        row = {RULE: format_rule(rule, vocab), **known} | ({} if label is None else {LABEL: label})
        lines.append(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    write_text(path, "".join(lines))


def holds_json(line: str) -> bool:
    """Whether a line looks like a JSON object."""
    return line.lstrip().startswith("{")


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:  # a whole number of 400 digits
        return False


def _row(line: str, vocab: Vocab, place: str) -> tuple[Rule, dict[str, Any]]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise RuleError(f"{place}: column {error.colno}: not JSON ({error.msg.lower()})") from None
    except (ValueError, RecursionError) as error:  # numbers of 5,000 digits, deep nesting
        raise RuleError(f"{place}: not JSON ({str(error).partition(';')[0].lower()})") from None
    if not isinstance(row, dict) or not isinstance(row.get(RULE), str):
        raise RuleError(f'{place}: expected an object with the text of a rule, {{"{RULE}": "..."}}')
    row.pop(LABEL, None)
    weight = row.get(WEIGHT, 0.0)
    if not _is_number(weight):
        raise RuleError(f"{place}: expected a number for {WEIGHT}, found {weight!r:.40}")
    try:
        return parse_rule(row.pop(RULE), vocab), row
    except RuleError as error:
        raise RuleError(f"{place}: {error}") from None


def _imported(rows: list[tuple[Rule, dict[str, Any]]]) -> TableImport:
    """All rules of a file, and how many were there twice."""
    table = RuleTable.from_rows(rows)
    return TableImport(table, ImportReport(len(rows), len(table), len(rows) - len(table)))
