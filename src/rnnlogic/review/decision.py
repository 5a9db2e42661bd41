"""A decision of a person about a fact, and the line of JSON that keeps it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast, get_args

from rnnlogic.base.errors import UnknownNameError

Verdict = Literal["accept", "reject", "other-reason", "unsure"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
UNDO = "undo"  # a line that takes back what was decided about its fact
TRUE, FALSE = ("accept", "other-reason"), ("reject",)  # what the verdicts say of the fact
NEEDED = ("head", "relation", "tail", "verdict")
Fact = tuple[str, str, str]


@dataclass(frozen=True)
class Decision:
    """What somebody decided about a fact (names of the data), when, and what they saw."""

    head: str
    relation: str
    tail: str
    verdict: str  # of VERDICTS, or UNDO
    comment: str = ""
    by: str = ""  # the person; empty if nobody said
    time: str = ""  # UTC, ISO 8601
    run: str = ""  # the name of the run that proposed the fact
    probability: float | None = None  # that was shown
    rule: str = ""  # that was shown as the reason

    @property
    def fact(self) -> Fact:
        """The fact."""
        return self.head, self.relation, self.tail

    @property
    def is_true(self) -> bool | None:
        """What it says of the fact: true, false, or nothing."""
        return True if self.verdict in TRUE else False if self.verdict in FALSE else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def line(self) -> bytes:
        """The line that keeps it. ASCII: a file cut anywhere and joined to another one stays readable."""
        kept = dict(zip(NEEDED, (*self.fact, self.verdict), strict=True))
        kept |= {key: value for key, value in self.as_dict().items() if value not in ("", None)}
        return json.dumps(kept, allow_nan=False).encode("ascii") + b"\n"

    def text(self) -> str:
        """In words: who decided what, when, and why."""
        words = {"accept": "accepted", "reject": "rejected", "other-reason": "true for another reason"}
        by, comment = f" by {self.by}" if self.by else "", f": {self.comment}" if self.comment else ""
        return f"{words.get(self.verdict, self.verdict)}{by}, {self.time[:16].replace('T', ' ')}{comment}"


def checked(verdict: str) -> Verdict:
    """The verdict; others are refused."""
    if verdict not in VERDICTS:
        raise UnknownNameError("verdict", verdict, VERDICTS)
    return cast("Verdict", verdict)


def parsed(line: bytes) -> Decision | None:
    """The decision of a line; None if the line is damaged."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    texts = {field.name for field in fields(Decision)} - {"probability"}
    known = {key: value for key, value in values.items() if key in texts or key == "probability"}
    if not all(isinstance(value, str) for key, value in known.items() if key in texts):
        return None
    if not _is_probability(known.get("probability")) or known.get("verdict") not in (*VERDICTS, UNDO):
        return None
    try:
        return Decision(**known)
    except TypeError:  # a name of the fact is missing
        return None


def _is_probability(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1
