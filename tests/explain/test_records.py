"""Records count pairs as the list of rules shows them."""

import numpy as np

from rnnlogic.explain.records import Records, record_of, without_one
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.amie import amie_statistics
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
