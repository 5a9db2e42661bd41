"""Every accepted form of the same facts gives the same dataset."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rnnlogic.base.errors import DataError, RNNLogicError
from rnnlogic.data.dataset import Dataset, load_dataset

FACTS = [(f"e{a}", f"r{(a * a + b) % 3}", f"e{b}") for a in range(7) for b in range(7) if (a + b) % 3]
NAMED = {"subject": 0, "predicate": 1, "object": 2}


def same(first: Dataset, second: Dataset) -> bool:
    return first.vocab == second.vocab and all(
        np.array_equal(first.facts(split), second.facts(split)) for split in ("train", "valid", "test")
    )


@pytest.fixture(scope="module")
def expected() -> Dataset:
    return load_dataset(FACTS, seed=2)


def as_text(separator: str) -> str:
    return "".join(separator.join(fact) + "\n" for fact in FACTS)


@pytest.mark.parametrize(
    "form",
    [
        list(reversed(FACTS)),
        [list(fact) for fact in FACTS],
        iter(FACTS),
        np.array(FACTS),
        np.array(FACTS, dtype=object),
        pd.DataFrame(FACTS),
        pd.DataFrame(FACTS, columns=["x", "y", "z"]),
        pd.DataFrame([(t, h, r, 1.0) for h, r, t in FACTS], columns=["Tail", "Head", "Relation", "weight"]),
        pl.DataFrame(FACTS, schema=["h", "r", "t"], orient="row"),
        pl.DataFrame({key: [fact[i] for fact in FACTS] for key, i in NAMED.items()}),
    ],
    ids=lambda form: type(form).__name__,
)
def test_objects_in_memory(form, expected):
    assert same(load_dataset(form, seed=2), expected)


def test_files_and_folders(tmp_path, expected):
    (tmp_path / "f.csv").write_text("head,relation,tail\n" + as_text(","), encoding="utf-8")
    (tmp_path / "f.tsv.gz").write_bytes(gzip.compress(as_text("\t").encode()))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "train.txt").write_text(as_text("\t"), encoding="utf-8")
    for form in (tmp_path / "f.csv", str(tmp_path / "f.tsv.gz"), tmp_path / "folder"):
        assert same(load_dataset(form, seed=2), expected)
    assert load_dataset(tmp_path / "f.tsv.gz").name == "f"
    assert load_dataset(tmp_path / "f.csv", name="mine").name == "mine"


def test_rdf_files(tmp_path, expected):
    (tmp_path / "f.nt").write_text(
        "".join("<x:{}> <x:{}> <x:{}> .\n".format(*fact) for fact in FACTS), encoding="utf-8"
    )
    dataset = load_dataset(tmp_path / "f.nt", seed=2)
    assert [name.removeprefix("x:") for name in dataset.vocab.entities] == list(expected.vocab.entities)
    assert np.array_equal(dataset.train, expected.train)


def test_pykeen_factories_and_datasets(expected):
    from pykeen.datasets import EagerDataset
    from pykeen.triples import CoreTriplesFactory, TriplesFactory

    factory = TriplesFactory.from_labeled_triples(np.array(FACTS))
    assert same(load_dataset(factory, seed=2), expected)
    parts = factory.split([0.8, 0.1, 0.1], random_state=0)
    dataset = load_dataset(EagerDataset(parts[0], parts[2], parts[1]))
    assert [len(dataset.facts(s)) for s in ("train", "valid", "test")] == [p.num_triples for p in parts]
    kept = {tuple(row) for row in parts[2].triples.tolist()}
    entities, relations = dataset.vocab.entities, dataset.vocab.relations
    assert {(entities[h], relations[r], entities[t]) for h, r, t in dataset.test.tolist()} == kept
    with pytest.raises(DataError, match="no validation facts"):
        load_dataset(EagerDataset(parts[0], parts[2]))
    unnamed = CoreTriplesFactory.create(factory.mapped_triples)
    assert load_dataset(unnamed).vocab.relations == ("0", "1", "2")


def test_integer_ids_become_names():
    dataset = load_dataset(np.array([[10, 0, 9], [9, 0, 10], [9, 1, 9]]))
    assert dataset.vocab.entities == ("10", "9")
    assert dataset.vocab.relations == ("0", "1")


def test_a_loaded_dataset_is_returned_as_it_is(expected):
    assert load_dataset(expected) is expected
    assert load_dataset(expected, name="other").name == "other"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (
            [("a", "r", "b"), ("a", "r")],
            "list of facts, row 1: expected 3 columns (head, relation, tail), found 2",
        ),
        ([("a", "r", "b"), ("a", None, "b")], "list of facts, row 1: the relation is empty; fill it in"),
        ([("a", "r", float("nan"))], "list of facts, row 0: the tail is empty"),
        ([("a", "r", " ")], "list of facts, row 0: the tail is empty"),
        ([("a", "r", "b\nc")], "list of facts, row 0: the tail 'b\\nc' contains a TAB or line break"),
        (["abc"], "row 0: 'abc' is not a triple"),
        ([], "no facts"),
        (np.zeros((4, 2)), "must have shape [n, 3], not [4, 2]"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "three columns, or columns named head/relation/tail"),
        (
            pd.DataFrame({"h": ["x", None], "r": ["y", "y"], "t": ["z", "z"]}),
            "data frame, row 1: the head is empty",
        ),
        (
            pl.DataFrame({"h": ["x", None], "r": ["y", "y"], "t": ["z", "z"]}),
            "data frame, row 1: the head is empty",
        ),
        (7, "cannot read facts from int"),
    ],
)
def test_wrong_objects_are_errors(form, message):
    with pytest.raises(DataError) as caught:
        load_dataset(form)
    assert message in str(caught.value)


def test_graphs_hold_the_evidence_asked_for(expected):
    sizes = {e: len(expected.graph(e)) for e in ("train", "train+valid", "all")}
    train, valid, test = (len(expected.facts(s)) for s in ("train", "valid", "test"))
    assert sizes == {"train": train, "train+valid": train + valid, "all": train + valid + test}
    assert expected.graph("all") is expected.graph("all")
    assert expected.graph("all").num_entities == expected.graph().num_entities == 7


def test_unknown_splits_and_evidence_are_errors(expected):
    with pytest.raises(RNNLogicError, match="unknown split 'tset'; did you mean 'test'"):
        expected.facts("tset")
    with pytest.raises(RNNLogicError, match="unknown evidence 'trian'"):
        expected.graph("trian")
