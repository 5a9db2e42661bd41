import pytest

from rnnlogic.base.errors import DataError, UnknownNameError
from rnnlogic.data.vocab import Vocab


@pytest.fixture
def vocab() -> Vocab:
    return Vocab(
        ("Q1", "Q2", "Q3"),
        ("friend", "hobby"),
        entity_labels={"Q1": "Ann", "Q2": "Bob", "Q3": "Bob"},
        relation_labels={"friend": "is a friend of"},
    )


def test_ids_and_names_are_inverse_to_each_other(vocab):
    assert [vocab.entity_id(name) for name in vocab.entities] == [0, 1, 2]
    assert [vocab.relation_id(vocab.relation_name(i)) for i in range(4)] == [0, 1, 2, 3]
    assert vocab.relation_name(2) == "friend^-1"
    assert [vocab.inverse(i) for i in range(4)] == [2, 3, 0, 1]


def test_labels_are_for_display_and_for_unique_questions(vocab):
    assert vocab.entity_label(0) == "Ann"
    assert vocab.relation_label(2) == "is a friend of^-1"
    assert vocab.relation_label(3) == "hobby^-1"
    assert vocab.entity_id("Ann") == 0
    with pytest.raises(UnknownNameError, match="unknown entity 'Bob'"):
        vocab.entity_id("Bob")


def test_ids_beyond_the_inverses_have_no_name(vocab):
    for name_of in (vocab.relation_name, vocab.relation_label):
        with pytest.raises(IndexError):
            name_of(4)


def test_names_go_before_labels():
    vocab = Vocab(("a", "b"), ("r",), entity_labels={"b": "a"})
    assert vocab.entity_id("a") == 0


def test_a_relation_name_may_itself_end_like_an_inverse():
    vocab = Vocab(("a",), ("r", "r^-1"))
    assert vocab.relation_id("r^-1") == 1
    assert vocab.relation_id("r^-1^-1") == 3


def test_unknown_names_come_with_the_nearest_spelling(vocab):
    with pytest.raises(UnknownNameError, match=r"unknown relation 'freind'; did you mean 'friend'\?"):
        vocab.relation_id("freind")
    with pytest.raises(UnknownNameError, match=r"unknown relation 'zzz'$"):
        vocab.relation_id("zzz")


def test_vocabularies_with_the_same_names_are_equal(vocab):
    same = Vocab(vocab.entities, vocab.relations)
    assert vocab == same
    assert hash(vocab) == hash(same)
    assert vocab != Vocab(vocab.entities[:2], vocab.relations)


def test_relation_labels_may_be_used_in_questions(vocab):
    assert vocab.relation_id("is a friend of") == 0
    assert vocab.relation_id("is a friend of^-1") == 2
    wikidata = Vocab(("Q1",), ("P27",), relation_labels={"P27": "citizenship"})
    with pytest.raises(UnknownNameError, match="unknown relation 'citizenshp'; did you mean 'citizenship'"):
        wikidata.relation_id("citizenshp")


def test_a_label_of_two_names_is_an_error_that_names_both():
    vocab = Vocab(("Q1", "Q2"), ("P1", "P2"), {"Q1": "Bob", "Q2": "Bob"}, {"P1": "part of", "P2": "part of"})
    assert not vocab.has_entity("Bob")
    with pytest.raises(UnknownNameError, match="'Bob': it is the label of 'Q1' and 'Q2'; use one of these"):
        vocab.entity_id("Bob")
    for text in ("part of", "part of^-1"):
        with pytest.raises(UnknownNameError, match="'part of': it is the label of 'P1' and 'P2'"):
            vocab.relation_id(text)


def test_relation_names_go_before_labels():
    vocab = Vocab(("a",), ("r", "s"), relation_labels={"s": "r"})
    assert vocab.relation_id("r") == 0


def test_relations_of_one_label_are_told_apart_and_may_be_asked_for_so():
    vocab = Vocab(("Q1", "Q2"), ("P1", "P2"), {"Q1": "Bob", "Q2": "Bob"}, {"P1": "part of", "P2": "part of"})
    assert [vocab.relation_label(r) for r in (0, 3)] == ["part of [P1]", "part of [P2]^-1"]
    assert [vocab.entity_label(0), vocab.entity_title(0)] == ["Bob", "Bob [Q1]"]
    assert (vocab.entity_id("Bob [Q2]"), vocab.relation_id("part of [P2]^-1")) == (1, 3)
    with pytest.raises(UnknownNameError, match=r"unknown entity 'Bib \[Q2\]'"):
        vocab.entity_id("Bib [Q2]")


def test_names_may_be_shown_instead_of_labels(vocab):
    ids = vocab.with_ids()
    assert ids == vocab
    assert ids.relation_label(2) == "friend^-1"
    assert [ids.entity_label(i) for i in range(ids.num_entities)] == list(vocab.entities)
    assert ids.relation_id("is a friend of") == 0  # questions may still use labels
    assert vocab.has_labels
    assert not ids.has_labels


def test_labels_of_some_names_for_json(vocab):
    assert vocab.labels_of([], [0, 2]) == {"entities": {}, "relations": {"friend": "is a friend of"}}


@pytest.mark.parametrize("place", ["entities", "relations", "entity_labels", "relation_labels"])
def test_half_characters_are_refused(place):
    half = {"entities": ("a", "b\ud800"), "relations": ("r\udfff",)}
    values = {"entities": ("a", "b"), "relations": ("r",)} | (
        {place: half[place]} if place in half else {place: {"a": "x\ud800"}}
    )
    with pytest.raises(DataError, match="ends in half a character"):
        Vocab(**values)


def test_case_accents_and_gaps_do_not_matter_where_one_name_is_meant():
    names = ("Müller", "O'Reilly Media", "PARIS", "Paris", "q1")
    vocab = Vocab(names, ("r",), {"q1": "Łódź"})
    for text, name in (
        ("muller", "Müller"),
        ("MÜLLER", "Müller"),
        ("o'reilly_media", "O'Reilly Media"),
        ("lodz", "q1"),
    ):
        assert vocab.entities[vocab.entity_id(text)] == name
        assert not vocab.has_entity(text)  # a new fact may still name somebody new
    assert vocab.entity_id("Paris") == 3
    with pytest.raises(UnknownNameError, match="it is like 'PARIS' and 'Paris'; use one of these"):
        vocab.entity_id("paris")
    with pytest.raises(UnknownNameError):
        vocab.entity_id("miller")
