"""What a trial came to, and commands run in this process (a new Python costs seconds)."""

import contextlib
import io
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import typer

from rnnlogic.cli import app
from rnnlogic.cli.safety import polite

KINDS = ("clear", "traceback", "silent wrong", "lost", "hang")
BAD = KINDS[1:]
KEPT = 20  # examples of what went wrong


class Hang(Exception):  # noqa: N818
    """Something that was not killed does not come to an end."""


@dataclass
class Tally:
    """Outcomes of the trials of one kind."""

    name: str
    counts: Counter = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, kind: str, example: str = "", times: int = 1) -> None:
        self.counts[kind] += times
        if kind in BAD and len(self.examples) < KEPT:
            self.examples.append(f"{kind}: {example}")

    def merge(self, other: "Tally") -> None:
        """Add what another worker counted."""
        self.counts += other.counts
        self.examples = (self.examples + other.examples)[:KEPT]

    @property
    def tried(self) -> int:
        return self.counts.total()

    def row(self) -> dict:
        return {"campaign": self.name, "tried": self.tried, **{kind: self.counts[kind] for kind in KINDS}}


class Done(NamedTuple):
    """A command that has run; code None if it ended in a traceback."""

    code: int | None
    out: str
    err: str

    @property
    def is_clear(self) -> bool:
        """Whether it did its work, or said in a message what was wrong."""
        return self.code == 0 or (
            self.code is not None and "Traceback" not in self.err and bool(self.err + self.out)
        )


@cache
def _parser():
    """The command line, which takes longer to build than most commands to run."""
    return typer.main.get_command(app)


def command(*arguments: str) -> Done:
    """Run a command line in this process, as `rnnlogic.cli.main` does."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), polite():
            _parser()(args=list(map(str, arguments)), prog_name="rnnlogic")
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 0 if exit_.code is None else 1
    except BaseException as problem:  # the very thing that must not happen
        code = None
        err.write(f"{type(problem).__name__}: {problem}")
    return Done(code, out.getvalue(), err.getvalue())
