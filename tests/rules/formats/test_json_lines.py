"""JSON Lines: rules with everything that is known of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats import format_of, read_table, write_table
from rnnlogic.rules.formats.lines import ImportReport
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.table import RuleTable
from tests.helpers.names import rule_sets, vocabularies

VOCAB = Vocab((), ("friend", "hobby"))
numbers = st.floats(allow_nan=False, allow_infinity=False)
figures = st.one_of(st.none(), numbers, st.integers(0, 1 << 60), st.lists(st.text(max_size=3), max_size=2))


@given(st.data())
def test_any_names_and_figures_round_trip(tmp_path_factory, data):
    vocab = data.draw(vocabularies())
    rules = data.draw(rule_sets(vocab))

    def column(values):
        return data.draw(st.lists(values, min_size=len(rules), max_size=len(rules)))

    table = RuleTable(rules, {"weight": column(numbers), "support": column(figures)})
    path = tmp_path_factory.getbasetemp() / "round_trip.jsonl"
    write_table(path, table, vocab, "jsonl")
    again, report = read_table(path, vocab, "jsonl")
    assert again.rules == rules
    assert [again.row(i) for i in range(len(rules))] == [table.row(i) for i in range(len(rules))]
    assert report == ImportReport(read=len(rules), kept=len(rules), duplicates=0)
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    assert [json.loads(line).get("weight") for line in lines] == table.columns["weight"]


def test_of_repeated_rules_the_first_stays(tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text(
        '\n{"rule": "hobby <- friend", "weight": 1}\n{"rule": "hobby(A,B) <- friend(A,B)", "weight": 2}\n'
    )
    assert format_of(path) == "jsonl"
    table, report = read_table(path, VOCAB)
    assert list(table.rules) == [Chain(1, (0,))]
    assert table.columns == {"weight": [1]}
    assert report == ImportReport(read=2, kept=1, duplicates=1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"rule": "hobby <- friend"', r"column 27: not JSON \(expecting ',' delimiter\)"),
        ("[1]", "expected an object with the text of a rule"),
        ('{"weight": 1}', "expected an object with the text of a rule"),
        ('{"rule": "hobby <- friend", "weight": "much"}', "expected a number for weight, found 'much'"),
        ('{"rule": "hobby <- friend", "weight": NaN}', "expected a number for weight, found nan"),
        ('{"rule": "hobby <- frend"}', r"column 10: unknown relation 'frend'; did you mean 'friend'\?"),
    ],
)
def test_malformed_lines(tmp_path, line, message):
    path = tmp_path / "rules.jsonl"
    path.write_text('{"rule": "hobby <- friend"}\n' + line + "\n")
    with pytest.raises(RuleError, match="rules.jsonl:2: " + message):
        read_table(path, VOCAB)
