"""Rule files for people: one rule a line, blank lines and `#` comments aside."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats.lines import ImportReport, TableImport, read_lines, write_text
from rnnlogic.rules.rule import Rule, format_rule
from rnnlogic.rules.ruleset import RuleSet, parse_lines
from rnnlogic.rules.table import RuleTable


def read_text_rules(path: Path, vocab: Vocab) -> TableImport:
    """Rules as `parse_rule` reads them; empty and trivial ones are kept."""
    rules = list(parse_lines(read_lines(path), vocab, path))
    distinct = RuleSet.from_rules(rules)
    report = ImportReport(len(rules), len(distinct), len(rules) - len(distinct))
    return TableImport(RuleTable(distinct), report)


def write_text_rules(
    path: str | Path, rules: Iterable[Rule], vocab: Vocab, style: Literal["long", "short"] = "long"
) -> None:
    """One rule a line, as `format_rule` writes it."""
    write_text(path, "".join(format_rule(rule, vocab, style) + "\n" for rule in rules))
