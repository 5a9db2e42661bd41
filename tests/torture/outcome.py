"""What a trial came to, and commands run in this process (a new Python costs seconds)."""

import contextlib
import io
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from rnnlogic.cli import main

KINDS = ("clear", "traceback", "silent wrong", "lost")
BAD = KINDS[1:]
KEPT = 20  # examples of what went wrong


@dataclass
class Tally:
    """Outcomes of the trials of one kind."""

    name: str
    counts: Counter = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, kind: str, example: str = "") -> None:
        self.counts[kind] += 1
        if kind in BAD and len(self.examples) < KEPT:
            self.examples.append(f"{kind}: {example}")

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
        """Whether it said in one message what was wrong."""
        return (
            self.code is not None
            and self.code > 0
            and "Traceback" not in self.err
            and bool(self.err + self.out)
        )


def command(*arguments: str) -> Done:
    """Run a command line in this process."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["rnnlogic", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 0 if exit_.code is None else 1
    except BaseException as problem:  # the very thing that must not happen
        code = None
        err.write(f"{type(problem).__name__}: {problem}")
    finally:
        sys.argv = before
    return Done(code, out.getvalue(), err.getvalue())
