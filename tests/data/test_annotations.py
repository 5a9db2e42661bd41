"""Weights and sources: read, checked, put together, filtered, kept."""

import json

import numpy as np
import pandas as pd
import pytest

from rnnlogic.base.errors import DataError, UnknownNameError
from rnnlogic.base.files import begin_manifest
from rnnlogic.data.annotations import Annotations, FactNotes, Told, combined, noted, parsed_sources
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.saving import pack_dataset, save_dataset, unpack_dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.runs.dataset import read_dataset, write_dataset
from rnnlogic.runs.folder import fingerprint
from tests.helpers.family import family, family_facts
from tests.helpers.reading import DRUGS, facts_of

WEIGHTS = (0.9, 0.5, 1.0, 0.25, 0.8, 0.7)
SOURCES = ("ORPHA", "ORPHA|OMIM", "OMIM", "review; OMIM", "x<SEP>y", "OMIM")
HEADER = "subject,predicate,object,score,reference\n"


def scored(path, weights=WEIGHTS, sources=SOURCES, more=""):
    rows = [[*fact, str(w), s] for fact, w, s in zip(DRUGS, weights, sources, strict=True)]
    path.write_text(HEADER + "".join(",".join(row) + "\n" for row in rows) + more, encoding="utf-8")
    return path


def told(dataset) -> dict:
    """Weight and sources of every fact, by name."""
    vocab = dataset.vocab
    rows = [row for split in ("train", "valid", "test") for row in dataset.facts(split).tolist()]
    return {
        (vocab.entities[h], vocab.relations[r], vocab.entities[t]): (
            dataset.weight_of((h, r, t)),
            dataset.sources_of((h, r, t)),
        )
        for h, r, t in rows
    }


EXPECTED = {
    fact: (weight, sources)
    for fact, weight, sources in zip(
        DRUGS,
        WEIGHTS,
        [("ORPHA",), ("OMIM", "ORPHA"), ("OMIM",), ("OMIM", "review"), ("x", "y"), ("OMIM",)],
        strict=True,
    )
}


def test_named_columns_give_weights_and_sources(tmp_path):
    dataset = load_dataset(scored(tmp_path / "f.csv"), weight="score", source="reference")
    assert told(dataset) == EXPECTED
    assert dataset.report.notes == (
        "columns: head = 'subject', relation = 'predicate', tail = 'object', weight = 'score', "
        "source = 'reference'",
    )


def test_a_column_that_is_merely_there_is_not_used_but_named(tmp_path):
    dataset = load_dataset(scored(tmp_path / "f.csv"))
    assert dataset.annotations is None
    assert dataset.weights("train") is None
    assert dataset.weight_of(dataset.train[0]) == 1.0
    assert dataset.sources_of(dataset.train[0]) == ()
    assert dataset.report.notes[1:] == (
        "--weight score (weight= in Python) gives each fact its weight; it is not used",
        "--source reference (source= in Python) gives each fact its sources; it is not used",
    )


def rows():
    return [(*fact, w, s) for fact, w, s in zip(DRUGS, WEIGHTS, SOURCES, strict=True)]


@pytest.mark.parametrize("kind", ["list", "array", "frame", "plain TSV", "JSON Lines", "database"])
def test_every_table_can_have_them(kind, tmp_path):
    names = ["head", "relation", "tail", "p", "from"]
    frame = pd.DataFrame(rows(), columns=names)
    options = {"weight": 4, "source": "5"}
    if kind == "list":
        data = rows()
    elif kind == "array":
        data = frame.to_numpy()
    elif kind == "frame":
        data, options = frame, {"weight": "p", "source": "from"}
    elif kind == "plain TSV":
        data = tmp_path / "f.txt"
        frame.to_csv(data, sep="\t", header=False, index=False)
    elif kind == "JSON Lines":
        data, options = tmp_path / "f.jsonl", {"weight": "p", "source": "from"}
        frame.to_json(data, orient="records", lines=True)
    else:
        import sqlite3

        data = sqlite3.connect(":memory:")
        frame.to_sql("facts", data, index=False)
        options = {
            "weight": "p",
            "source": "from",
            "query": 'SELECT head, relation, tail, p, "from" FROM facts',
        }
    assert told(load_dataset(data, **options)) == EXPECTED


def test_headers_of_txt_files_count_once_a_column_is_named(tmp_path):
    path = tmp_path / "f.txt"
    lines = ["head\trelation\ttail\tscore", *("\t".join([*fact, "0.5"]) for fact in DRUGS)]
    path.write_text("\n".join(lines), encoding="utf-8")
    dataset = load_dataset(path, weight="score")
    assert facts_of(dataset) == set(DRUGS)
    assert set(dataset.weights("train")) == {0.5}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("nan", "weight 'nan' in column 'score' is not above 0 and at most 1; correct it"),
        ("inf", "weight 'inf'"),
        ("0", "weight '0' .* correct it, or delete the row"),
        ("-0.5", "weight '-0.5'"),
        ("7", "weight '7' .* divide it: --weight score/10$"),
        ("450", "divide it: --weight score/1000"),
        ("much", "weight 'much'"),
        ("0,5", "expected 5 comma-separated columns"),
    ],
)
def test_a_bad_weight_is_one_line_with_its_row_and_the_remedy(tmp_path, bad, said):
    path = scored(tmp_path / "f.csv", weights=(0.9, bad, 1, 1, 1, 1))
    with pytest.raises(DataError, match=rf"f\.csv:3: .*{said}") as caught:
        load_dataset(path, weight="score")
    assert "\n" not in str(caught.value)


def test_a_weight_that_is_missing_is_an_empty_cell(tmp_path):
    path = scored(tmp_path / "f.csv", weights=("", 1, 1, 1, 1, 1))
    with pytest.raises(DataError, match=r"f\.csv:2: the weight is empty; .*--skip-incomplete"):
        load_dataset(path, weight="score")
    assert DRUGS[0] not in told(load_dataset(path, weight="score", skip_incomplete=True))
    assert load_dataset(path, source="reference").report.incomplete == 0


def test_a_column_may_be_divided(tmp_path):
    path = scored(tmp_path / "f.csv", weights=[round(1000 * w) for w in WEIGHTS])
    weights = {fact: weight for fact, (weight, _) in told(load_dataset(path, weight="score/1000")).items()}
    assert weights == dict(zip(DRUGS, WEIGHTS, strict=True))
    for wrong in ("score/0", "score/x", "score/nan"):
        with pytest.raises(DataError, match="is not a number above 0 to divide by"):
            load_dataset(path, weight=wrong)


def test_rows_about_one_fact_are_put_together(tmp_path):
    more = "aspirin,treats,headache,0.5,OMIM\naspirin,treats,headache,0.5,review\n"
    dataset = load_dataset(scored(tmp_path / "f.csv", more=more), weight="score", source="reference")
    weight, sources = told(dataset)[DRUGS[0]]
    assert weight == pytest.approx(1 - 0.1 * 0.5 * 0.5)
    assert sources == ("OMIM", "ORPHA", "review")
    assert dataset.report.joined == 1
    assert any("1 - (1-a)(1-b), sources add up" in line for line in dataset.report.lines())
    assert {fact: one for fact, one in told(dataset).items() if fact != DRUGS[0]} == {
        fact: one for fact, one in EXPECTED.items() if fact != DRUGS[0]
    }


def test_an_inverse_fact_brings_its_weight():
    dataset = load_dataset([("a", "r", "b", 0.5), ("b", "!r", "a", 0.5), ("b", "r", "c", 0.3)], weight=4)
    assert {w for w, _ in told(dataset).values()} == {0.75, 0.3}
    forward = (0, 0, 1)
    assert dataset.weight_of(forward) == dataset.weight_of((1, 1, 0)) == 0.75  # r^-1 has the id 1


def test_facts_can_be_left_out_by_weight_and_by_source(tmp_path):
    path = scored(tmp_path / "f.csv")
    heavy = load_dataset(path, weight="score", min_weight=0.8)
    assert told(heavy).keys() == {fact for fact, w in zip(DRUGS, WEIGHTS, strict=True) if w >= 0.8}
    assert heavy.report.too_light == 3
    assert set(heavy.vocab.entities) == {
        name for h, _, t in told(heavy) for name in (h, t)
    }  # none is left over
    without = load_dataset(path, source="reference", without_source="OMIM")
    assert told(without).keys() == {DRUGS[0], DRUGS[1], DRUGS[3], DRUGS[4]}
    assert told(without)[DRUGS[1]] == (1.0, ("ORPHA",))
    assert without.report.excluded == 2
    assert told(
        load_dataset(path, source="reference", without_source=["OMIM", "ORPHA", "review"])
    ).keys() == {DRUGS[4]}


def test_a_row_of_an_unwanted_source_does_not_count_towards_the_weight(tmp_path):
    path = scored(tmp_path / "f.csv", more="aspirin,treats,headache,0.5,gossip\n")
    both = load_dataset(path, weight="score", source="reference")
    without = load_dataset(path, weight="score", source="reference", without_source="gossip")
    assert told(both)[DRUGS[0]] == (pytest.approx(0.95), ("ORPHA", "gossip"))
    assert told(without)[DRUGS[0]] == (0.9, ("ORPHA",))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weight": "scor"}, "no column 'scor' among 'subject'"),
        ({"source": "9"}, "a number from 1 to 5"),
        ({"min_weight": 0.5}, "needs the column of the weights: --weight COLUMN"),
        ({"weight": "score", "min_weight": 7}, "least weight is 7; it must be above 0 and at most 1"),
        ({"without_source": "OMIM"}, "needs the column: --source COLUMN"),
        (
            {"source": "reference", "without_source": "Omim"},
            "no fact has the source 'Omim'; sources are OMIM",
        ),
        (
            {"weight": "score", "min_weight": 1.0, "source": "reference", "without_source": "OMIM"},
            "no facts are",
        ),
        ({"weight": ""}, "needs a name or a number"),
    ],
)
def test_wrong_options_are_one_clear_line(tmp_path, options, said):
    with pytest.raises(DataError, match=said):
        load_dataset(scored(tmp_path / "f.csv"), **options)


def test_formats_without_columns_refuse_them(tmp_path):
    path = tmp_path / "f.nt"
    path.write_text("<http://a> <http://r> <http://b> .\n", encoding="utf-8")
    with pytest.raises(DataError, match="these facts have no column for a weight; leave out --weight"):
        load_dataset(path, weight="score")
    with pytest.raises(DataError, match="no column 'where' among"):
        load_dataset("umls", source="where")


def test_splits_keep_their_weights_beside_their_facts(tmp_path):
    for split, weight in (("train", 0.5), ("valid", 0.25), ("test", 0.125)):
        (tmp_path / f"{split}.csv").write_text(
            f"head,relation,tail,p\na,r,{split}\n{split},r,a,{weight}\n".replace(
                f"a,r,{split}\n", f"a,r,{split},1\n"
            ),
            encoding="utf-8",
        )
    dataset = load_dataset(tmp_path, weight="p")
    assert [sorted(dataset.weights(s)) for s in ("train", "valid", "test")] == [
        [0.5, 1],
        [0.25, 1],
        [0.125, 1],
    ]
    (tmp_path / "test.csv").write_text("head,relation,tail\na,r,b\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"test\.csv:1: no column 'p'"):
        load_dataset(tmp_path, weight="p")


def test_a_graph_without_weights_is_what_it_is_with_all_of_them_one():
    facts = family_facts(3)
    plain, ones = load_dataset(facts), load_dataset([(*fact, 1) for fact in facts], weight=4)
    assert plain.vocab == ones.vocab
    for split in ("train", "valid", "test"):
        np.testing.assert_array_equal(plain.facts(split), ones.facts(split))
        np.testing.assert_array_equal(ones.weights(split), 1.0)


def test_combining_agrees_with_a_plain_loop():
    rng = np.random.default_rng(0)
    facts = rng.integers(0, 4, (300, 3)).astype(np.int32)
    weights, cells = rng.uniform(0.01, 1, 300), rng.integers(0, 5, 300).astype(np.int32)
    sets = parsed_sources(["a", "b|a", "c;d", "", "d<SEP>a"])
    found = combined(Told(facts, weights, cells, sets))
    missing: dict[tuple, float] = {}
    sources: dict[tuple, set] = {}
    for fact, weight, cell in zip(map(tuple, facts.tolist()), weights, cells, strict=True):
        missing[fact] = missing.get(fact, 1.0) * (1 - weight)
        sources.setdefault(fact, set()).update(sets[cell])
    assert len(found.facts) == len(missing)
    for fact, left in missing.items():
        assert found.weights_of(np.array([fact], np.int32))[0] == pytest.approx(1 - left)
        assert found.sources_of(fact) == tuple(sorted(sources[fact]))


def test_unknown_facts_have_weight_one_and_no_source():
    notes = Annotations(np.array([[0, 0, 1]], np.int32), np.array([0.5]), np.array([0], np.int32), (("a",),))
    asked = np.array([[0, 0, 1], [1, 0, 0], [9, 0, 1], [0, 9, 1], [-1, 0, 1]], np.int32)
    np.testing.assert_array_equal(notes.weights_of(asked), [0.5, 1, 1, 1, 1])
    assert [notes.sources_of(fact) for fact in asked[:3].tolist()] == [("a",), (), ()]


def test_they_survive_a_run_folder(tmp_path):
    dataset = load_dataset(scored(tmp_path / "f.csv"), weight="score", source="reference")
    names, arrays = pack_dataset(dataset)
    assert told(unpack_dataset(json.loads(json.dumps(names)), arrays)) == EXPECTED
    (tmp_path / "run").mkdir()
    begin_manifest(tmp_path / "run")
    write_dataset(tmp_path / "run", dataset)
    assert told(read_dataset(tmp_path / "run")) == EXPECTED


def test_an_unweighted_graph_packs_as_before():
    names, arrays = pack_dataset(family())
    assert set(arrays) == {"train", "valid", "test"}
    assert "source_sets" not in names


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("train_weights", 0.0, "a weight is not above 0"),
        ("train_weights", 2.0, "a weight is not above 0"),
        ("train_sources", 99, "a source has no name"),
        ("valid_weights", None, "weights do not fit the facts"),
    ],
)
def test_damaged_arrays_are_refused(tmp_path, name, value, said):
    names, arrays = pack_dataset(load_dataset(scored(tmp_path / "f.csv"), weight="score", source="reference"))
    if value is None:
        del arrays[name]
    else:
        arrays[name] = np.full_like(arrays[name], value)
    with pytest.raises(DataError, match=said):
        unpack_dataset(names, arrays)


def test_a_fit_resumes_only_with_the_same_weights(tmp_path):
    path = scored(tmp_path / "f.csv")
    plain, one = fingerprint(load_dataset(path)), fingerprint(load_dataset(path, weight="score"))
    other = fingerprint(load_dataset(path, weight="score", source="reference"))
    assert plain.keys() < one.keys() < other.keys()
    changed = scored(tmp_path / "f.csv", weights=(0.8, *WEIGHTS[1:]))
    assert fingerprint(load_dataset(changed, weight="score")) != one


def test_a_saved_folder_comes_back_with_them(tmp_path):
    dataset = load_dataset(scored(tmp_path / "f.csv"), weight="score", source="reference", ratios=(1, 1, 1))
    folder = save_dataset(dataset, tmp_path / "out")
    assert told(load_dataset(folder, weight="weight", source="source")) == EXPECTED
    assert facts_of(load_dataset(folder)) == set(DRUGS)


def test_a_source_may_be_missing(tmp_path):
    path = scored(tmp_path / "f.csv", sources=("", *SOURCES[1:]))
    dataset = load_dataset(path, weight="score", source="reference", ratios=(1, 1, 1))
    assert told(dataset)[DRUGS[0]] == (0.9, ())
    assert DRUGS[0] in told(load_dataset(path, source="reference", without_source="OMIM"))
    folder = save_dataset(dataset, tmp_path / "out")
    assert told(load_dataset(folder, weight="weight", source="source")) == told(dataset)


def test_what_is_shown_beside_a_fact():
    facts = np.array([(0, 0, 1), (1, 0, 2), (2, 0, 3)], np.int32)
    notes = Annotations(
        facts, np.array([0.8, 1.0, 0.25]), np.array([0, 1, 2], np.int32), (("A",), (), ("A", "B"))
    )
    told = FactNotes(notes, frozenset({(1, 0, 2)}))
    rows = [tuple(fact) for fact in facts.tolist()]
    assert [told.text(fact) for fact in rows] == [" (.8, A)", " (review)", " (.25, A, B)"]
    assert told.text((3, 0, 3)) == ""
    assert told.sources_in_words(rows) == "2 of 3 facts from A, 1 from B, 1 from review"
    assert told.sources_in_words(rows[:1]) == "from A"
    assert told.sources_in_words([(3, 0, 3)]) == ""
    assert told.as_dict(rows[0]) == {"weight": 0.8, "sources": ["A"]}
    vocab = noted(Vocab(("a", "b", "c", "d"), ("r",)), notes, facts[:0])
    assert vocab.told_of(1, 1, 0) == " (.8, A)"  # the fact read backwards
    assert noted(vocab, None, facts[:0]) is vocab


def test_graphs_of_a_dataset_know_the_weights(tmp_path):
    dataset = load_dataset(scored(tmp_path / "f.csv"), weight="score")
    graph = dataset.graph("all")
    for fact in graph.triples().tolist():
        found = graph.weights_of(*(np.array([part]) for part in fact))
        assert found[0] == pytest.approx(dataset.weight_of(fact), abs=1 / 512)
    assert load_dataset(scored(tmp_path / "f.csv")).graph("all").weights is None


def test_facts_that_only_one_source_has(tmp_path):
    dataset = load_dataset(scored(tmp_path / "f.csv"), source="reference")
    assert sorted(dataset.facts_from("OMIM")) == sorted(
        fact for fact, told in EXPECTED.items() if told[1] == ("OMIM",)
    )
    with pytest.raises(UnknownNameError, match="OMIM"):
        dataset.facts_from("OMIN")
    with pytest.raises(UnknownNameError):
        family().facts_from("OMIM")
