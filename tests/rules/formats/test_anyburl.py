"""AnyBURL's lines: read as rules for both directions, written once."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats import format_of, read_table, write_table
from rnnlogic.rules.formats.lines import ImportReport
from rnnlogic.rules.rule import Chain, Constant, format_rule
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable
from tests.helpers.names import rule_sets, vocabularies

VOCAB = Vocab((), ("friend", "hobby"))  # inverses are 2 and 3
LINES = """\
10\t5\t0.5\thobby(X,Y) <= friend(X,A), hobby(A,Y)
4\t4\t1.0\tfriend(X,Y) <= friend(Y,X)
9\t3\t0.3333333333333333\tfriend(X,Y) <= hobby(X,A), hobby(B,A), friend(B,Y)
"""


def table_of(rules):
    n = len(rules)
    return RuleTable(
        rules, {"predictions": [n] * n, "support": [1] * n, "confidence": [0.1 * i for i in range(n)]}
    )


def backwards(rule, vocab):
    return Chain(vocab.inverse(rule.head), tuple(vocab.inverse(step) for step in rule.body[::-1]))


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "rules.tsv"
        path.write_text(text, encoding="utf-8")
        return read_table(path, VOCAB)

    return read


def test_a_line_is_a_rule_and_its_mirror_image(read, tmp_path):
    table, report = read(LINES)
    assert list(table.rules) == [
        Chain(1, (0, 1)),
        Chain(3, (3, 2)),
        Chain(0, (2,)),
        Chain(2, (0,)),
        Chain(0, (1, 3, 0)),
        Chain(2, (2, 1, 3)),
    ]
    assert table.columns == {
        "predictions": [10, 10, 4, 4, 9, 9],
        "support": [5, 5, 4, 4, 3, 3],
        "confidence": [0.5, 0.5, 1.0, 1.0, 1 / 3, 1 / 3],
    }
    assert report == ImportReport(read=3, kept=6, duplicates=0, mirrored=3)
    assert report.lines() == [
        "3 rules read",
        "  3 added for the inverse relation",
        "6 rules kept",
    ]
    write_table(tmp_path / "again.tsv", table, VOCAB, "anyburl")
    assert (tmp_path / "again.tsv").read_text() == LINES


def test_other_kinds_of_rules_are_counted(read):
    table, report = read(
        "5\t2\t0.4\thobby(X,chess) <= friend(X,A)\n"
        "5\t2\t0.4\thobby(X,chess (board), wood) <= friend(X,Ann)\n"
        "5\t2\t0.4\thobby(me_myself_i,Y) <= friend(Y,A)\n"
        "5\t2\t0.4\thobby(X,Y) <= \n"
        "5\t2\t0.4\thobby(X,X) <= friend(X,A)\n"
        "5\t2\t0.4\thobby(X,Y) <= friend(X,A), hobby(X,Y)\n"
        "5\t2\t0.4\thobby(X,Y) <= friend(X,A)\n"
        "5\t2\t0.4\thobby(X,Y) <= friend(A,A), hobby(A,Y)\n"
        "7\t7\t1.0\thobby(X,Y) <= hobby(A,Y), friend(X,A)\n"
        "8\t7\t1.0\thobby(Y,A) <= friend(Y,B), hobby(B,A)\n"
    )
    assert list(table.rules) == [Chain(1, (0, 1)), Chain(3, (3, 2))]
    assert table.columns["predictions"] == [7, 7]
    assert report.lines() == [
        "10 rules read",
        "  1 dropped: repeated",
        "  1 dropped: empty body",
        "  3 dropped: an entity that the dataset does not have",
        "  4 dropped: not a chain",
        "  1 added for the inverse relation",
        "2 rules kept",
    ]


def test_rules_with_constants_are_read_and_written(tmp_path):
    vocab = Vocab(("ann", "chess (board), wood", "bob", "X"), ("friend", "hobby", "hobby (indoor)"))
    lines = (
        "5\t2\t0.4\thobby(X,chess (board), wood) <= friend(X,ann)\n"
        "5\t2\t0.4\thobby(ann,Y) <= friend(A,Y)\n"
        "5\t2\t0.4\thobby (indoor)(X,bob) <= friend(A,X)\n"
        "5\t2\t0.4\thobby(X,bob) <= friend(X,bob)\n"
    )
    path = tmp_path / "rules.tsv"
    path.write_text(lines)
    table, report = read_table(path, vocab)
    assert [format_rule(rule, vocab) for rule in table.rules][::2] == [
        'hobby(X,"chess (board), wood") <- friend(X,ann)',
        "hobby(ann,Y) <- friend(Z,Y)",
        '"hobby (indoor)"(X,bob) <- friend(Z,X)',
        'hobby(X,"bob") <- friend(X,"bob")',
    ]
    assert [format_rule(rule, vocab) for rule in table.rules][1::2] == [
        'hobby^-1("chess (board), wood",Y) <- friend(Y,ann)',
        "hobby^-1(X,ann) <- friend(Z,X)",
        '"hobby (indoor)"^-1(bob,Y) <- friend(Z,Y)',
        'hobby^-1("bob",Y) <- friend(Y,"bob")',
    ]
    assert (report.read, report.kept, report.mirrored, report.dropped()) == (4, 8, 4, {})
    write_table(tmp_path / "again.tsv", table, vocab, "anyburl")
    assert (tmp_path / "again.tsv").read_text() == lines
    unclear = table_of(RuleSet.from_rules([Constant(1, 0, 3, 0)]))
    with pytest.raises(RuleError, match="ambiguous"):
        write_table(tmp_path / "X.tsv", unclear, vocab, "anyburl")
    path.write_text(
        "5\t2\t0.4\thobby(X,bob) <= friend(X,A), friend(A,ann)\n5\t2\t0.4\thobby(X,Y) <= friend(X,bob)\n"
    )
    assert list(read_table(path, vocab).report.dropped().values()) == [2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "5\t2\thobby(X,Y) <= friend(X,Y)",
            "expected predictions<TAB>support<TAB>confidence<TAB>rule, found 3",
        ),
        ("5\t2\tmuch\thobby(X,Y) <= friend(X,Y)", "expected a number for confidence, found 'much'"),
        ("5\t2\tnan\thobby(X,Y) <= friend(X,Y)", "expected a number for confidence, found 'nan'"),
        ("5.5\t2\t0.4\thobby(X,Y) <= friend(X,Y)", "expected a number for predictions, found '5.5'"),
        (f"5\t{'1' * 400}\t0.4\thobby(X,Y) <= friend(X,Y)", "expected a number for support, found '111"),
        ("5\t-2\t0.4\thobby(X,Y) <= friend(X,Y)", "expected a number for support, found '-2'"),
        ("5\t2\t0.4\thobby(X,Y) <= frend(X,Y)", "unknown relation 'frend'; did you mean 'friend'?"),
        ("5\t2\t0.4\thobby(X,Y) <= friend X", "expected an atom 'name(X,Y)', found 'friend X'"),
        ("5\t2\t0.4\thobby(X,Y) friend(X,Y)", "expected 'head <= body'"),
    ],
)
def test_malformed_lines(read, line, message):
    with pytest.raises(RuleError, match=r"rules.tsv:4: " + re.escape(message)):
        read(LINES + line + "\n")


@given(st.data())
def test_any_names_round_trip_or_are_refused(tmp_path_factory, data):
    vocab = data.draw(vocabularies())
    table = table_of(data.draw(rule_sets(vocab, min_length=1)))
    path = tmp_path_factory.getbasetemp() / "round_trip.tsv"
    path.unlink(missing_ok=True)
    with contextlib.suppress(RuleError):
        write_table(path, table, vocab, "anyburl")
    if not path.exists():
        used = {*table.rules.heads.tolist(), *table.rules.body.tolist()}
        names = {vocab.relations[relation % vocab.num_relations] for relation in used}
        assert any(re.search(r"[\t\r\n]|\), | <= ", name) for name in names)
        return
    again, report = read_table(path, vocab, "anyburl")
    closed = {*table.rules, *(backwards(rule, vocab) for rule in table.rules)}
    assert {*again.rules} == closed
    assert len(again.rules) == report.kept == 2 * report.read
    for rule in table.rules:
        i, j = table.rules.index(rule), again.rules.index(rule)
        mirror = backwards(rule, vocab)
        first = min(i, table.rules.index(mirror)) if mirror in table.rules else i
        assert again.row(j) == table.row(first)
    before = path.read_bytes()
    write_table(path, again, vocab, "anyburl")
    assert path.read_bytes() == before


def test_what_anyburl_cannot_hold_is_refused_with_the_reason(tmp_path):
    path = tmp_path / "rules.tsv"
    for rule, vocab, message in [
        (Chain(0, ()), VOCAB, "bodies of 1 to 24 atoms"),
        (Chain(0, (1,) * 25), VOCAB, "bodies of 1 to 24 atoms"),
        (Chain(0, (1,)), Vocab((), ("a\tb", "c")), "relation 'a\\\\tb' contains a tab or a line break"),
        (Chain(0, (1,)), Vocab((), ("c", "f(X,Y), g")), "would be ambiguous because of these names"),
    ]:
        with pytest.raises(RuleError, match=message):
            write_table(path, table_of(RuleSet.from_rules([rule])), vocab, "anyburl")
    with pytest.raises(RuleError, match="need the figures predictions, support, confidence"):
        write_table(path, RuleTable(RuleSet.from_rules([Chain(0, (1,))])), VOCAB, "anyburl")
    assert not list(tmp_path.iterdir())


def test_longest_rules(tmp_path):
    rules = RuleSet.from_rules([Chain(0, (1,) * 24), Chain(2, (3,) * 24)])
    write_table(tmp_path / "long.tsv", table_of(rules), VOCAB, "anyburl")
    text = (tmp_path / "long.tsv").read_text()
    assert text.count("\n") == 1
    assert text.endswith("hobby(V,W), hobby(W,Y)\n")
    assert format_of(tmp_path / "long.tsv") == "anyburl"
    assert read_table(tmp_path / "long.tsv", VOCAB).table.rules == rules
