"""Decisions: on disk before they are confirmed, whatever names hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.runs.files import RunError
from rnnlogic.serve.review import Decision, Review, review_path
from tests.helpers.names import NAMES, UNRULY

names = st.one_of(
    st.sampled_from(NAMES + UNRULY), st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)


@settings(max_examples=20)
@given(st.lists(st.tuples(names, names, names), max_size=6, unique=True))
def test_any_name_comes_back(tmp_path_factory, facts):
    review = Review(tmp_path_factory.mktemp("r") / "x.review.tsv")
    for fact in facts:
        review.decide(Decision("accept", *fact, "0.5", ""))
    assert list(Review(review.path).decisions()) == facts


def test_the_last_decision_counts_and_can_be_undone(tmp_path):
    review = Review(review_path(tmp_path / "run"))
    assert review.path == tmp_path / "run.review.tsv"
    first, second = (
        Decision("accept", "a", "r", "b", "0.9", "r <- s"),
        Decision("skip", "a", "r", "c", "", ""),
    )
    for decision in (first, second, Decision("reject", "a", "r", "b", "0.9", "")):
        review.decide(decision)
    assert [(d.decision, d.tail) for d in review.decisions().values()] == [("skip", "c"), ("reject", "b")]
    assert review.decisions()["a", "r", "b"].time
    review.undo(("a", "r", "b"))
    review.undo(("a", "r", "nothing"))
    assert list(review.decisions()) == [("a", "r", "c")]


def test_accepted_facts_as_files(tmp_path):
    review = Review(tmp_path / "x.tsv")
    review.decide(Decision("accept", "a b", "r", "http://x.org/c", "0.5", "r <- s"))
    review.decide(Decision("reject", "a", "r", "d", "0.5", ""))
    assert review.accepted(".tsv").decode().splitlines()[1:] == ["a b\tr\thttp://x.org/c\t0.500000\tr <- s\t"]
    nt = review.accepted(".nt").decode().splitlines()
    assert nt[1] == "<urn:rnnlogic:a%20b> <urn:rnnlogic:r> <http://x.org/c> ."


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("decision\na\tb\n", encoding="utf-8")
    with pytest.raises(RunError, match=r"x\.tsv"):
        Review(path).decisions()


@pytest.mark.parametrize("probability", ["x", "nan", "1" * 5000])
def test_a_probability_that_is_none_is_named(tmp_path, probability):
    review = Review(tmp_path / "x.tsv")
    review.decide(Decision("accept", "a", "r", "b", probability, ""))
    with pytest.raises(RunError, match="is no probability"):
        review.accepted(".tsv")


@pytest.mark.parametrize("probability", ["x", "nan", "-1", "2"])
def test_only_probabilities_are_kept(client, run_folder, probability):
    given = {"head": "grandpa1", "relation": "parent", "tail": "grandma1", "decision": "accept"}
    answer = client.post(f"/runs/{run_folder.name}/review", data=given | {"probability": probability})
    assert answer.status_code == 422
