"""Progress: bars on a terminal, few lines elsewhere, never on standard output."""

import io
import sys

import pytest

from rnnlogic.base.progress import Compiled, Count, StageProgress


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("rnnlogic.base.progress.time.monotonic", lambda: now[0])
    return now


def test_one_line_a_stage_without_a_terminal(clock, capsys):
    with StageProgress() as progress:
        for i in range(50):
            progress("mine", i + 1, 50, "")
            clock[0] += 0.5
        progress("round 1/2", 1, 1, "valid MRR 0.671")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == ["mine: 50/50, 24 s", "round 1/2: 1/1, 0 s, valid MRR 0.671"]


def test_a_long_stage_tells_the_time_left_once_a_minute(clock, capsys):
    with StageProgress() as progress:
        for i in range(1, 301):
            clock[0] += 1
            progress("weights", i, 300, "")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "weights: 62/300, 61 s, about 234 s left"
    assert len(lines) == 5


def test_the_last_line_appears_when_a_stage_is_interrupted(clock, capsys):
    def interrupted():
        with StageProgress() as progress:
            progress("mine", 3, 50, "")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err == "mine: 3/50, 0 s\n"


def test_what_is_left_is_not_told_before_it_can_be(clock, capsys):
    with StageProgress() as progress:
        for i in range(1, 4):
            clock[0] += 70
            progress("mine", i, 474, "")
        clock[0] += 70
        progress("mine", 40, 474, "")
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [f"mine: {i}/474, {70 * (i - 1)} s" for i in (2, 3)] + [
        "mine: 40/474, 210 s, about 2278 s left"
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bars_on_a_terminal(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with StageProgress() as progress:
        progress("mine", 10, 50, "")
        progress("mine", 50, 50, "")
        progress("evaluate valid", 5, 20, "MRR 0.671")
    shown = terminal.getvalue()
    for part in ("mine", "50/50", "evaluate valid", "5/20", "MRR 0.671"):
        assert part in shown
    assert capsys.readouterr().out == ""


def test_compilation_has_a_line_of_its_own_and_is_taken_from_its_stage(clock, capsys, monkeypatch):
    monkeypatch.setattr(Count, "now", Compiled(3, 10.0))
    with StageProgress() as progress:
        progress("first look", 0, 2)
        Count.add(30.0)
        Count.add(0.0)
        clock[0] += 34
        progress("first look", 2, 2)
        progress("mine", 1, 1)
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == "compile: 2 kernels, 30 s, once on this machine"
    assert second == "first look: 2/2, 4 s"
    assert third.startswith("mine: 1/1")


def test_a_stage_that_shows_nothing_until_it_ends_keeps_its_time(clock, capsys):
    with StageProgress() as progress:
        progress("choice", 0, 1)
        clock[0] += 79
        progress("weights", 1, 1)
    assert capsys.readouterr().err.splitlines()[0] == "choice: 0/1, 79 s"
