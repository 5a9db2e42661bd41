"""Facts as sentences with links: names are names, and an inverse is said by its own words."""

import pytest

from rnnlogic.serve import words
from tests.helpers.site import HTML


@pytest.fixture(scope="module")
def run(app):
    return app.state.runs["family"]


def test_an_end_that_is_missing_is_asked_for(run):
    married = run.vocab.relation_id("married")
    said = words.linked_fact(run, "grandpa1", married, None)
    assert ">Grandfather One</bdi></a>" in str(said).replace("<bdi>", "") or "Grandfather One" in said
    assert "<b>?</b>" in said
    assert words.fact_words(married, run.vocab, "Ann", "?") == "Ann is married to ?"


def test_names_are_escaped(run):
    said = words.linked_fact(run, HTML, run.vocab.relation_id("married"), "child1_0")
    assert "<script" not in said
    assert "<img" not in said


def test_an_inverse_is_said_in_words(run):
    vocab = run.vocab
    inverse = vocab.inverse(vocab.relation_id("parent"))
    assert "^-1" not in words.fact_words(inverse, vocab, "Ann", "?")
    shown = run.model.with_templates({"parent": ("X has the parent Y", "Y is needed by X")}).dataset.vocab
    assert words.fact_words(inverse, shown, "Ann", "?") == "Ann is needed by ?"
    assert words.fact_words(vocab.relation_id("parent"), shown, "Ann", "?") == "Ann has the parent ?"
    assert words.facts_heading(inverse, shown, "Ann") == "is needed by"
    assert words.facts_heading(vocab.relation_id("parent"), shown, "Ann") == "has the parent"
    plain = run.model.with_templates({"parent": "a parent of X is Y"}).dataset.vocab
    assert words.facts_heading(inverse, plain, "Ann") == "a parent of … is Ann"
