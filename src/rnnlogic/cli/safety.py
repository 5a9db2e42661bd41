"""What holds for every command: numbers are numbers, signals stop it politely, mistakes get one line."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from typer import Exit
from typer.core import TyperGroup

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli.output import echo, print_note

RENAMED = {"--top": "--most", "--max": "--most", "--evidence": "--facts"}  # understood until the next version
SIGNALS = ("SIGTERM", "SIGHUP")
LARGEST = 1 << 53


class Stopped(KeyboardInterrupt):
    """A signal asks the command to stop, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__()


class SafeGroup(TyperGroup):
    """A group whose commands refuse values that are no numbers, or numbers that are none."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for command in self.commands.values():
            _guard(command)


def exit_code(stop: KeyboardInterrupt) -> int:
    """What a command that was stopped returns."""
    # The exit code of a command that a signal stopped is 128 + its number
    return 128 + (stop.number if isinstance(stop, Stopped) else int(signal.SIGINT))


def open_streams() -> None:
    """Lead streams that whoever started us has closed (`>&-`) to nowhere.

    Else the next file that is opened gets their number, and whatever prints would write into it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # number of the standard error stream
        pass  # the lowest number that is free: one of the streams
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


@contextmanager
def polite() -> Iterator[None]:
    """Inside `with`, SIGTERM and SIGHUP end the command as Ctrl-C does, and mistakes end it with one line."""
    before = {name: _obey(name) for name in SIGNALS if hasattr(signal, name)}
    try:
        yield
    except RNNLogicError as problem:
        _fail(str(problem))
    except Stopped as stop:
        echo("stopped", err=True)
        sys.exit(exit_code(stop))
    except SystemError as problem:  # a signal that came while compiled code was called
        found = _stop_behind(problem)
        if found is None:
            raise
        echo("stopped", err=True)
        sys.exit(exit_code(found))
    except OSError as problem:
        place = f"{problem.filename}: " if problem.filename else ""
        _fail(f"{place}{problem.strerror or problem}")
    except MemoryError:
        _fail("there is not enough memory for this")
    except RecursionError:
        _fail("something in the input is nested too deeply")
    finally:
        for name, handler in before.items():
            if handler is not None:
                signal.signal(getattr(signal, name), handler)


def _obey(name: str) -> Any:
    """Listen to a signal; one that is ignored (nohup) stays ignored. Gives what was done before."""
    number = getattr(signal, name)
    try:
        if signal.getsignal(number) is signal.SIG_IGN:
            return None
        return signal.signal(number, _stop)
    except ValueError:  # not the main thread
        return None


def _stop_behind(problem: BaseException | None) -> KeyboardInterrupt | None:
    """The wish to stop that caused an exception, if there is one."""
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__cause__ or problem.__context__
    return problem


def _stop(number: int, frame: object) -> NoReturn:
    del frame
    raise Stopped(number)


def _fail(problem: str) -> NoReturn:
    echo(f"error: {problem}", err=True)
    sys.exit(2)


def _guard(command: Any) -> None:
    """Check the values of a command, and of the commands inside it, before it runs."""
    run, parse = command.invoke, command.parse_args

    def invoke(context: Any) -> Any:
        for name, value in context.params.items():
            _require_number(name, value)
        try:
            return run(context)
        except Stopped as stop:  # Typer would take it for Ctrl-C, and give its exit code
            echo("stopped", err=True)
            raise Exit(exit_code(stop)) from None

    def parse_args(context: Any, args: list[str]) -> Any:
        known = {name for one in command.params for name in one.opts}
        return parse(context, [_by_new_name(one, known) for one in args])

    command.invoke, command.parse_args = invoke, parse_args
    for inner in getattr(command, "commands", {}).values():
        _guard(inner)


def _by_new_name(argument: str, known: set[str]) -> str:
    """An argument, with the new name of an option that a command knew by another one."""
    name, equals, value = argument.partition("=")
    new = RENAMED.get(name)
    if new is None or new not in known:
        return argument
    print_note(f"{name} is now {new}")
    return f"{new}{equals}{value}"


def _require_number(name: str, value: object) -> None:
    for one in value if isinstance(value, list | tuple) else [value]:
        is_odd = isinstance(one, float) and not math.isfinite(one)
        if is_odd or (isinstance(one, int) and abs(one) > LARGEST):
            shown = "--" + name.replace("_", "-")
            raise RNNLogicError(f"{shown}: expected a number up to {LARGEST:,}, found {str(one)[:20]}")
