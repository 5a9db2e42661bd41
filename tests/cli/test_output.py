"""What is printed fits the terminal, and help is plain."""

import re

import pytest
from typer.testing import CliRunner

from rnnlogic.cli import app, output

HEADERS = ["count", "confidence", "rule"]
LONG = "a long relation(X,Y) <- another relation(X,Z) & yet another one of them(Z,Y)"
ROWS = [[1234, 0.5, LONG], [5, 0.25, "short(X,Y) <- other(X,Y)"]]


@pytest.fixture
def terminal(monkeypatch):
    """Pretend that output goes to a terminal of so many columns."""

    def pretend(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(output.sys.stdout, "isatty", lambda: True)

    return pretend


def test_a_table_that_fits_is_a_table(terminal, capsys):
    terminal(100)
    output.print_table(HEADERS, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "count  confidence  rule",
        f"1,234         0.5  {LONG}",
        "    5        0.25  short(X,Y) <- other(X,Y)",
    ]


def test_notes_break_between_words_on_a_terminal_only(terminal, capsys):
    output.print_note(f"{LONG} and so on", err=False)
    assert capsys.readouterr().out == f"note: {LONG} and so on\n"
    terminal(60)
    output.print_note(f"{LONG} and so on", err=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert " ".join(line.strip() for line in lines) == f"note: {LONG} and so on"


@pytest.mark.parametrize("columns", [80, 60, 40])
def test_texts_that_are_too_wide_get_lines_of_their_own(terminal, capsys, columns):
    terminal(columns)
    output.print_table(HEADERS, ROWS)
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[:2] == ["rule", "  count  confidence"]
    assert "\nshort(X,Y) <- other(X,Y)\n      5        0.25\n" in out
    assert " ".join(out.split()).count(LONG) == 1  # broken between words only


def test_numbers_that_do_not_fit_are_told_in_words(terminal, capsys):
    terminal(40)
    names = [f"figure number {i}" for i in range(4)]
    output.print_table([*names, "rule"], [[1, 2, 3, 4, "r(X,Y) <- s(X,Y)"]])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 40
    assert "figure number 2 3" in " ".join(out.split())


def test_without_a_terminal_a_row_is_a_line(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    output.print_table(HEADERS, ROWS)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_wide_letters_are_counted_as_wide(capsys):
    output.print_table(["name", "n"], [["東京", 1], ["Rome", 2]])
    assert capsys.readouterr().out.splitlines() == ["name  n", "東京  1", "Rome  2"]


@pytest.mark.parametrize(
    "command",
    ["", "fit", "predict", "explain", "complete", "mine", "embed", "rules show", "data info", "labels"],
)
def test_help_names_no_types_of_switches_and_fits(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    assert "<bool>" not in shown.output
    assert "..." not in re.sub(r"\[?ARGS\]?\.\.\.|RUN \.\.\.|isa & \.\.\.", "", shown.output)
    assert max(map(len, shown.output.splitlines())) <= 80
