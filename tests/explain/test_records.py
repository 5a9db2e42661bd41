"""Records count pairs as the list of rules shows them."""

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.records import HeldOut, Records, record_of, without_one
from rnnlogic.rules.rule import Chain, Constant, Feature
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.pairs import amie_statistics
from tests.helpers.family import family


def test_records_are_the_figures_of_the_list_of_rules():
    graph = family().graph("train")
    rules = RuleSet.from_rules([Chain(0, (1, 1)), Chain(1, (0,)), Chain(2, (1, 2))])
    records, figures = Records(graph, rules), amie_statistics(graph, rules)
    for place, record in zip((2, 0), records.of([2, 0]), strict=True):
        counts = (int(figures.support[place]), int(figures.predictions[place]))
        assert record == record_of(*counts)
    assert set(records.known) == {0, 2}, "only what is needed is counted"


def test_the_fact_asked_about_is_no_case():
    assert without_one(record_of(3, 4)) == record_of(2, 3)
    assert without_one(record_of(1, 1)) is None
    assert without_one(None) is None
    assert record_of(0, 0) is None
    assert np.isclose(record_of(10, 15).confidence, 10 / 20)


def test_the_record_on_held_out_facts_counts_new_pairs_of_questions_that_were_held_out():
    vocab = Vocab(tuple("abcdefg"), ("r", "s"))
    size = vocab.num_entities, vocab.num_relations
    train = Graph.from_triples([(0, 1, 4), (1, 1, 4), (2, 1, 4), (3, 1, 4), (0, 0, 4), (6, 1, 5)], *size)
    truth = Graph.from_triples([(0, 0, 5), (1, 0, 4), (2, 0, 6)], *size)
    elsewhere = Graph.from_triples([*train.triples().tolist()], *size)
    rules = RuleSet.from_text(["r <- s"], vocab)
    records = Records(train, rules, held_out=HeldOut(truth, elsewhere))
    # a: r(a,e) is known already; b: right; c: wrong; d and g have no held-out fact.
    found = records.of_held_out(rules[0])
    assert (found.right, found.cases) == (1, 2)
    constant = records.of_held_out(Constant(0, 1, 4, 4))
    assert (constant.right, constant.cases) == (1, 2)
    turned = records.of_held_out(Constant(2, 3, 4, 4, at_head=True))  # r^-1(e,Y) <- s^-1(e,Y), the same
    assert (turned.right, turned.cases) == (1, 2)
    assert records.of_held_out(Feature(0, "linked")) is None
    assert Records(train, rules).of_held_out(rules[0]) is None
