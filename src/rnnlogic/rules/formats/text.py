"""Rule files for people: one rule per line; blank lines and `#` comments are skipped.

A comment at the end of a line may hold figures of its rule:

    hobby(X,Y) <- friend(X,Z) & hobby(Z,Y)  # support=5 confidence=0.5
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats.lines import FIGURES, ImportReport, TableImport, read_lines, write_text
from rnnlogic.rules.rule import Rule, format_rule, rule_label
from rnnlogic.rules.ruleset import parse_lines
from rnnlogic.rules.table import RuleTable

_NAME, _NUMBER = "|".join(FIGURES), r"\d{1,19}(?:\.\d{1,20})?(?:e-\d{1,3}|e\+?\d{1,2})?"
_FIGURE = re.compile(f"({_NAME})=({_NUMBER})")
# A quoted name ends with its quote, so nothing but a comment matches at the end of a line that holds a rule.
_COMMENT = re.compile(rf"\s#(?:\s+(?:{_NAME})=(?:{_NUMBER}))+\s*$")


def read_text_rules(path: Path, vocab: Vocab) -> TableImport:
    """Read rules as `parse_rule` does, with the figures in comments; empty and trivial rules are kept."""
    rows = [(rule, _figures(line)) for line, rule in parse_lines(read_lines(path), vocab, path)]
    table = RuleTable.from_rows(rows)
    return TableImport(table, ImportReport(len(rows), len(table), len(rows) - len(table)))


def write_text_rules(
    path: str | Path,
    rows: Iterable[tuple[Rule, Mapping[str, Any]]],
    vocab: Vocab,
    style: Literal["long", "short"] = "long",
) -> None:
    """Write one rule per line as `format_rule` does, with its statistics in a comment.

    Where relations have labels, a comment line before the rule shows it with them.
    """
    lines = (
        f"{_label(rule, vocab, style)}{format_rule(rule, vocab, style)}{_comment(known)}\n"
        for rule, known in rows
    )
    write_text(path, "".join(lines))


def _label(rule: Rule, vocab: Vocab, style: Literal["long", "short"]) -> str:
    """A line with the rule as people see it, if its relations have labels."""
    label = rule_label(rule, vocab, style)
    return "" if label is None else f"# {label}\n"


def _comment(known: Mapping[str, Any]) -> str:
    figures = [f"{name}={known[name]!r}" for name in FIGURES if name in known]
    return f"  # {' '.join(figures)}" if figures else ""


def _figures(line: str) -> dict[str, Any]:
    comment = _COMMENT.search(line)
    found = _FIGURE.findall(comment.group()) if comment else []
    return {name: int(text) if text.isdigit() else float(text) for name, text in found}
