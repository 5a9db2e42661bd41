"""Relations said by templates or by their names; rules with constants counted; patterns by shape."""

import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.labels import templated
from rnnlogic.data.saving import pack_dataset, unpack_dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.sentences import (
    Pattern,
    counted_sentence,
    fact_sentence,
    guessed,
    pattern_of,
    whole_rule,
)
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import NONE, Chain, Constant, Feature
from tests.helpers.family import family

VOCAB = Vocab(("ann", "octave", "group"), ("depends", "maintained_by", "parent", "capital"))
OCTAVE, GROUP = 1, 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("depends", "X depends on Y"),
        ("isa", "X is a Y"),
        ("instance_of", "X is an instance of Y"),
        ("part_of", "X is a part of Y"),
        ("has_part", "X has part Y"),
        ("is_located_in", "X is located in Y"),
        ("is_symptom", "X is a symptom of Y"),
        ("maintained_by", "X is maintained by Y"),
        ("born_in", "X was born in Y"),
        ("lives_in", "X lives in Y"),
        ("treats", "X treats Y"),
        ("co-occurs_with", "X co-occurs with Y"),
        ("adjacent_to", "X is adjacent to Y"),
        ("married", "X is married to Y"),
        ("directed", "X directed Y"),
        ("placeOfBirth", "X has place of birth Y"),
        ("country of citizenship", "X has country of citizenship Y"),
        ("/people/person/place_of_birth", "X has place of birth Y"),
        ("/film/actor/film./film/performance/film", "X has film Y"),
        ("http://x.org/kin/marriedTo", "X is married to Y"),
        ("_derivationally_related_form", "X has derivationally related form Y"),
        ("parent", "X parent Y"),  # used both ways in data
        ("term16", "X term16 Y"),
        ("same as", "X is the same as Y"),
    ],
)
def test_names_suggest_sentences(name, text):
    assert guessed(name).text == text


def test_a_fact_is_said_in_the_direction_of_the_graph():
    assert fact_sentence("ann", 0, "octave", VOCAB) == "ann depends on octave"
    assert fact_sentence("octave", 4, "ann", VOCAB) == "ann depends on octave"
    kinds = Vocab(("a",), ("isa",))
    assert fact_sentence("whale", 0, "animal", kinds) == "whale is an animal"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Constant(0, 1, OCTAVE, GROUP), "57 of the 68 others that are maintained by group depend on octave"),
        (
            Constant(0, 1, OCTAVE, NONE),
            "57 of the 68 others that are maintained by something depend on octave",
        ),
        (Constant(0, 5, OCTAVE, GROUP), "57 of the 68 others that group is maintained by depend on octave"),
        (Constant(4, 1, OCTAVE, GROUP), "octave depends on 57 of the 68 others that are maintained by group"),
        (
            Constant(0, 5, OCTAVE, GROUP, at_head=True),
            "octave depends on 57 of the 68 others that are maintained by group",
        ),
        (Constant(0, 2, OCTAVE, GROUP), '57 of the 68 others in "… parent group" depend on octave'),
    ],
)
def test_rules_with_constants_are_counted(rule, text):
    assert counted_sentence(rule, 57, 68, VOCAB, lambda e: VOCAB.entities[e]) == text


def test_templates_go_before_guesses_and_say_both_directions():
    told = templated(VOCAB, {"parent": ("X is a parent of Y", "Y is a child of X"), "unheard": "X meets Y"})
    assert (told.relations, "unheard" in (told.note or "")) == (1, True)
    assert fact_sentence("ann", 2, "bob", told.vocab) == "ann is a parent of bob"
    rule = Constant(0, 6, OCTAVE, GROUP)  # depends(X,octave) <- parent(group,X)
    said = counted_sentence(rule, 1, 1, told.vocab, lambda e: VOCAB.entities[e])
    assert said == "the only other that is a child of group depends on octave"
    assert fact_sentence("ann", 2, "bob", told.vocab.with_ids()) == "ann parent bob"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("parent\tX is a parent\n", ":1: a template has one X"),
        ("parent\tX likes Y\nparent\tX hates Y\n", ":2: 'parent' has a template in line 1"),
        ("parent\n", ":1: expected relation<TAB>"),
        ("parent\tX likes Y\tY and Y and X\n", "one X (the head) and one Y"),
    ],
)
def test_files_of_templates_are_checked(tmp_path, lines, problem):
    file = tmp_path / "templates.tsv"
    file.write_text(lines)
    with pytest.raises(DataError) as error:
        templated(VOCAB, file)
    assert problem in str(error.value)
    with pytest.raises(DataError, match="no such file"):
        templated(VOCAB, tmp_path / "none")


def test_a_file_of_templates_may_have_a_header(tmp_path):
    file = tmp_path / "templates.tsv"
    file.write_text("relation\ttemplate\tinverse\nparent\tX is a parent of Y\tY is a child of X\n")
    assert dict(templated(VOCAB, file).vocab.templates) == {
        "parent": ("X is a parent of Y", "Y is a child of X")
    }


def test_a_run_keeps_templates():
    data = family()
    data = data.with_vocab(templated(data.vocab, {"parent": "X is a parent of Y"}).vocab)
    assert dict(unpack_dataset(*pack_dataset(data)).vocab.templates) == {"parent": ("X is a parent of Y", "")}
    assert not unpack_dataset(*pack_dataset(family())).vocab.templates


@pytest.mark.parametrize(
    ("rule", "pattern"),
    [
        ("r <- r^-1", Pattern.symmetry),
        ("r <- s^-1", Pattern.inverse),
        ("r <- s", Pattern.implication),
        ("r <- r & r", Pattern.transitivity),
        ("r <- s & s^-1", Pattern.shared),
        ("r <- s & s^-1 & r", Pattern.sibling),
        ("r <- r & s^-1 & s", Pattern.sibling),
        ("r <- s & t", Pattern.composition),
        ("r <- true", Pattern.identity),
    ],
)
def test_patterns_have_names(rule, pattern):
    vocab = Vocab(("a",), ("r", "s", "t"))
    assert pattern_of(parse_rule(rule, vocab), 3) == pattern


def test_sentences_of_rules_have_no_numbered_variables():
    vocab = Vocab(("a",), ("treats", "causes"))
    said = whole_rule(Chain(0, (1, 3, 0)), vocab)
    assert said == "X treats Y if X causes A, B causes A and B treats Y"
    assert pattern_of(Feature(0, "linked"), 2) == Pattern.feature
