import json

from typer.testing import CliRunner

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli import app
from rnnlogic.config import Config
from rnnlogic.data.dataset import load_dataset
from rnnlogic.mining.mine import mine_rules
from rnnlogic.mining.settings import MineSettings
from rnnlogic.rules.formats import read_table
from rnnlogic.rules.rule import format_rule
from tests.helpers.family import write_family

runner = CliRunner()


def mined_by(monkeypatch, tmp_path, *options):
    """The arguments with which the command calls the miner."""
    called = []

    def miner(*arguments):
        called.append(arguments)
        return mine_rules(*arguments)

    monkeypatch.setattr("rnnlogic.mining.mine.mine_rules", miner)
    arguments = ["mine", write_family(tmp_path / "family.tsv"), "-o", str(tmp_path / "rules.txt"), *options]
    assert runner.invoke(app, arguments).exit_code == 0
    (arguments,) = called
    return arguments


def test_defaults_are_those_of_the_settings(monkeypatch, tmp_path):
    _, settings, max_length, banned, seed, work = mined_by(monkeypatch, tmp_path)
    assert (settings, max_length, seed, work.threads) == (MineSettings(), Config().max_length, 0, None)
    assert not banned


def test_options_change_the_settings(monkeypatch, tmp_path):
    numbers = {"--most": 7, "--smoothing": 2.5, "--max-length": 2, "--seed": 9, "--threads": 1}
    numbers |= {"--facts": 40, "--fanout": 12, "--candidates": 30}
    options = [word for pair in numbers.items() for word in map(str, pair)] + ["--ban", "parent <- ..."]
    _, settings, max_length, banned, seed, work = mined_by(monkeypatch, tmp_path, *options)
    assert settings == MineSettings(keep=7, smoothing=2.5, facts_per_relation=40, fanout=12, candidates=30)
    assert (max_length, seed, work.threads) == (2, 9, 1)
    assert banned


def test_only_rules_of_a_pattern_are_mined(tmp_path):
    data, output = write_family(tmp_path / "family.tsv"), tmp_path / "rules.txt"
    words = ["mine", data, "-o", str(output), "--json", "--only", "grandparent <- * & parent"]
    result = runner.invoke(app, words)
    assert result.exit_code == 0
    rules = [row["rule"] for row in json.loads(result.stdout)["rules"]]
    assert "grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)" in rules
    assert {rule.split("(")[0] for rule in rules} == {"grandparent", "grandparent^-1"}
    ends = "parent(Z,Y)", "parent(Z,X)"
    assert all(rule.count("&") == 1 and any(end in rule for end in ends) for rule in rules)


def test_a_misspelt_ban_writes_nothing(tmp_path):
    data, output = write_family(tmp_path / "family.tsv"), tmp_path / "rules.txt"
    result = runner.invoke(app, ["mine", data, "-o", str(output), "--ban", "parnt <- ..."])
    assert isinstance(result.exception, RNNLogicError)
    assert "--ban: column 1: unknown relation 'parnt'; did you mean 'parent'" in str(result.exception)
    assert not output.exists()


def test_mined_rules_are_written_and_listed(tmp_path):
    rows = [
        (f"{a}{i}", r, f"{b}{i}")
        for i in range(30)
        for a, r, b in [("child", "mother", "woman"), ("woman", "married", "man"), ("child", "father", "man")]
    ]
    path = tmp_path / "family.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    output = tmp_path / "rules.txt"
    result = runner.invoke(app, ["mine", str(path), "-o", str(output), "--json", "--most", "3"])
    assert result.exit_code == 0
    found = {rule["rule"]: rule for rule in json.loads(result.stdout)["rules"]}
    father = found["father(X,Y) <- mother(X,Z) & married(Z,Y)"]
    assert father["confidence"] == 1.0
    assert father["support"] >= 10  # the split keeps most, not all, of the 30 families whole
    vocab = load_dataset(path).vocab
    written = {format_rule(rule, vocab): known for rule, known in read_table(output, vocab).table.rows()}
    assert written == {
        text: {"support": rule["support"], "confidence": rule["confidence"]} for text, rule in found.items()
    }
    text = runner.invoke(app, ["mine", str(path), "-o", str(tmp_path / "again.txt"), "--most", "3"])
    assert "rules written to" in text.stdout
    assert (tmp_path / "again.txt").read_text() == output.read_text()
