"""Numbers and dates: which relations give attributes, what their values are, and where they go."""

import numpy as np
import pytest

import rnnlogic as rl
from rnnlogic.base.errors import DataError, RNNLogicError
from rnnlogic.data.attributes import Attribute, read_value, value_of, value_text
from rnnlogic.data.saving import pack_dataset, save_dataset, unpack_dataset
from rnnlogic.fit.transfer import dataset_with
from tests.helpers.people import people

FACTS = people()
ATTRIBUTES = (Attribute("age", "number"), Attribute("born", "date"))


def values(dataset, name):
    """The values of an attribute by entity."""
    row = dataset.values[dataset.vocab.attribute_id(name)]
    return {dataset.vocab.entities[i]: row[i] for i in np.flatnonzero(~np.isnan(row))}


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        ("60", "number", 60.0),
        ("-.5e1", "number", -5.0),
        ("1970-01-02", "date", 1.0),
        ("1969-12-31Z", "date", -1.0),
        ("1970-01-01T00:01", "time", 60.0),
        ("1970-01-01 01:00:00+01:00", "time", 0.0),
    ],
)
def test_values_are_read_and_written(text, kind, number):
    assert read_value(text) == (kind, number)
    assert value_of(value_text(number, kind), kind) == number


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "1e999", "2021-02-30", "1,5", "12 kg", "2021-13-01", "x1", "1970-01-01T25:00"]
)
def test_what_is_no_value(text):
    assert read_value(text) is None


def test_numbers_and_dates_are_found_and_are_no_entities():
    dataset = rl.load_dataset(FACTS)
    assert dataset.vocab.attributes == ATTRIBUTES
    assert dataset.vocab.relations == ("elder", "peer", "risk")
    assert set(dataset.vocab.entities) == {f"p{i}" for i in range(120)} | {"high", "low"}
    ages = {head: float(tail) for head, relation, tail in FACTS if relation == "age"}
    assert values(dataset, "age") == ages
    assert any(
        "age (numbers of 120 entities), born (dates of 120 entities); to read" in line
        for line in dataset.report.lines()
    )
    assert dataset.graph("all").values is dataset.values


def test_it_can_be_switched_off_and_forced():
    off = rl.load_dataset(FACTS, numeric="off")
    assert off.values is None
    assert "age" in off.vocab.relations
    assert "60" in off.vocab.entities
    assert off.graph("train").values is None
    assert rl.load_dataset(FACTS, numeric=["age"]).vocab.attributes == ATTRIBUTES[:1]
    few = [("a", "year", "1999"), ("b", "year", "2000"), ("a", "knows", "b"), ("b", "knows", "a")]
    assert rl.load_dataset(few).values is None
    assert values(rl.load_dataset(few, numeric="year"), "year") == {"a": 1999.0, "b": 2000.0}


@pytest.mark.parametrize(
    "facts",
    [
        [(f"p{i}", "born_in_decade", str(1900 + 10 * (i % 9))) for i in range(200)],  # few values: categories
        [(f"p{i}", "zip", f"0{1000 + i}") for i in range(200)],  # nobody writes numbers so
        [(str(i), "age", str(500 + i % 50)) for i in range(200)],  # heads are numbers, too
        [(f"p{i}", "likes", str(j)) for i in range(50) for j in range(i, i + 5)],  # several for each
        [(f"p{i}", "in", str(1900 + i)) for i in range(50)] + [("1901", "before", "1902")],  # have facts
        [(f"p{i}", "in", str(1900 + i)) for i in range(50)] + [("q", "saw", "1902"), ("q", "saw", "p1")],
    ],
)
def test_numbers_that_are_names_stay_entities(facts):
    dataset = rl.load_dataset([*facts, ("p1", "knows", "p2"), ("p2", "knows", "p3")])
    assert dataset.values is None


def test_a_dataset_by_name_is_read_as_it_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("RNNLOGIC_DATA", str(tmp_path))
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "train.txt").write_text("".join("\t".join(fact) + "\n" for fact in FACTS))
    assert rl.load_dataset("people").values is None
    assert rl.load_dataset("people", numeric="age").vocab.attributes == ATTRIBUTES[:1]
    assert rl.load_dataset(tmp_path / "people").vocab.attributes == ATTRIBUTES


def test_bad_values_have_one_clear_line():
    with pytest.raises(DataError, match=r"fact 3 \(p1 age 2021-02-30\).* correct it, delete the row"):
        rl.load_dataset(
            [("p0", "knows", "p1"), ("p1", "knows", "p0"), ("p1", "age", "2021-02-30")], numeric="age"
        )
    with pytest.raises(DataError, match="no relation has this name"):
        rl.load_dataset(FACTS, numeric="height")
    with pytest.raises(DataError, match="no facts are left: all tails are numbers or dates"):
        rl.load_dataset([fact for fact in FACTS if fact[1] == "age"])
    found = rl.load_dataset([*FACTS, ("p200", "age", "unborn")])
    assert any(
        "age: 1 value(s) skipped that are no number or date: 'unborn'" in line
        for line in found.report.lines()
    )
    again = rl.load_dataset([*FACTS, ("p1", "age", "31.5")])
    assert values(again, "age")["p1"] == values(rl.load_dataset(FACTS), "age")["p1"]
    assert any("age: 1 more value(s) than entities" in line for line in again.report.lines())


def test_attributes_are_not_predicted():
    vocab = rl.load_dataset(FACTS).vocab
    with pytest.raises(RNNLogicError, match=r"age holds numbers or dates.*not predicted.*--numeric off"):
        vocab.relation_id("age")


def test_attributes_are_kept_saved_and_extended(tmp_path):
    dataset = rl.load_dataset(FACTS, name="people")
    packed = unpack_dataset(*pack_dataset(dataset))
    assert packed.vocab.attributes == ATTRIBUTES
    np.testing.assert_array_equal(packed.values, dataset.values)
    saved = rl.load_dataset(save_dataset(dataset, tmp_path / "saved"))
    assert saved.vocab.entities == dataset.vocab.entities
    assert saved.vocab.attributes == ATTRIBUTES
    np.testing.assert_array_equal(saved.values, dataset.values)
    more = dataset_with(dataset, [("p1", "elder", "new")])
    assert more.graph("train").values.shape == (2, dataset.vocab.num_entities + 1)
    older = dataset_with(dataset, [("new", "age", "77"), ("p1", "elder", "new")])
    assert values(older, "age")["new"] == 77
    assert "new" not in values(dataset, "age")
    with pytest.raises(RNNLogicError, match=r"'2021-02-30', born of p1, is no date that exists"):
        dataset_with(dataset, [("p1", "born", "2021-02-30")])
    few = [("a", "age", "31"), ("a", "elder", "b"), ("b", "elder", "a")]
    assert values(rl.load_dataset(few, attributes=["age", "height"]), "age") == {"a": 31.0}
    names, arrays = pack_dataset(dataset)
    with pytest.raises(DataError, match="attributes do not fit"):
        unpack_dataset(names, {**arrays, "values": dataset.values[:1]})
    plain = rl.load_dataset([fact for fact in FACTS if fact[1] == "risk"])
    assert "values" not in pack_dataset(plain)[1]
    assert "attributes" not in pack_dataset(plain)[0]


def test_literals_of_rdf_by_their_datatype(tmp_path):
    (tmp_path / "g.ttl").write_text(
        "@prefix x: <http://x.org/> . @prefix s: <http://www.w3.org/2001/XMLSchema#> .\n"
        'x:a x:knows x:b ; x:age 7 ; x:born "1970-01-11"^^s:date ; x:note "7" .\n'
        'x:b x:knows x:a ; x:age x:unknown ; x:born "1970-02-30"^^s:date .\n'
    )
    dataset = rl.load_dataset(tmp_path / "g.ttl")
    assert values(dataset, "http://x.org/age") == {"http://x.org/a": 7.0}
    assert values(dataset, "x:born") == {"http://x.org/a": 10.0}
    assert dataset.report.literals == 2
    assert any("1970-02-30" in line and "no such value exists" in line for line in dataset.report.lines())
    assert "http://x.org/unknown" in dataset.vocab.entities  # a fact, not a value
