"""Readable rule files, with figures in comments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats import read_rules, read_table, write_rules, write_table
from rnnlogic.rules.formats.lines import ImportReport
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable
from tests.helpers.names import rule_sets, vocabularies

VOCAB = Vocab((), ("friend", "hobby"))
RULES = RuleSet.from_rules([Chain(1, (0, 1)), Chain(0, (2,))])


@given(st.data())
def test_text_files_round_trip_with_any_names(tmp_path_factory, data):
    vocab = data.draw(vocabularies())
    rules = data.draw(rule_sets(vocab))
    path = tmp_path_factory.getbasetemp() / "round_trip.rules"
    write_rules(path, rules, vocab, data.draw(st.sampled_from(["long", "short"])))
    got, report = read_rules(path, vocab)
    assert got == rules
    assert report == ImportReport(read=len(rules), kept=len(rules), duplicates=0)


@given(st.data())
def test_figures_round_trip_with_any_names(tmp_path_factory, data):
    vocab = data.draw(vocabularies())
    rules = data.draw(rule_sets(vocab))

    def column(values):
        return data.draw(st.lists(st.none() | values, min_size=len(rules), max_size=len(rules)))

    counts, shares = st.integers(0, 1 << 60), st.floats(0, 1, allow_subnormal=True)
    figures = {"support": column(counts), "confidence": column(shares), "predictions": column(counts)}
    path = tmp_path_factory.getbasetemp() / "figures.rules"
    write_table(path, RuleTable(rules, figures), vocab, "text")
    again, report = read_table(path, vocab, "text")
    assert list(again.rows()) == list(RuleTable(rules, figures).rows())
    assert report == ImportReport(read=len(rules), kept=len(rules), duplicates=0)


def test_figures_are_a_comment(tmp_path):
    path = tmp_path / "own.rules"
    figures = {"support": [5, 0], "confidence": [0.5, None], "weight": [0.8, 0.3], "examples": [[], []]}
    write_table(path, RuleTable(RULES, figures), VOCAB, "text")
    assert path.read_text() == (
        "hobby(X,Y) <- friend(X,Z) & hobby(Z,Y)  # support=5 confidence=0.5\n"
        "friend(X,Y) <- friend(Y,X)  # support=0\n"
    )
    assert read_table(path, VOCAB).table.columns == {"support": [5, 0], "confidence": [0.5, None]}
    assert read_rules(path, VOCAB).rules == RuleSet.from_text(path.read_text(), VOCAB) == RULES


@pytest.mark.parametrize("comment", ["of many", "support=", "support=5 I think", "Support=5", "support=-1"])
def test_other_comments_are_skipped(tmp_path, comment):
    path = tmp_path / "own.rules"
    path.write_text(f"hobby <- friend & hobby # {comment}\n")
    table, _ = read_table(path, VOCAB)
    assert list(table.rows()) == [(RULES[0], {})]


def test_figures_inside_a_quoted_name_belong_to_the_name(tmp_path):
    vocab = Vocab((), ("friend", "a # support=5"))
    path = tmp_path / "own.rules"
    path.write_text('friend <- "a # support=5"\n')
    assert list(read_table(path, vocab, "text").table.rows()) == [(Chain(0, (1,)), {})]


def test_text_file_with_comments_bom_crlf_and_repeats(tmp_path):
    path = tmp_path / "own.rules"
    path.write_bytes("\ufeff# mine\r\nhobby <- friend & hobby\r\n\r\nhobby <- friend, hobby\r\n".encode())
    rules, report = read_rules(path, VOCAB)
    assert list(rules) == [Chain(1, (0, 1))]
    assert report == ImportReport(read=2, kept=1, duplicates=1)
    assert report.lines() == ["2 rules read", "  1 dropped: repeated", "1 rules kept"]


def test_text_errors_name_file_line_and_column(tmp_path):
    path = tmp_path / "own.rules"
    path.write_text("# mine\nhobby <- frend\n")
    with pytest.raises(RuleError) as caught:
        read_rules(path, VOCAB)
    assert str(caught.value).startswith(
        f"{path}:2: column 10: unknown relation 'frend'; did you mean 'friend'?"
    )


def test_unreadable_files(tmp_path):
    missing = tmp_path / "missing.rules"
    with pytest.raises(RuleError, match=r"missing.rules: cannot be read \(No such file"):
        read_rules(missing, VOCAB)
    missing.write_bytes(b"hobby <- friend\n\xff\n")
    with pytest.raises(RuleError, match=r"missing.rules:2: not UTF-8 text"):
        read_rules(missing, VOCAB)


def test_writing_is_all_or_nothing(tmp_path):
    path = tmp_path / "own.rules"
    write_rules(path, [Chain(1, (0,))], VOCAB)
    with pytest.raises(RuleError, match=r"relation id outside 0..3"):
        write_rules(path, [Chain(0, (1,)), Chain(1, (5,))], VOCAB)
    assert path.read_text() == "hobby(X,Y) <- friend(X,Y)\n"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(RuleError, match=r"own.rules: cannot be written \(No such file"):
        write_rules(tmp_path / "nowhere" / "own.rules", [], VOCAB)


def test_labels_are_comments_that_are_not_read_back(tmp_path):
    labels = {"friend": "has as a friend", "hobby": "enjoys\nhobby(X,Y) <- friend(X,Y)  # support=9"}
    vocab, path = Vocab((), ("friend", "hobby"), relation_labels=labels), tmp_path / "labelled.rules"
    write_table(path, RuleTable(RULES, {"support": [5, 6]}), vocab, "text")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4
    assert lines[3] == "friend(X,Y) <- friend(Y,X)  # support=6"
    assert lines[2] == "# has as a friend(X,Y) <- has as a friend(Y,X)"
    table = read_table(path, vocab).table
    assert table.rules == RULES
    assert table.column("support") == [5, 6]


@pytest.mark.parametrize("figure", ["1" * 5000, "1" * 400, "1e999"])
def test_a_comment_with_an_endless_number_is_just_a_comment(tmp_path, figure):
    path = tmp_path / "own.rules"
    path.write_text(f"hobby(X,Y) <- friend(X,Y)  # support={figure}\n")
    assert read_table(path, VOCAB).table.columns == {}
