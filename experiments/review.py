"""What 100 decisions are worth: the precision of the next 100 proposals, with them and without.

A graph is generated in which the truth is known. Each relation follows a rule in 80 of 100 cases. In some
relations the other 20 are gaps: true, and missing. In others they are exceptions: false. In a third kind one
of two rules has gaps and the other exceptions. The facts alone cannot tell which is which; people can.
Somebody who knows the truth decides on the first 100 proposals; then the model is fitted again with the
decisions, and for comparison with the accepted facts alone.

Run: python -m experiments.review [SEEDS]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

import rnnlogic as rl
from rnnlogic.complete.complete import NewFact
from rnnlogic.review.judged import reviewed

Fact = tuple[str, str, str]
NUMBER = 100  # decisions, and proposals judged after them
PEOPLE, GROUPS = 200, 25
FOLLOWED = 0.8  # share of the cases in which the facts follow the rule
KINDS = {"gaps": 3, "exceptions": 3, "mixed": 2}  # relations of each kind


def world(random: np.random.Generator) -> tuple[list[Fact], set[Fact]]:
    """The facts that the graph holds, and all that are true."""
    known: list[Fact] = []
    missing: set[Fact] = set()
    for kind, number in KINDS.items():
        for relation in (f"{kind}{i}" for i in range(number)):
            for side in ("gaps", "exceptions") if kind == "mixed" else (kind,):
                facts, gaps = by_rule(relation, f"{relation}_{side}", random)
                known += facts
                missing |= set(gaps) if side == "gaps" else set()
    return known, {*known, *missing}


def by_rule(relation: str, name: str, random: np.random.Generator) -> tuple[list[Fact], list[Fact]]:
    """Facts of relation(X,Y) <- in(X,Z) & has(Z,Y), and those that would follow but are not there."""
    facts = [(f"{name}_group{i}", f"has_{name}", f"{relation}_value{i % 12}") for i in range(GROUPS)]
    would: list[Fact] = []
    for person in range(PEOPLE):
        group = int(random.integers(GROUPS))
        facts.append((f"person{person}", f"in_{name}", f"{name}_group{group}"))
        would.append((f"person{person}", relation, f"{relation}_value{group % 12}"))
    follows = random.random(PEOPLE) < FOLLOWED
    facts += [fact for fact, is_there in zip(would, follows, strict=True) if is_there]
    return facts, [fact for fact, is_there in zip(would, follows, strict=True) if not is_there]


def names(fact: NewFact) -> Fact:
    """Head, relation, tail."""
    return fact.head, fact.relation, fact.tail


def next_proposals(model: rl.RNNLogic, decided: Iterable[Fact]) -> list[Fact]:
    """The first proposals that nobody has decided on."""
    seen = set(decided)
    found = (names(fact) for fact in model.complete(most=NUMBER + len(seen)))
    return [fact for fact in found if fact not in seen][:NUMBER]


def precision(facts: list[Fact], truth: set[Fact]) -> str:
    """The share that is true, of how many."""
    return f"{sum(fact in truth for fact in facts) / max(len(facts), 1):.2f} of {len(facts)}"


def study(seed: int) -> None:
    """One graph: fit, decide, fit again."""
    facts, truth = world(np.random.default_rng(seed))
    dataset = rl.load_dataset(facts, name=f"world{seed}", seed=seed)
    model = rl.RNNLogic(seed=seed).fit(dataset, verbose=False)
    first = next_proposals(model, [])
    later = next_proposals(model, first)
    for fact in first:
        model.review(*fact, "accept" if fact in truth else "reject", by="simulated")
    at_once = next_proposals(model, first)
    learned, notes = reviewed(dataset, model.decisions, "decisions")
    again = rl.RNNLogic(seed=seed).fit(learned, verbose=False)
    accepted = replace(learned, accepted=learned.accepted[:0], rejected=learned.rejected[:0])
    half = rl.RNNLogic(seed=seed).fit(accepted, verbose=False)
    print(f"seed {seed}: {len(facts):,} facts, {len(truth) - len(set(facts)):,} missing; {notes[-1]}")
    print(f"  first 100 proposals                      {precision(first, truth)}")
    print(f"  next 100 without the decisions           {precision(later, truth)}")
    print(f"  next 100, decisions read, no new fit     {precision(at_once, truth)}")
    print(f"  next 100 after a fit with accepted facts {precision(next_proposals(half, first), truth)}")
    print(f"  next 100 after a fit with the decisions  {precision(next_proposals(again, first), truth)}")


if __name__ == "__main__":
    for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        study(number)
