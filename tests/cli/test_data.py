"""`rnnlogic data`: output, exit codes and error messages."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from rnnlogic.cli import app, main
from rnnlogic.data.dataset import load_dataset


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    """Run the console entry point in this process; gives the exit code."""
    monkeypatch.setattr(sys, "argv", ["rnnlogic", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code


def test_info_as_json(monkeypatch, capsys):
    assert run("data", "info", "umls", "--json", monkeypatch=monkeypatch) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {key: answer[key] for key in ("name", "entities", "relations", "train", "valid", "test")} == {
        "name": "umls",
        "entities": 135,
        "relations": 46,
        "train": 1959,
        "valid": 1306,
        "test": 3264,
    }
    assert answer["source"] == "PyKEEN wheel, seeded 30/20/50 split, seed 0"
    assert answer["cleaning"]["duplicates"] == {}


def test_info_as_text_shows_cleaning_and_the_largest_relations(tmp_path, monkeypatch, capsys):
    path = tmp_path / "facts.tsv"
    path.write_text("a\tbig\tb\nb\tbig\ta\n\na\tsmall\tb\na\tsmall\tb\na\tbig\ta\n", encoding="utf-8")
    assert run("data", "info", str(path), "--most", "1", monkeypatch=monkeypatch) == 0
    out = capsys.readouterr().out
    assert "note: 1 blank line(s) skipped" in out
    assert "note: 1 repeated fact(s) removed from facts" in out
    assert "big" in out
    assert "small" not in out


def test_list(monkeypatch, capsys, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "train.txt").write_text("a\tr\tb\n", encoding="utf-8")
    monkeypatch.setenv("RNNLOGIC_DATA", str(tmp_path))
    assert run("data", "list", "--json", monkeypatch=monkeypatch) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == ["countries", "umls", "kinship", "nations", "hpo", "fb15k-237", "wn18rr", "mine"]
    assert rows["umls"]["where"] == "offline"
    assert rows["wn18rr"]["where"] == "download"
    assert rows["mine"]["where"] == str(tmp_path / "mine")
    assert run("data", "list", monkeypatch=monkeypatch) == 0
    kinship = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("kinship"))
    assert kinship.split()[:7] == ["kinship", "104", "25", "3,206", "2,137", "5,343", "offline"]


def test_split_writes_a_folder_that_loads(tmp_path, monkeypatch, capsys):
    path, output = tmp_path / "facts.csv", tmp_path / "out"
    rows = [f"e{a},r{b % 2},e{b}" for a in range(10) for b in range(10)]
    path.write_text("\n".join(["head,relation,tail", *rows]), encoding="utf-8")
    arguments = ("data", "split", str(path), "-o", str(output), "--ratios", "60/20/20", "--seed", "5")
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    assert "note: 1 header line(s) skipped" in capsys.readouterr().out
    written, direct = load_dataset(output), load_dataset(path, seed=5, ratios=(60, 20, 20))
    assert [len(written.facts(s)) for s in ("train", "valid", "test")] == [60, 20, 20]
    assert written.test.tolist() == direct.test.tolist()
    assert run(*arguments, monkeypatch=monkeypatch) == 2
    assert "the folder is not empty" in capsys.readouterr().err
    assert run(*arguments, "--force", monkeypatch=monkeypatch) == 0


def test_split_of_what_is_split_already_is_an_error(tmp_path, monkeypatch, capsys):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text(f"a\t{split}\tb\n", encoding="utf-8")
    assert run("data", "split", str(tmp_path), "-o", str(tmp_path / "x"), monkeypatch=monkeypatch) == 2
    assert "is split already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\tr\tb\na\tr\n", ":2: expected 3 tab-separated columns"),
        (b"a\tr\t\xc3\xa9\na\t\xff\tb\n", ":2: byte 0xff is not UTF-8"),
        (b"", ": no facts found"),
    ],
)
def test_bad_files_end_with_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, data, message):
    path = tmp_path / "facts.txt"
    path.write_bytes(data)
    assert run("data", "info", str(path), monkeypatch=monkeypatch) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: {path}{message}")
    assert captured.err.count("\n") == 1


def test_the_installed_program_shows_no_traceback(tmp_path):
    (tmp_path / "train.txt").write_text("a\tr\tb\n", encoding="utf-8")
    (tmp_path / "test.txt").write_text("a\tr\ta\n", encoding="utf-8")
    program = [sys.executable, "-m", "rnnlogic", "data", "info", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path}: no valid file")
    assert "Traceback" not in done.stderr


def test_the_command_line_starts_without_heavy_imports():
    heavy = "{'torch', 'pykeen', 'numba', 'pandas', 'polars', 'pyoxigraph', 'scipy'}"
    code = f"import sys, rnnlogic.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", [["data"], ["data", "list"], ["data", "info"], ["data", "split"], []])
def test_help_has_an_example(command):
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    assert f"Example: rnnlogic {' '.join(command)}" in result.output


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("rnnlogic 0.")


def test_wrong_usage_ends_with_exit_code_2():
    assert CliRunner().invoke(app, ["data", "info"]).exit_code == 2
    assert CliRunner().invoke(app, ["data", "nonsense"]).exit_code == 2
