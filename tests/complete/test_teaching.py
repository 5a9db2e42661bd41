"""The order in which decisions teach most."""

from rnnlogic.complete.complete import NewFact
from rnnlogic.complete.teaching import most_teaching


def fact(tail, probability, rule):
    return NewFact("x", "r", tail, probability, rule, None, ())


def test_uncertain_proposals_of_much_used_rules_come_first_and_rules_take_turns():
    proposals = [
        fact("sure", 0.99, "often"),
        fact("even", 0.5, "often"),
        fact("even2", 0.5, "often"),
        fact("nearly", 0.6, "often"),
        fact("single", 0.5, "seldom"),
        fact("nothing", 0.5, None),
    ]
    names = [one.tail for one in most_teaching(proposals)]
    assert names == ["even", "even2", "single", "nearly", "sure", "nothing"]
    assert most_teaching([]) == []
