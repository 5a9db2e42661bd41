"""Decisions that earlier versions kept in RUN.review.tsv: read, never written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rnnlogic.base.errors import DataError
from rnnlogic.review.decision import Decision

VERDICTS = {"accept": "accept", "reject": "reject", "skip": "unsure"}
COLUMNS = 7  # decision, head, relation, tail, probability, rule, time
_WRITTEN = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}


def old_decisions(path: Path) -> list[Decision]:
    """The decisions of such a file, if there is one; lines that are damaged are skipped."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[1:] if path.is_file() else []
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None
    return list(_decisions(lines))


def _decisions(lines: list[str]) -> Iterator[Decision]:
    for line in lines:
        cells = [re.sub(r"\\[\\tnr]", lambda found: _WRITTEN[found[0]], text) for text in line.split("\t")]
        if len(cells) == COLUMNS and cells[0] in VERDICTS:
            verdict, head, relation, tail, _, rule, time = cells
            yield Decision(head, relation, tail, VERDICTS[verdict], time=time, rule=rule)
