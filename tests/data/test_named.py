"""Datasets by name: offline, from $RNNLOGIC_DATA, by download, and wrong names."""

import subprocess
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data import named
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.named import KNOWN

SPLITS = ("train", "valid", "test")


@pytest.mark.parametrize("name", ["x" * 5000, "é" * 200])
def test_a_name_too_long_for_any_file_is_unknown(name):
    with pytest.raises(DataError, match=r"unknown dataset '.{60}\.\.\.'"):
        load_dataset(name)


def sizes(dataset):
    return (
        dataset.vocab.num_entities,
        dataset.vocab.num_relations,
        *(len(dataset.facts(split)) for split in SPLITS),
    )


def published(name):
    known = KNOWN[name]
    return known.entities, known.relations, known.train, known.valid, known.test


@pytest.mark.parametrize("name", ["umls", "kinship", "nations"])
def test_offline_names_have_the_published_sizes(name):
    dataset = load_dataset(name)
    assert sizes(dataset) == published(name)
    assert dataset.report.lines() == []
    assert dataset.source.startswith("PyKEEN wheel")
    assert ("30/20/50 split, seed 0" in dataset.source) == (name != "nations")


def test_the_seed_and_ratios_decide_the_split():
    first, again, other = load_dataset("umls"), load_dataset("UMLS"), load_dataset("umls", seed=1)
    assert np.array_equal(first.test, again.test)
    assert not np.array_equal(first.test, other.test)
    assert len(load_dataset("nations", ratios=(50, 25, 25)).train) == 996


def test_offline_names_do_not_import_pykeen_or_torch():
    code = (
        "import sys; from rnnlogic.data.dataset import load_dataset; load_dataset('umls'); "
        "sys.exit(bool({'pykeen', 'torch', 'pandas', 'numba'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["umls", "kinship", "wn18rr", "fb15k-237"])
def test_the_authors_splits_have_the_published_sizes(name, authors_data, monkeypatch):
    monkeypatch.setenv("RNNLOGIC_DATA", str(authors_data))
    dataset = load_dataset(name)
    assert sizes(dataset) == published(name)
    assert dataset.report.duplicates == dataset.report.repeated == {}
    assert dataset.source == str(authors_data / name)


def test_test_facts_with_entities_unseen_in_train_stay(authors_data):
    dataset = load_dataset(authors_data / "wn18rr")
    in_train = set(dataset.train[:, [0, 2]].ravel().tolist())
    assert len(set(dataset.test[:, [0, 2]].ravel().tolist()) - in_train) == 209
    assert len(dataset.report.unseen_entities) == 384
    assert dataset.vocab.entity_label(dataset.vocab.entity_id("03964744")) == "toy"


def test_a_folder_of_that_name_goes_before_everything(tmp_path, monkeypatch):
    monkeypatch.setenv("RNNLOGIC_DATA", str(tmp_path))
    for name in ("umls", "my-own"):
        (tmp_path / name).mkdir()
        for split, fact in zip(SPLITS, ("a\tr\tb\nb\tr\tb\n", "b\tr\ta\n", "a\tr\ta\n"), strict=True):
            (tmp_path / name / f"{split}.txt").write_text(fact, encoding="utf-8")
        assert sizes(load_dataset(name)) == (2, 1, 2, 1, 1)
    assert load_dataset("kinship").source.startswith("PyKEEN wheel")
    assert named.local_names() == {name: tmp_path / name for name in ("my-own", "umls")}


def test_a_name_is_not_taken_as_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "umls").mkdir()
    assert sizes(load_dataset("umls")) == published("umls")
    with pytest.raises(DataError, match="no train file"):
        load_dataset("./umls")


def test_wrong_names_get_the_known_ones_and_the_nearest():
    with pytest.raises(DataError, match="unknown dataset 'kinshp'; did you mean 'kinship'") as caught:
        load_dataset("kinshp")
    assert "known: countries, umls, kinship, nations, hpo, fb15k-237, wn18rr" in str(caught.value)
    for path in ("no/such/folder", "facts.tsv"):
        with pytest.raises(DataError, match=f"^{path}: no such file or folder"):
            load_dataset(path)


class Offline:
    @property
    def training(self):
        raise ConnectionError("no network")


def test_a_failed_download_says_what_to_do(monkeypatch):
    import pykeen.datasets

    monkeypatch.setattr(pykeen.datasets, "WN18RR", Offline)
    with pytest.raises(DataError, match="'wn18rr' has to be downloaded") as caught:
        load_dataset("wn18rr")
    assert "RNNLOGIC_DATA" in str(caught.value)
    assert "wn18rr/train.txt" in str(caught.value)


def test_downloads_are_read_from_the_files_themselves(tmp_path, monkeypatch):
    """PyKEEN leaves out test facts whose entities train lacks; such facts must stay."""
    import pykeen.datasets

    texts = {"train": "a\tr\tb\n", "valid": "b\tr\ta\n", "test": "a\tr\tunseen\n"}
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for split, text in texts.items():
            archive.writestr(f"Release/{split}.txt", text)
            (tmp_path / f"{split}.txt").write_text(text, encoding="utf-8")
    packed = SimpleNamespace(
        training=1, path=tmp_path / "all.zip", relative_training_path=named.Path("Release/train.txt")
    )
    unpacked = SimpleNamespace(training=1, training_path=tmp_path / "train.txt")
    monkeypatch.setattr(pykeen.datasets, "FB15k237", lambda: packed)
    monkeypatch.setattr(pykeen.datasets, "WN18RR", lambda: unpacked)
    for name in ("fb15k-237", "wn18rr"):
        dataset = load_dataset(name)
        assert sizes(dataset) == (3, 1, 1, 1, 1)
        assert dataset.report.unseen_entities == ("unseen",)
        assert dataset.source.startswith("PyKEEN download")
