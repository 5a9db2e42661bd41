"""JSON Lines: one object per rule, `{"rule": "hobby(X,Y) <- ...", "weight": 0.8, "support": 12, ...}`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats.lines import ImportReport, TableImport, numbered, read_lines, write_text
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import Rule, format_rule, rule_label
from rnnlogic.rules.table import WEIGHT, RuleTable

RULE, LABEL = "rule", "label"  # the label is for people; it is not read back


def read_jsonl_rules(path: Path, vocab: Vocab) -> TableImport:
    """Read rules with all their figures."""
    rows = [_row(line, vocab, place) for place, line in numbered(read_lines(path), path)]
    table = RuleTable.from_rows(rows)
    return TableImport(table, ImportReport(len(rows), len(table), len(rows) - len(table)))


def write_jsonl_rules(path: str | Path, table: RuleTable, vocab: Vocab) -> None:
    """Write rules with all their figures."""
    rows = ({RULE: format_rule(rule, vocab), **known, **_label(rule, vocab)} for rule, known in table.rows())
    write_text(path, "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows))


def _label(rule: Rule, vocab: Vocab) -> dict[str, str]:
    label = rule_label(rule, vocab)
    return {} if label is None else {LABEL: label}


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
