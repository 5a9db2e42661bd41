"""Rules from files, run folders and memory, in the ids of a dataset."""

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError, RuleError
from rnnlogic.data.dataset import load_dataset
from rnnlogic.rules.formats import write_table
from rnnlogic.rules.rule import format_rule
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable
from rnnlogic.runs.folder import Run
from rnnlogic.runs.given import read_given
from tests.helpers.family import RULES, family, family_facts, given_rules, tiny_config


@pytest.fixture(scope="module")
def data():
    return family()


def texts(rules, dataset):
    return [format_rule(rule, dataset.vocab) for rule in rules]


@pytest.mark.parametrize("kind", ["text", "jsonl", "ids", "anyburl"])
def test_every_format_is_recognised(data, tmp_path, kind):
    rules = RuleSet.from_text(list(RULES), data.vocab)
    figures = {"predictions": [4] * 6, "support": [2] * 6, "confidence": [0.5] * 6}
    table = RuleTable(rules, figures | {"weight": list(RULES.values())})
    write_table(tmp_path / "rules.file", table, data.vocab, kind)
    given = read_given(tmp_path / "rules.file", data.vocab)
    assert set(given.rules) >= set(rules)
    assert len(given.rules) == 6 if kind != "anyburl" else 12
    if kind == "jsonl":
        np.testing.assert_array_equal(given.weights, list(RULES.values()))
    else:
        assert given.weights is None
    assert given.log_prior is None


def test_a_run_folder_with_another_order_of_relations(data, tmp_path):
    first = ("child0_0", "age", "9")
    other = load_dataset([first, *reversed(family_facts())], ratios=(60, 20, 20), name="other")
    assert other.vocab.relation_id("parent") != data.vocab.relation_id("parent")
    learned = given_rules(other)
    Run.create(tmp_path / "run", other, tiny_config()).finish(learned)
    given = read_given(str(tmp_path / "run"), data.vocab)
    assert texts(given.rules, data) == texts(learned.rules, other)
    np.testing.assert_array_equal(given.weights, learned.weights)
    np.testing.assert_array_equal(given.log_prior, learned.log_prior)


def test_an_unknown_relation_of_a_run_names_the_nearest(data, tmp_path):
    Run.create(tmp_path / "run", data, tiny_config()).finish(given_rules(data))
    renamed = [(h, "marred" if r == "married" else r, t) for h, r, t in family_facts()]
    with pytest.raises(RuleError, match=r"run: its rules have an unknown relation 'married'.*'marred'"):
        read_given(tmp_path / "run", load_dataset(renamed).vocab)


def test_rules_and_texts_in_memory(data):
    rules = read_given(list(RULES), data.vocab).rules
    assert rules == RuleSet.from_text(list(RULES), data.vocab)
    assert read_given(rules, data.vocab).rules == rules
    with pytest.raises(RuleError, match="line 2, column 7: expected an arrow"):
        read_given(["parent <- married", "parent"], data.vocab)
    with pytest.raises(RuleError, match="relation id 2, which Vocab"):
        read_given(rules, load_dataset([("a", "r", "b")], ratios=(1, 0, 0)).vocab)


def test_what_is_dropped_is_told(data, tmp_path):
    path = tmp_path / "rules.tsv"
    line = "9\t5\t0.5\tmarried(X,Y) <= married(Y,X)\n"
    path.write_text(line + line + "9\t5\t0.5\tmarried(X,ann) <= parent(X,A)\n")
    given = read_given(path, data.vocab)
    assert len(given.rules) == 2
    assert given.notes == (
        f"{path}: 1 rules dropped: repeated",
        f"{path}: 1 rules dropped: an entity that the dataset does not have",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "parent <- married & parent\nparent <- maried & parent\n",
            r":2: column 11: .*did you mean 'married'",
        ),
        ("# nothing\n", ": there are no rules here"),
        ('{"rule": "parent <- married"}\n{"rule": 5}\n', ":2: expected an object"),
    ],
)
def test_bad_files_name_the_file_and_the_line(data, tmp_path, text, problem):
    path = tmp_path / "my.rules"
    path.write_text(text)
    with pytest.raises(RuleError, match=f"my.rules{problem}"):
        read_given(path, data.vocab)


def test_what_is_neither_a_file_nor_a_run(data, tmp_path):
    with pytest.raises(RNNLogicError, match="cannot be read"):
        read_given(tmp_path / "absent", data.vocab)
    with pytest.raises(RNNLogicError, match="is not a run folder"):
        read_given(tmp_path, data.vocab)
    Run.create(tmp_path / "run", data, tiny_config())
    with pytest.raises(RNNLogicError, match="was not finished"):
        read_given(tmp_path / "run", data.vocab)
