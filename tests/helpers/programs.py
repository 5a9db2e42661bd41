"""Programs and commands as users run them; in this process where that makes no difference.

A new process takes seconds to load torch and compiled kernels, and the pages show dozens of commands.
"""

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

from rnnlogic.cli import main

SHELL = set("|&;<>$`*~(){}\\")
QUOTED = re.compile(r"'[^']*'")

Done = tuple[int, str, str]  # exit code, output, errors


def called(program: Callable[[], object], folder: Path) -> Done:
    """What a program prints that starts in a folder."""
    out, err, status = StringIO(), StringIO(), 0
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            program()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return status, out.getvalue(), err.getvalue()


def run_script(script: Path, folder: Path) -> Done:
    """Run a file of Python; what it raises is raised here."""
    return called(lambda: runpy.run_path(str(script), run_name="__main__"), folder)


def run_line(line: str, folder: Path) -> Done:
    """Run a line of the shell; our program at its beginning runs in this process, others get its output."""
    own, pipe, rest = line.partition(" | ")
    own, to_file, name = own.partition(" > ")
    is_plain = own.startswith("rnnlogic ") and not SHELL & set(QUOTED.sub("", own))
    if not is_plain or (to_file and not name.endswith(" 2>&1")):
        return in_shell(line, folder)
    with mock.patch.object(sys, "argv", shlex.split(own)):
        status, out, err = called(main, folder)
    if to_file:
        (folder / name.removesuffix(" 2>&1")).write_text(err + out, encoding="utf-8")
        out, err = "", ""
    if not pipe:
        return status, out, err
    status, out, more = in_shell(rest, folder, out)
    return status, out, err + more


def in_shell(line: str, folder: Path, given: str = "") -> Done:
    """Run a line in a shell of its own."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=os.environ | {"PATH": path},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
