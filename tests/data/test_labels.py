"""Labels of entities and relations, from a file or a mapping."""

import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.labels import relabelled
from tests.helpers.reading import DRUGS

LABELS = "name\tlabel\nfever\thigh temperature\ntreats\tis a remedy for\nplague\tPlague\n"


@pytest.mark.parametrize(
    ("name", "text"), [("labels.tsv", LABELS), ("labels.csv", LABELS.replace("\t", ",")), ("labels", LABELS)]
)
def test_one_file_labels_entities_and_relations(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    for labels in (path, str(path)):
        dataset = load_dataset(DRUGS, labels=labels)
        vocab = dataset.vocab
        assert vocab.entity_labels == {"fever": "high temperature"}
        assert vocab.relation_labels == {"treats": "is a remedy for"}
        assert vocab.relation_id("is a remedy for^-1") == vocab.relation_id("treats^-1")
        assert dataset.report.lines() == ["1 of 3 labels are for names that the graph lacks: plague"]


def test_a_mapping_labels_too_and_goes_before_the_data(tmp_path):
    (tmp_path / "train.txt").write_text("a\tr\tb\nb\tr\ta\n", encoding="utf-8")
    (tmp_path / "entity_labels.tsv").write_text("a\told\nb\tBob\n", encoding="utf-8")
    vocab = load_dataset(tmp_path, labels={"a": "new", "r": "rel"}).vocab
    assert vocab.entity_labels == {"a": "new", "b": "Bob"}
    assert vocab.relation_labels == {"r": "rel"}


def test_labels_do_not_change_ids_or_splits():
    plain, labelled = load_dataset("umls"), load_dataset("umls", labels={"virus": "the virus"})
    assert plain.vocab == labelled.vocab
    assert plain.test.tolist() == labelled.test.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tx\na\ty\n", r"labels\.tsv:2: 'a' has two labels, 'x' and 'y'"),
        ("a\tx\nb\n", r"labels\.tsv:2: expected name<TAB>label, found 1"),
        ("a\tx\ty\n", r"labels\.tsv:1: expected name<TAB>label, found 3"),
    ],
)
def test_wrong_label_files_are_errors(tmp_path, text, message):
    path = tmp_path / "labels.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        load_dataset(DRUGS, labels=path)


def test_a_missing_label_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.tsv: no such file; labels are lines of name<TAB>label"):
        load_dataset(DRUGS, labels=tmp_path / "nowhere.tsv")


def test_a_vocabulary_can_be_labelled_later():
    old = load_dataset([("Q1", "P1", "Q2")], labels={"Q1": "Ann", "P1": "knows"}).vocab
    found = relabelled(old, {"Q1": "Anna", "Q2": "Bob", "Q9": "nobody"})
    assert found.vocab.entity_labels == {"Q1": "Anna", "Q2": "Bob"}
    assert found.vocab.relation_labels == {"P1": "knows"}
    assert (found.entities, found.relations) == (2, 0)
    assert found.note == "1 of 3 labels are for names that the graph lacks: Q9"
