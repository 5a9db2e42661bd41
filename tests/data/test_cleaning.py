"""Folders: splits, dictionaries, labels, inverse facts, and the cleaning report."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.data.graph import is_among

TRAIN = "a r b\nb r c\nc s a\na s c"
VALID = "b s a"
TEST = "c r a"


def folder_with(folder: Path, **files: str) -> Path:
    """Write files (`train_txt` becomes train.txt); spaces become TABs."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text.replace(" ", "\t") + "\n", encoding="utf-8")
    return folder


def named_facts(dataset: Dataset, split: str) -> list[str]:
    vocab = dataset.vocab
    return [
        f"{vocab.entities[h]} {vocab.relations[r]} {vocab.entities[t]}"
        for h, r, t in dataset.facts(split).tolist()
    ]


def test_a_clean_folder_keeps_its_splits_and_reports_nothing(tmp_path):
    dataset = load_dataset(folder_with(tmp_path / "my", train_txt=TRAIN, valid_txt=VALID, test_txt=TEST))
    assert dataset.name == "my"
    assert dataset.source == str(tmp_path / "my")
    assert dataset.vocab.entities == ("a", "b", "c")
    assert dataset.vocab.relations == ("r", "s")
    assert [named_facts(dataset, s) for s in ("train", "valid", "test")] == [
        TRAIN.split("\n"),
        [VALID],
        [TEST],
    ]
    assert dataset.report.lines() == []


@pytest.mark.parametrize("valid", ["valid_tsv", "dev_txt", "validation_txt"])
def test_valid_has_several_names(tmp_path, valid):
    folder = folder_with(tmp_path, train_txt=TRAIN, test_txt=TEST, **{valid: VALID})
    assert named_facts(load_dataset(folder), "valid") == [VALID]


def test_repeats_are_removed_and_reported(tmp_path):
    dataset = load_dataset(
        folder_with(
            tmp_path,
            train_txt=TRAIN + "\na r b\na r b",
            valid_txt=VALID + "\na r b\nb s b",
            test_txt=TEST + "\nb r c\nc s a\nb s b\nc r a",
        )
    )
    assert named_facts(dataset, "train") == TRAIN.split("\n")
    assert named_facts(dataset, "valid") == [VALID, "b s b"]
    assert named_facts(dataset, "test") == [TEST]
    assert dataset.report.duplicates == {"train": 2, "test": 1}
    assert dataset.report.repeated == {"train in valid": 1, "train in test": 2, "valid in test": 1}
    assert dataset.report.lines() == [
        "2 repeated fact(s) removed from train",
        "1 repeated fact(s) removed from test",
        "1 fact(s) of train removed from valid",
        "2 fact(s) of train removed from test",
        "1 fact(s) of valid removed from test",
    ]
    assert dataset.report.as_dict()["duplicates"] == {"train": 2, "test": 1}


def test_names_unseen_in_train_are_kept_and_reported(tmp_path):
    folder = folder_with(tmp_path, train_txt=TRAIN, valid_txt="a r x", test_txt="b q y\nc r x")
    dataset = load_dataset(folder)
    assert len(dataset.test) == 2
    assert dataset.report.unseen_entities == ("x", "y")
    assert dataset.report.unseen_relations == ("q",)
    assert dataset.report.lines() == [
        "2 entities never occur in train: x, y",
        "1 relations never occur in train: q",
    ]


def test_inverse_facts_are_folded_not_doubled(tmp_path):
    dataset = load_dataset(
        folder_with(
            tmp_path,
            train_txt=TRAIN + "\nb !r a\nc !r b\na !s c\nc !s b",  # the last has no forward fact
            valid_txt=VALID,
            test_txt=TEST + "\na !r c\nb !r a",  # the last turns into a fact of train
        )
    )
    assert dataset.vocab.relations == ("r", "s")
    assert named_facts(dataset, "train") == [*TRAIN.split("\n"), "b s c"]
    assert named_facts(dataset, "test") == [TEST]
    assert (dataset.report.inverse_dropped, dataset.report.inverse_turned) == (4, 2)
    assert dataset.report.repeated == {"train in test": 1}
    assert dataset.report.duplicates == {}


def test_an_exclamation_mark_without_a_forward_relation_is_a_plain_name(tmp_path):
    dataset = load_dataset(
        folder_with(tmp_path, train_txt=TRAIN + "\na !q b", valid_txt=VALID, test_txt=TEST)
    )
    assert dataset.vocab.relations == ("!q", "r", "s")
    assert dataset.report.lines() == []


def test_dictionaries_fix_the_ids(tmp_path):
    folder = folder_with(
        tmp_path,
        train_txt=TRAIN + "\nb !r a",
        valid_txt=VALID,
        test_txt=TEST,
        entities_dict="0 c\n2 unused\n1 b\n3 a",
        relations_dict="0 s\n1 !s\n2 r\n3 !r",
    )
    dataset = load_dataset(folder)
    assert dataset.vocab.entities == ("c", "b", "unused", "a")
    assert dataset.vocab.relations == ("s", "r")
    assert dataset.train[0].tolist() == [3, 1, 1]
    assert named_facts(dataset, "train") == TRAIN.split("\n")


@pytest.mark.parametrize(
    ("dictionary", "line", "message"),
    [
        ("0 a\n1 b", 2, "entity 'c' is not in entities.dict"),  # line 2 of train.txt
        ("0 a\nb 1\n2 c", 2, "'b' is not an id"),
        ("0 a\n0 b\n2 c", 2, "given twice"),
        ("0 a\n1 a\n2 c", 2, "given twice"),
        ("0 a\n1 b\n3 c", None, "ids must run from 0 to 2; 2 is missing"),
        ("0 a\n1 b x\n2 c", 2, "expected id<TAB>name, found 3"),
    ],
)
def test_wrong_dictionaries_are_errors_with_their_line(tmp_path, dictionary, line, message):
    folder = folder_with(tmp_path, train_txt=TRAIN, valid_txt=VALID, test_txt=TEST, entities_dict=dictionary)
    with pytest.raises(DataError) as caught:
        load_dataset(folder)
    assert message in str(caught.value)
    assert caught.value.line == line


def test_a_relation_missing_in_its_dictionary_is_found_in_the_right_file(tmp_path):
    folder = folder_with(
        tmp_path, train_txt=TRAIN, valid_txt=VALID, test_txt="c r a\nc q a", relations_dict="0 r\n1 s"
    )
    with pytest.raises(DataError, match=r"test\.txt:2: relation 'q' is not in relations\.dict"):
        load_dataset(folder)


def test_label_files_give_display_names(tmp_path):
    folder = folder_with(tmp_path, train_txt=TRAIN, valid_txt=VALID, test_txt=TEST)
    (folder / "entity_labels.tsv").write_text("a\tAnn Lee\nz\tnot in the graph\n", encoding="utf-8")
    (folder / "relation_labels.tsv").write_text("r\tis related to\n", encoding="utf-8")
    vocab = load_dataset(folder).vocab
    assert vocab.entity_labels == {"a": "Ann Lee"}
    assert vocab.relation_label(2) == "is related to^-1"


def test_a_folder_with_train_only_is_split(tmp_path):
    folder = folder_with(tmp_path, train_txt="\n".join(f"{a} r {b}" for a in range(6) for b in range(6)))
    dataset = load_dataset(folder, seed=4)
    assert tuple(len(dataset.facts(s)) for s in ("train", "valid", "test")) == (29, 4, 3)
    assert dataset.source.endswith("seeded 80/10/10 split, seed 4")


def test_missing_or_double_splits_are_errors(tmp_path):
    folder = folder_with(tmp_path, test_txt=TEST)
    with pytest.raises(DataError, match="no train file; looked for"):
        load_dataset(folder)
    folder_with(tmp_path, train_txt=TRAIN)
    with pytest.raises(DataError, match=r"no valid file \(train.txt, test.txt found\)"):
        load_dataset(folder)
    folder_with(tmp_path, valid_txt=VALID, valid_csv="a,r,b")
    with pytest.raises(DataError, match=r"two valid files, valid.csv and valid.txt"):
        load_dataset(folder)


def test_ratios_for_data_that_are_split_already_are_an_error(tmp_path):
    folder = folder_with(tmp_path, train_txt=TRAIN, valid_txt=VALID, test_txt=TEST)
    with pytest.raises(DataError, match="is split already"):
        load_dataset(folder, ratios=(80, 10, 10))


@given(st.lists(st.integers(-5, 5)), st.lists(st.integers(-5, 5)))
def test_is_among_equals_isin(keys, others):
    found = is_among(np.array(keys, np.int64), np.array(others, np.int64))
    assert found.tolist() == np.isin(keys, others).tolist()
