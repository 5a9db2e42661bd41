"""Readings that look wrong raise an alarm; ordinary graphs raise none."""

import warnings

import numpy as np
import pytest

from rnnlogic.data.dataset import DataWarning, load_dataset
from tests.helpers.family import family_facts
from tests.helpers.reading import DRUGS, read, table


def lines_of(facts) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return load_dataset(facts).report.lines()


def doubted(facts) -> str:
    """The doubt, if there is one."""
    return next((line for line in lines_of(facts) if line.startswith("please check")), "")


def swapped(facts, order):
    return [tuple(fact[i] for i in order) for fact in facts]


def random_facts(entities, relations, count, seed=0):
    rng = np.random.default_rng(seed)
    ends, kinds = rng.integers(0, entities, (count, 2)), rng.integers(0, relations, count)
    return [(f"e{h}", f"r{k}", f"e{t}") for (h, t), k in zip(ends, kinds, strict=True)]


@pytest.mark.parametrize(
    "facts",
    [
        DRUGS,
        family_facts(),
        family_facts(1, 1),
        [("socrates", "is", "man"), ("man", "becomes", "mortal")],
        random_facts(14, 55, 2000),  # like Nations
        random_facts(135, 46, 6500),  # like UMLS
        random_facts(1093, 142, 1993),  # like the smallest inductive graph of FB15k-237
        [(f"person{i}", "likes", f"film{i % 7}") for i in range(50)],
        [(f"person{i}", r, f"city{i % 3}") for i in range(20) for r in ("born in", "lives in")],
        [("sun", "shines on", f"place{i}") for i in range(9)],
    ],
)
def test_ordinary_graphs_raise_no_alarm(facts):
    assert doubted(facts) == ""


@pytest.mark.parametrize("name", ["umls", "kinship", "nations"])
def test_named_datasets_raise_no_alarm(name):
    assert load_dataset(name).report.doubts == ()


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 0, 1), (1, 0, 2), (1, 2, 0)])
@pytest.mark.parametrize(
    "facts",
    [
        DRUGS,
        family_facts(),
        [(f"p{i}", r, f"c{i % 20}") for i in range(1000) for r in ("born in", "lives in")],
    ],
    ids=["drugs", "family", "cities"],
)
def test_columns_in_another_order_are_noticed(facts, order):
    facts = swapped(facts, order)
    first = "{} -{}-> {}".format(*facts[0])
    said = doubted(facts)
    assert f"so that {first}, " in said
    assert "--columns head,relation,tail (columns= in Python)" in said


def test_a_relation_for_every_fact_is_noticed():
    assert "every fact has a relation of its own (8)" in doubted(
        [(f"a{i}", f"r{i}", f"a{i + 1}") for i in range(8)]
    )


def test_more_relations_than_facts_can_support_are_noticed():
    assert "there are 60 relations for 194 entities and 400 facts" in doubted(random_facts(200, 60, 400))
    assert doubted(random_facts(200, 60, 620)) == ""  # ten facts for each
    assert doubted(random_facts(2000, 60, 590)) == ""  # ten entities for each


def test_a_header_we_do_not_know_is_noticed(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text(table(["drug", "effect", "illness"], DRUGS), encoding="utf-8")
    with pytest.warns(DataWarning, match="the first row looks like a header that we do not know") as caught:
        _, lines = read(path)
    assert "so that drug -effect-> illness, aspirin -treats-> headache" in lines[0]
    assert "(--columns drug,effect,illness reads it as one)" in lines[0]
    assert len(caught) == 1
    facts, lines = read(path, columns="drug,effect,illness")  # the way out
    assert facts == set(DRUGS)
    assert not any("please check" in line for line in lines)


def test_a_header_above_numbered_columns_is_noticed(tmp_path):
    path = tmp_path / "f.csv"
    rows = [("2001", *fact) for fact in DRUGS[:3]]
    path.write_text(table(["when", "drug", "effect", "illness"], rows, ",", range(4)), encoding="utf-8")
    with pytest.warns(DataWarning, match="the first row looks like a header.*so that drug -effect-> illness"):
        load_dataset(path, columns="2,3,4")
    facts, lines = read(path, columns="drug,effect,illness")
    assert facts == set(DRUGS[:3])
    assert not any("please check" in line for line in lines)


def test_a_header_that_comes_again_is_noticed(tmp_path):
    text = table(["source", "target", "type"], DRUGS, ",", (0, 2, 1))
    path = tmp_path / "f.csv"
    path.write_text(text + text, encoding="utf-8")  # as `cat *.csv` does it
    with pytest.warns(DataWarning, match="the header source, type, target seems to occur again"):
        load_dataset(path)


def test_one_doubtful_file_of_three_is_enough(tmp_path):
    for split, header in (("train", None), ("valid", ["h", "t", "r"]), ("test", ["h", "t", "r"])):
        text = table(header, DRUGS if split == "train" else DRUGS[:1], ",", (0, 2, 1))
        (tmp_path / f"{split}.csv").write_text(text, encoding="utf-8")
    with pytest.warns(DataWarning, match="so that aspirin -headache-> treats"):
        load_dataset(tmp_path)


def test_a_known_header_in_a_txt_file_is_noticed(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text(table(["subject", "object", "predicate"], DRUGS, "\t", (0, 2, 1)), encoding="utf-8")
    with pytest.warns(DataWarning, match="looks like a header but was read as a fact"):
        load_dataset(path)
    assert read(path, columns="subject,predicate,object")[0] == set(DRUGS)


def test_rows_of_a_list_are_numbered_from_one_in_columns():
    facts, lines = read(swapped(DRUGS, (0, 2, 1)), columns="1,3,2")
    assert facts == set(DRUGS)
    assert lines == []


def test_missing_values_written_as_text_are_not_learned_from(tmp_path):
    path = tmp_path / "f.csv"
    words = ["nan", "N/A", "NULL", "-", "unknown", "NA"]
    rows = "".join(f"only{i},r,{word}\n" for i, word in enumerate(words))
    path.write_text(f"head,relation,tail\n{rows}b,r,Na\n", encoding="utf-8")
    facts, lines = read(path)
    assert facts == {("b", "r", "Na")}  # sodium
    assert load_dataset(path).vocab.entities == ("Na", "b")
    assert lines[-1].startswith(
        "6 fact(s) skipped whose name stands for a missing value: nan, N/A, NULL, -, "
    )
    assert len(read(path, keep_null_words=True)[0]) == 7


def test_a_dictionary_means_its_names(tmp_path):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text(f"unknown\tr\t{split}\n", encoding="utf-8")
    (tmp_path / "entities.dict").write_text("0\tunknown\n1\ttrain\n2\tvalid\n3\ttest\n", encoding="utf-8")
    assert ("unknown", "r", "train") in read(tmp_path)[0]


def test_names_that_may_be_one_are_noticed(tmp_path):
    path = tmp_path / "f.csv"
    rows = [
        ("Ann Müller", "PUBLISHES WITH", "O'Reilly"),
        ("ann  muller", "publishes with", "Springer"),
        ("Ann", "reads", "books"),
        ("Bob", "reads", "book"),
        ("aB3x", "reads", "AB3X"),  # codes, whose case may mean something
        ("virus", "causes", "viru"),
    ]
    path.write_text(table(["head", "relation", "tail"], rows), encoding="utf-8")
    with pytest.warns(
        DataWarning, match="relations 'PUBLISHES WITH' and 'publishes with' differ only"
    ) as caught:
        load_dataset(path)
    said = [str(one.message) for one in caught]
    assert len(said) == 2
    assert "'Ann Müller' and 'ann  muller', 'book' and 'books' differ only by case, blanks" in said[1]
    assert "AB3X" not in said[1]
    assert "virus" not in said[1]


def test_relations_with_a_single_fact_are_noticed():
    facts = [(f"a{i}", "likes", f"b{i % 5}") for i in range(20)]
    assert doubted(facts) == ""
    assert "1 relation has a single fact, so nothing can be learned of it: lieks" in doubted(
        [*facts, ("a1", "lieks", "b2")]
    )


def test_names_in_an_alarm_are_short_and_harmless():
    facts = [("\x1b[31mred" + "x" * 99, f"r{i}", "b") for i in range(8)]
    said = doubted(facts)
    assert "\x1b" not in said
    assert "?[31mredxxx" in said
    assert "x" * 41 not in said


@pytest.mark.filterwarnings("ignore::rnnlogic.data.dataset.DataWarning")
def test_doubts_survive_as_json():
    report = load_dataset(random_facts(200, 60, 400)).report
    assert type(report)(**report.as_dict()) == report
