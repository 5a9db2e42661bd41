"""Decisions: on disk before they are confirmed, whatever names hold, and none is ever lost."""

import multiprocessing
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.base.errors import DataError, UnknownNameError
from rnnlogic.review.decision import Decision, checked, parsed
from rnnlogic.review.log import DecisionLog, read_decisions
from tests.helpers.names import NAMES, UNRULY

names = st.one_of(
    st.sampled_from(NAMES + UNRULY), st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
WRITERS, EACH = 2, 60


def decide(path, writer):
    log = DecisionLog(path)
    for number in range(EACH):
        log.add(Decision(f"e{number}", "r", f"w{writer}", "accept", by=f"writer {writer}"))


def test_two_processes_lose_nothing(tmp_path):
    path = tmp_path / "run.decisions.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=decide, args=(path, writer)) for writer in range(WRITERS)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    found = DecisionLog(path).read()
    assert len(found.current()) == WRITERS * EACH == 120
    assert not found.notes


@settings(max_examples=20)
@given(st.lists(st.tuples(names, names, names), max_size=6, unique=True))
def test_any_name_comes_back(tmp_path_factory, facts):
    log = DecisionLog(tmp_path_factory.mktemp("r") / "x.decisions.jsonl")
    for fact in facts:
        log.add(Decision(*fact, "accept"))
    assert list(DecisionLog(log.path).read().current()) == facts


@pytest.mark.parametrize("is_file", [True, False])
def test_the_last_decision_counts_and_can_be_undone(tmp_path, is_file):
    log = DecisionLog.of_run(tmp_path / "run" if is_file else None)
    assert log.path == (tmp_path / "run.decisions.jsonl" if is_file else None)
    log.add(Decision("a", "r", "b", "accept", by="ada"))
    log.add(Decision("a", "r", "c", "unsure"))
    log.add(Decision("a", "r", "b", "reject", "no", "ada", probability=0.9, rule="r <- s"))
    found = log.read()
    assert [(one.verdict, one.tail) for one in found.current().values()] == [("unsure", "c"), ("reject", "b")]
    assert found.last().fact == found.last("ada").fact == ("a", "r", "b")
    assert found.last().text().startswith("rejected by ada, 2")
    log.undo(("a", "r", "b"))
    assert list(log.read().current()) == [("a", "r", "c")]
    assert len(log.read().every) == 4, "an undo is added, nothing is removed"
    assert log.read().last("ada") is None
    assert pickle.loads(pickle.dumps(log)).read() == log.read()


def test_files_are_joined_in_any_order_and_duplicates_do_no_harm(tmp_path):
    ada, bob = (DecisionLog(tmp_path / f"{name}.decisions.jsonl") for name in ("ada", "bob"))
    ada.add(Decision("a", "r", "b", "accept", by="ada"))
    bob.add(Decision("a", "r", "c", "reject", by="bob"))
    ada.undo(("a", "r", "b"))
    wanted = {("a", "r", "c"): "reject"}
    parts = [log.path.read_bytes() for log in (ada, bob)]
    for joined in (parts, parts[::-1], [*parts, *parts, parts[0]]):
        path = tmp_path / "all.decisions.jsonl"
        path.write_bytes(b"".join(joined))
        found = read_decisions(path)
        assert {fact: one.verdict for fact, one in found.current().items()} == wanted
        assert len(found.every) == 3


def test_a_damaged_line_is_named_and_nothing_else_is_lost(tmp_path):
    log = DecisionLog(tmp_path / "x.decisions.jsonl")
    log.add(Decision("a", "r", "b", "accept"))
    with log.path.open("ab") as file:
        file.write(
            b'{"head": "a", "relat\n\xff\n{"head":"a","relation":"r","tail":"d","verdict":"reject"}\n{"he'
        )
    log.add(Decision("a", "r", "c", "accept"))
    found = log.read()
    assert [one.tail for one in found.current().values()] == ["b", "d", "c"]
    (note,) = found.warnings()
    assert "x.decisions.jsonl:2: this line and 2 more cannot be read" in note


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"[" * 100_000,
        b'{"head":"a","relation":"r","verdict":"accept"}',
        b'{"head":"a","relation":"r","tail":1,"verdict":"accept"}',
        b'{"head":"a","relation":"r","tail":"b","verdict":"maybe"}',
        b'{"head":"a","relation":"r","tail":"b","verdict":"accept","probability":NaN}',
        b'{"head":"a","relation":"r","tail":"b","verdict":"accept","probability":"x"}',
    ],
)
def test_what_is_no_decision(line):
    assert parsed(line) is None


def test_people_who_contradict_each_other_are_told_and_the_later_counts(tmp_path):
    log = DecisionLog(tmp_path / "x.decisions.jsonl")
    log.add(Decision("a", "r", "b", "accept", by="ada"))
    log.add(Decision("a", "r", "b", "reject", by="ada"))
    assert not log.read().warnings(), "one person may think again"
    log.add(Decision("a", "r", "b", "accept", by="bob"))
    assert log.read().warnings() == ["ada rejects and bob accepts 'a r b'; the later counts"]
    assert log.read().current()["a", "r", "b"].by == "bob"


def test_decisions_of_earlier_versions_are_read(tmp_path):
    old = tmp_path / "run.review.tsv"
    text = "decision\thead\trelation\ttail\tprobability\trule\ttime\n"
    text += "accept\ta\\tb\tr\tc\t0.5\tr <- s\t2026-01-01T00:00:00+00:00\nskip\ta\tr\td\t\t\t\nx\n"
    old.write_text(text, encoding="utf-8")
    log = DecisionLog.of_run(tmp_path / "run")
    log.add(Decision("a", "r", "d", "reject"))
    current = log.read().current()
    assert {fact: one.verdict for fact, one in current.items()} == {
        ("a\tb", "r", "c"): "accept",
        ("a", "r", "d"): "reject",
    }
    assert old.read_text(encoding="utf-8") == text


def test_a_table_for_spreadsheets():
    log = DecisionLog()
    log.add(Decision("=a", "r", 'b "x", c', "accept", "two\nlines", probability=0.5))
    lines = log.read().as_csv(excel_safe=True)
    assert lines.startswith(
        'head,relation,tail,verdict,comment,by,time,run,probability,rule\r\n\'=a,r,"b ""x'
    )


def test_what_cannot_be_read_or_written_is_one_line(tmp_path):
    with pytest.raises(DataError, match="no such file of decisions"):
        read_decisions(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="cannot be written"):
        DecisionLog(tmp_path / "none" / "x.jsonl").add(Decision("a", "r", "b", "accept"))
    (tmp_path / "x.jsonl").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        DecisionLog(tmp_path / "x.jsonl").read()
    with pytest.raises(UnknownNameError, match="did you mean 'reject'"):
        checked("rejected")
