"""Labels for a run that is there already."""

import json

import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.base.files import MANIFEST
from rnnlogic.runs.check import check_folder
from rnnlogic.runs.dataset import VOCABULARY
from rnnlogic.runs.finished import RULES
from rnnlogic.runs.fitted import label_run
from tests.helpers.family import given_rules


def test_labels_are_kept_and_change_nothing_else(run):
    dataset = run.dataset()
    run.finish(given_rules(dataset))
    files = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    found = label_run(run.folder, {"parent": "is a parent of", "grandpa0": "Old Bob", "nobody": "x"})
    assert (found.entities, found.relations) == (1, 1)
    assert found.note == "1 of 3 labels are for names that the graph lacks: nobody"
    changed = {path.name for path, before in files.items() if path.read_bytes() != before}
    assert changed == {VOCABULARY, RULES, MANIFEST}
    assert not check_folder(run.folder).problems
    vocab = run.dataset().vocab
    assert vocab == dataset.vocab
    assert vocab.relation_label(vocab.relation_id("parent")) == "is a parent of"
    label_run(run.folder, {"grandpa0": "Bob"})
    assert run.dataset().vocab.entity_labels == {"grandpa0": "Bob"}
    assert run.dataset().vocab.relation_labels == {"parent": "is a parent of"}
    text = (run.folder / RULES).read_text(encoding="utf-8")
    assert (
        "\n# grandparent(X,Y) <- is a parent of(X,Z) & is a parent of(Z,Y)\ngrandparent(X,Y) <- parent"
        in text
    )


def test_a_run_that_is_not_finished_may_have_labels_too(run):
    label_run(run.folder, {"parent": "is a parent of"})
    assert run.dataset().vocab.relation_labels == {"parent": "is a parent of"}
    assert not run.finished


def test_wrong_labels_leave_the_run_as_it_is(run, tmp_path):
    before = (run.folder / VOCABULARY).read_bytes()
    path = tmp_path / "labels.tsv"
    path.write_text("parent\tone\nparent\ttwo\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"labels\.tsv:2: 'parent' has two labels"):
        label_run(run.folder, path)
    assert (run.folder / VOCABULARY).read_bytes() == before
    assert json.loads(before)["relation_labels"] == {}
