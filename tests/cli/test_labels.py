"""Labels and types in what every command shows; files and JSON keep the names of the data."""

import json
from shutil import copytree

import pytest

from rnnlogic.data.dataset import load_dataset
from rnnlogic.model import RNNLogic
from rnnlogic.rules.formats import read_table
from rnnlogic.runs.fitted import label_run
from tests.helpers.commands import run
from tests.helpers.family import fake_learn, family_facts

LABELS = {
    "grandparent": "is a grandparent of",
    "parent": "is a parent of",
    "grandpa0": "Old Bob",
    "grandpa1": "Ed",
    "grandpa2": "Ed",
    "person": "human being",
}
SHOWN = "is a grandparent of(X,Y) <- is a parent of(X,Z) & is a parent of(Z,Y)"
RAW = "grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> str:
    """The family, whose members are persons or toys, as a file; its labels are beside it.

    By the rules a puppet would have grandparents, which no toy has.
    """
    path = tmp_path_factory.mktemp("labels") / "family.tsv"
    facts = family_facts()
    people = sorted({end for head, _, tail in facts for end in (head, tail)})
    rows = [*facts, *((name, "type", "person") for name in people), ("teddy", "type", "toy")]
    rows += [("puppet", "type", "toy"), ("grandchild0_0", "parent", "puppet")]
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    lines = "".join(f"{name}\t{label}\n" for name, label in LABELS.items())
    path.with_name("labels.tsv").write_text(lines, encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def labels(data) -> str:
    return data.replace("family.tsv", "labels.tsv")


@pytest.fixture(scope="module")
def plain(data) -> str:
    """A run without labels."""
    folder = data.replace("family.tsv", "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
        RNNLogic({}).fit(load_dataset(data, ratios=(60, 20, 20))).save(folder)
    return folder


@pytest.fixture
def shown(monkeypatch, capsys):
    """Run a command that succeeds; gives what it prints."""

    def printed(*arguments: str) -> str:
        assert run(*arguments, monkeypatch=monkeypatch) == 0
        return capsys.readouterr().out

    return printed


@pytest.fixture(scope="module")
def folder(plain, labels) -> str:
    """A run that got its labels after the fit."""
    folder = plain.replace("run", "labelled")
    copytree(plain, folder)
    label_run(folder, labels)
    return folder


def test_a_finished_run_gets_labels(plain, labels, shown, tmp_path):
    target = str(copytree(plain, tmp_path / "run"))
    assert shown("labels", target, labels) == f"{target}: 4 entities and 2 relations labelled\n"
    told = json.loads(shown("labels", target, labels, "--json"))
    assert told == {"run": target, "entities": 4, "relations": 2, "templates": 0}
    assert SHOWN in shown("rules", target, "--relation", "is a grandparent of")


def test_rules(folder, shown):
    asked = ("rules", folder, "--relation", "is a grandparent of")
    out = shown(*asked)
    assert out.startswith("is a grandparent of: 2 rules\n")
    assert f"  {SHOWN}\n" in out
    assert f"  {RAW}\n" in shown(*asked, "--ids")
    told = {one["text"]: one for one in json.loads(shown(*asked, "--json"))}
    assert (told[RAW]["label"], told[RAW]["relation"]) == (SHOWN, "grandparent")
    table = shown(*asked, "--statistics")
    assert SHOWN in table
    assert "-is a parent of->" in table
    assert "-parent->" in shown(*asked, "--statistics", "--ids")
    rows = {one["rule"]: one for one in json.loads(shown(*asked, "--statistics", "--json"))}
    assert rows[RAW]["label"] == SHOWN
    assert "-parent->" in rows[RAW]["examples"][0]


def test_answers(folder, shown):
    asked = ("predict", folder, "--head", "Old Bob", "--relation", "is a parent of")
    assert shown(*asked).startswith("(Old Bob, is a parent of, ?)")
    assert shown(*asked, "--ids").startswith("(grandpa0, parent, ?)")
    told = json.loads(shown(*asked, "--json"))
    assert (told["head"], told["relation"]) == ("grandpa0", "parent")
    assert told["labels"]["relations"] == {"parent": "is a parent of"}
    assert told["labels"]["entities"]["grandpa0"] == "Old Bob"
    assert shown("predict", folder, "--head", "Ed [grandpa2]", "--relation", "parent").startswith(
        "(Ed [grandpa2], is a parent of, ?)"
    )


def test_labels_of_one_command_only(plain, labels, shown):
    asked = ("predict", plain, "--head", "grandpa0", "--relation", "parent")
    assert shown(*asked).startswith("(grandpa0, parent, ?)")
    assert shown(*asked, "--labels", labels).startswith("(Old Bob, is a parent of, ?)")


def test_explanations_show_labels_and_types(folder, shown, tmp_path):
    tail = "grandchild0_0"
    asked = ("explain", folder, "--head", "Old Bob", "--relation", "grandparent", "--tail", tail)
    out = shown(*asked)
    assert out.startswith(f"Old Bob (human being) is a grandparent of {tail} (human being)\n")
    assert "because   Old Bob is a parent of child" in out
    assert "is a grandparent of(X,Y) <- is a parent of(X,Z) & is a parent of(Z,Y)" in " ".join(out.split())
    assert "(human being)" not in shown(*asked, "--types", "off")
    ids = shown(*asked, "--ids")
    assert ids.startswith(f"grandpa0 (person) grandparent {tail} (person)\n")
    assert not any(label in ids for label in LABELS.values())
    assert SHOWN in shown(*asked, "--all")
    told = json.loads(shown(*asked, "--json", "--html", str(tmp_path / "why.html")))
    assert (told["head"], told["relation"], told["tail"]) == ("grandpa0", "grandparent", tail)
    assert {rule["rule"]: rule["label"] for rule in told["rules"]}[RAW] == SHOWN
    assert told["labels"]["entities"]["grandpa0"] == "Old Bob"
    assert told["types"]["grandpa0"] == ["person"]
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "Old Bob (human being)" in page
    assert "is a parent of(X,Z)" in page
    assert "grandpa0" not in page


def test_new_facts(folder, shown, tmp_path):
    path = tmp_path / "new.tsv"
    asked = ("complete", folder, "--facts", "train", "--relation", "is a grandparent of", "-o", str(path))
    assert "is a grandparent of" in shown(*asked)
    header, *rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    assert header[6:] == ["head_label", "relation_label", "tail_label", "rule_label", "path_label"]
    assert {(row[1], row[7]) for row in rows} == {("grandparent", "is a grandparent of")}
    assert SHOWN in {row[9] for row in rows}
    assert load_dataset(path).vocab.relations == ("grandparent",)
    shown(*asked, "--ids")
    assert path.read_text(encoding="utf-8").splitlines()[0].split("\t")[6:] == []
    for kind in (".jsonl", ".nt", ".csv"):
        shown(*asked[:-1], str(path.with_suffix(kind)))
    fact = json.loads(path.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert fact["relation"] == "grandparent"
    assert fact["labels"]["relation"] == "is a grandparent of"
    assert path.with_suffix(".nt").read_text(encoding="utf-8").startswith("# ")
    assert load_dataset(path.with_suffix(".nt")).vocab.num_relations == 1
    assert path.with_suffix(".csv").read_text(encoding="utf-8").count("is a grandparent of") >= len(rows)


def test_mined_rules_keep_their_names_in_files(data, labels, shown, tmp_path):
    path = tmp_path / "mined.rules"
    asked = ("mine", data, "-o", str(path), "--max-length", "2", "--most", "5", "--labels", labels)
    assert SHOWN in shown(*asked)
    assert RAW in shown(*asked, "--ids")
    told = json.loads(shown(*asked, "--json"))
    assert (RAW, SHOWN) in {(row["rule"], row["label"]) for row in told["rules"]}
    text = path.read_text(encoding="utf-8")
    assert f"# {SHOWN}\n{RAW}  # support=" in text
    table = read_table(path, load_dataset(data).vocab).table  # a vocabulary without labels reads it
    assert len(table) == len(told["rules"])
    assert None not in [*table.column("support"), *table.column("confidence")]


def test_exports(folder, data, labels, shown, tmp_path):
    for kind, mark in (("text", "# "), ("sql", "-- "), ("prolog", "% ")):
        path = tmp_path / kind
        shown("rules", folder, "export", "--format", kind, "-o", str(path))
        lines = path.read_text(encoding="utf-8").splitlines()
        labelled = [line for line in lines if "is a parent of" in line]
        assert labelled
        assert all(line.startswith(mark) for line in labelled)
        shown("rules", folder, "export", "--format", kind, "-o", str(path), "--ids")
        assert "is a parent of" not in path.read_text(encoding="utf-8")
    again = tmp_path / "again.jsonl"
    shown("rules", folder, "export", "--format", "jsonl", "-o", str(again))
    row = json.loads(again.read_text(encoding="utf-8").splitlines()[0])
    assert "is a" in row["label"]
    assert "is a" not in row["rule"] + "".join(row["examples"])
    text = tmp_path / "text"
    shown(
        *("rules", "convert", str(again), "--to", "text", "-o", str(text), "--data", data), "--labels", labels
    )
    assert f"# {SHOWN}\n{RAW}" in text.read_text(encoding="utf-8")


def test_tables_by_relation(folder, shown, data, labels):
    assert "\nis a parent of" in shown("evaluate", folder, "--relations")
    assert "\nparent" in shown("evaluate", folder, "--relations", "--ids")
    told = json.loads(shown("evaluate", folder, "--relations", "--json"))
    assert "parent" in told["relations"]
    assert told["labels"]["relations"]["parent"] == "is a parent of"
    assert "\nis a parent of" in shown("compare", folder, folder, "--samples", "5")
    assert "\nis a parent of" in shown("data", "info", data, "--labels", labels)
    assert "\nparent" in shown("data", "info", data, "--labels", labels, "--ids")


def test_relation_labels_come_along_to_another_graph(folder, data, shown):
    asked = ("predict", folder, "--graph", data, "--head", "grandpa0", "--relation", "is a parent of")
    assert shown(*asked).startswith("(grandpa0, is a parent of, ?)")
