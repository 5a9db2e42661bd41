"""What the review pages show: proposals that wait for a decision, decisions, and accepted facts as files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from rnnlogic.complete.complete import NewFact
from rnnlogic.complete.files import facts_as
from rnnlogic.data.vocab import Vocab
from rnnlogic.review.decision import Decision, Fact
from rnnlogic.review.log import Decisions

DECIDED = 200  # decisions shown, the last ones first


def queue(proposals: Iterable[NewFact], decisions: Decisions, vocab: Vocab) -> list[dict[str, Any]]:
    """Rows: what waits for a decision first, then what nobody was sure of, then the last decisions."""
    current = decisions.current()
    rows = [row for row in map(_proposed, proposals) if _fact(row) not in current]
    proposed = {_fact(row): row for row in map(_proposed, proposals)}
    unsure = [one for one in current.values() if one.is_true is None]
    decided = [one for one in reversed(current.values()) if one.is_true is not None][:DECIDED]
    return [*rows, *_decided([*unsure, *decided], proposed, vocab)]


def is_open(proposals: Iterable[NewFact], decisions: Decisions) -> bool:
    """Whether a proposal waits for a decision."""
    current = decisions.current()
    return any((one.head, one.relation, one.tail) not in current for one in proposals)


def accepted_facts(decisions: Decisions, suffix: Literal[".tsv", ".nt"]) -> bytes:
    """The facts that were accepted, as a file."""
    accepted = (one for one in decisions.current().values() if one.is_true)
    return facts_as(suffix, map(_as_fact, accepted))


def _proposed(fact: NewFact) -> dict[str, Any]:
    return fact.as_dict() | {"decision": None}


def _decided(
    decisions: Iterable[Decision], proposed: dict[Fact, dict[str, Any]], vocab: Vocab
) -> Iterator[dict[str, Any]]:
    for one in decisions:
        if one.relation in vocab.relations and vocab.has_entity(one.head) and vocab.has_entity(one.tail):
            row = proposed.get(one.fact, one.as_dict() | {"facts": []})
            yield row | {"decision": one}


def _fact(row: dict[str, Any]) -> Fact:
    return row["head"], row["relation"], row["tail"]


def _as_fact(decision: Decision) -> NewFact:
    probability = math.nan if decision.probability is None else decision.probability
    return NewFact(*decision.fact, probability, decision.rule or None, None, ())
