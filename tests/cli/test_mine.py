import json

from typer.testing import CliRunner

from rnnlogic.cli import app
from rnnlogic.data.dataset import load_dataset
from rnnlogic.rules.formats import read_rules

runner = CliRunner()


def test_mined_rules_are_written_and_listed(tmp_path):
    rows = [
        (f"{a}{i}", r, f"{b}{i}")
        for i in range(30)
        for a, r, b in [("child", "mother", "woman"), ("woman", "married", "man"), ("child", "father", "man")]
    ]
    path = tmp_path / "family.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    result = runner.invoke(
        app, ["mine", str(path), "-o", str(tmp_path / "rules.txt"), "--json", "--top", "3"]
    )
    assert result.exit_code == 0
    found = {rule["rule"]: rule for rule in json.loads(result.stdout)["rules"]}
    father = found["father(X,Y) <- mother(X,Z) & married(Z,Y)"]
    assert father["confidence"] == 1.0
    assert father["support"] >= 10  # the split keeps most, not all, of the 30 families whole
    rules = read_rules(tmp_path / "rules.txt", load_dataset(path).vocab).rules
    assert len(rules) == len(found)
    text = runner.invoke(app, ["mine", str(path), "-o", str(tmp_path / "again.txt"), "--top", "3"])
    assert "rules written to" in text.stdout
    assert (tmp_path / "again.txt").read_text() == (tmp_path / "rules.txt").read_text()
