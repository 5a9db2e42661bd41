import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.data.readers import BLANKS
from rnnlogic.data.saving import save_dataset
from rnnlogic.data.vocab import Vocab


def assert_same(first: Dataset, second: Dataset) -> None:
    assert first.vocab == second.vocab
    assert first.vocab.entity_labels == second.vocab.entity_labels
    assert first.vocab.relation_labels == second.vocab.relation_labels
    for split in ("train", "valid", "test"):
        assert np.array_equal(first.facts(split), second.facts(split))


def test_a_saved_dataset_reads_back_the_same(tmp_path):
    dataset = load_dataset("nations")
    folder = save_dataset(dataset, tmp_path / "new" / "nations")
    assert sorted(path.name for path in folder.iterdir()) == ["test.txt", "train.txt", "valid.txt"]
    assert_same(load_dataset(folder), dataset)


def test_unsorted_names_and_labels_survive(tmp_path):
    vocab = Vocab(("z", "unused", "a"), ("s", "r"), {"z": "the last"}, {"s": "see"})
    train, valid, test = (np.array([fact], np.int32) for fact in ((0, 0, 2), (2, 0, 0), (0, 0, 0)))
    dataset = Dataset("odd", vocab, train, valid, test)
    assert_same(load_dataset(save_dataset(dataset, tmp_path)), dataset)


name = st.text(min_size=1, max_size=3).filter(
    lambda s: s == s.strip(BLANKS) and not set(s) & set("\t\n\ufeff")
)


@pytest.mark.filterwarnings("ignore::rnnlogic.data.dataset.DataWarning")
@given(st.lists(st.tuples(name, name, name), min_size=12, max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_names_read_back_the_same(tmp_path, triples):
    dense = [("a", "r", "a"), ("a", "r", "b"), ("b", "r", "a"), ("b", "r", "b")]
    dataset = load_dataset(triples + dense, ratios=(1, 1, 1))
    if len(dataset.valid) and len(dataset.test):
        assert_same(load_dataset(save_dataset(dataset, tmp_path / "saved", force=True)), dataset)


def test_a_folder_in_use_is_refused_unless_forced(tmp_path):
    (tmp_path / "notes.md").write_text("mine", encoding="utf-8")
    for name in ("train.csv", "dev.txt", "entities.dict"):
        (tmp_path / name).write_text("old", encoding="utf-8")
    dataset = load_dataset("nations")
    with pytest.raises(DataError, match="the folder is not empty"):
        save_dataset(dataset, tmp_path)
    assert (tmp_path / "train.csv").read_text(encoding="utf-8") == "old"
    save_dataset(dataset, tmp_path, force=True)
    assert_same(load_dataset(tmp_path), dataset)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["notes.md", "test.txt", "train.txt", "valid.txt"]


def test_an_empty_split_is_refused(tmp_path):
    dataset = load_dataset([("a", "r", "b")])
    with pytest.raises(DataError, match="valid split of facts is empty"):
        save_dataset(dataset, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be written"):
        save_dataset(load_dataset("nations"), tmp_path / "file" / "folder")
