"""What agents can ask of a fitted model: small answers as plain values, and errors that name what is near.

Nothing here changes anything but `review`, which adds decisions to a file beside the run. Every text that
comes from data has its control characters escaped, and a name is found by its escaped form too, so that an
agent can hand back what it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import Field

from rnnlogic.base.errors import UnknownNameError
from rnnlogic.base.text import printable
from rnnlogic.base.types import silent
from rnnlogic.explain.asking import Question
from rnnlogic.explain.explanation import Comparison
from rnnlogic.explain.listing import Choice
from rnnlogic.explain.sentences import fact_sentence, whole_rule
from rnnlogic.render.card import run_card
from rnnlogic.rules.parse import parse_rule
from rnnlogic.serve.runs import Limits, Served

if TYPE_CHECKING:
    from rnnlogic.data.dataset import Evidence
    from rnnlogic.explain.reasons import Idea
    from rnnlogic.model import RNNLogic

MOST = 50  # no answer has more items
RULES, PATHS = 2, 1  # of every idea of an explanation
PATIENT = Limits(steps=1e10)  # agents wait for minutes; what takes longer is for the command line
AGENT = "agent"  # who decides if nobody is named

Answer = dict[str, Any]
Most = Annotated[int, Field(ge=1, le=MOST, description="Maximum number of items.")]
Entity = Annotated[str, Field(min_length=1, description="Name or label of an entity.")]
Relation = Annotated[str, Field(min_length=1, description="Name of a relation; NAME^-1 is its inverse.")]
Probability = Annotated[float, Field(ge=0, le=1, description="Minimum probability.")]
Result = TypeVar("Result")


class Tools:
    """The tools on one model; each public method is one. Calls wait for each other: each uses all cores."""

    def __init__(
        self, model: RNNLogic, folder: Path | None = None, facts: Evidence = "all", limits: Limits = PATIENT
    ) -> None:
        self._model, self._folder, self._lock = model, folder, Lock()
        self._run = Served("", folder or Path(), model, limits, facts)
        self._how = Question(facts=facts)

    @property
    def tools(self) -> list[Callable[..., Answer]]:
        """All tools, the first to ask first."""
        return [
            *(self.describe_graph, self.find_entity, self.neighbours),
            *(self.predict, self.explain, self.rules, self.complete),
            self.review,
        ]

    def card(self) -> str:
        """The run card as Markdown."""
        with self._lock:
            return run_card(self._model, self._folder).markdown()

    def describe_graph(self, most: Most = 30) -> Answer:
        """What the graph holds: its size, and its relations with their numbers of facts and an example.

        Ask this first. `relations` come by number of facts; `more_relations` tells how many were left out.
        """
        with self._lock:
            graph, vocab = self._run.graph, self._run.vocab
            facts = [len(graph.edges(r)[0]) for r in range(vocab.num_relations)]
            order = np.argsort(-np.array(facts), kind="stable").tolist()
            return _safe(
                {
                    "name": self._model.dataset.name,
                    "entities": vocab.num_entities,
                    "facts": len(graph),
                    "rules": len(self._model.learned.rules),
                    "relations": [self._relation(r, facts[r]) for r in order[:most]],
                    "more_relations": max(len(order) - most, 0),
                    "probabilities": self._model.level(self._how.facts).sentence(),
                }
            )

    def find_entity(
        self, query: Annotated[str, Field(min_length=1, description="Part of a name.")], most: Most = 10
    ) -> Answer:
        """Entities whose name or label is, begins with, contains, or is spelled like the query."""
        with self._lock:
            found = self._run.entities.closest(query)
            entities = [self._named(i) | {"facts": int(self._run.degree[i])} for i in found[:most]]
            return _safe({"entities": entities, "more": max(len(found) - most, 0)})

    def neighbours(self, entity: Entity, relation: Relation | None = None, most: Most = 20) -> Answer:
        """Known facts of an entity, as head or tail; of one relation only if it is given (r^-1: as tail)."""
        with self._lock:
            vocab, one = self._run.vocab, self._entity(entity)
            wanted = range(2 * vocab.num_relations) if relation is None else [self._relation_id(relation)]
            facts = list(self._facts(one, wanted))
            return _safe(self._named(one) | {"facts": facts[:most], "more": max(len(facts) - most, 0)})

    def predict(
        self,
        relation: Relation,
        head: Entity | None = None,
        tail: Entity | None = None,
        most: Most = 10,
    ) -> Answer:
        """The best answers of (head, relation, ?) or (?, relation, tail) that are not known facts.

        Give either head or tail. `probability` is the chance that the fact is true. Call `explain` for why.
        `left_out` counts answers that cannot be true, such as a second one where each head has one.
        """
        with self._lock:
            asked = replace(self._question(head, relation, tail), most=most)
            answers = self._run.predict([asked])[0]
            rows = [
                {"entity": a.entity, "label": a.label, "probability": _chance(a.probability)} for a in answers
            ]
            question = list(asked.forward(self._run.vocab))
            return _safe({"question": question, "answers": rows, "left_out": dict(answers.left_out)})

    def explain(
        self,
        head: Entity,
        relation: Relation,
        tail: Entity,
        instead: Annotated[Entity | None, Field(description="Why not this tail?")] = None,
        most: Annotated[int, Field(ge=1, le=10, description="Maximum number of patterns.")] = 4,
    ) -> Answer:
        """Why relation(head, tail) is or is not likely: reasons to name, then ideas that sum to the score.

        A reason has its rule, how often that is right (`record`), and its facts. Ideas with a positive
        contribution speak for the fact, others against it. With `instead`, why the tail scores differently
        from that other one: ideas with a negative contribution speak for the other.
        """
        with self._lock:
            told = self._run.explain(self._question(head, relation, tail, instead), PATHS)
            if isinstance(told, Comparison):
                ends = {"answer": told.answer, "instead": told.instead}
                figures = {name: _figures(one.as_dict()) for name, one in ends.items()}
                return _safe(figures | {"ideas": self._ideas(told.ideas, most)})
            values = told.as_dict()
            hangs_on = values["hangs_on"] and values["hangs_on"]["facts"]
            said = {name: values[name] for name in ("claim", "against", "base_rate", "rest")}
            reasons = [_reason(one) for one in values["reasons"]]
            found = said | _figures(values) | {"reasons": reasons, "hangs_on": hangs_on}
            found |= {"ideas": self._ideas(told.ideas, most)}
            return _safe(found | {"more_ideas": max(len(told.ideas) - most, 0)})

    def rules(self, relation: Relation | None = None, most: Most = 10) -> Answer:
        """The rules that decide most, of one relation or of each, as logic and as a sentence."""
        with self._lock:
            vocab = self._run.vocab
            name = None if relation is None else vocab.relation_name(self._relation_id(relation))
            known = self._model.learned.rules
            number = len(known) if relation is None else len(known.by_head(self._relation_id(relation)))
            listed = self._run.rules(name, Choice(most=most if name else 1))
            listed = sorted(
                listed, key=lambda rule: (rule.weight < 0, not rule.support, -(rule.decided or 0))
            )
            rows = [self._rule(rule.as_dict()) for rule in listed[:most]]
            return _safe({"rules": rows, "more": number - len(rows)})

    def complete(
        self,
        relation: Relation | None = None,
        min_probability: Probability = 0.5,
        most: Most = 10,
    ) -> Answer:
        """The most probable facts that the graph lacks, best first, each with a rule and the facts behind it.

        On a large graph, name a relation.
        """
        with self._lock:
            asked = replace(self._question(None, relation, None), min_probability=min_probability, most=most)
            found = self._run.complete(asked, silent)
            rows = [fact.as_dict() | {"probability": _chance(fact.probability)} for fact in found]
            return _safe({"facts": rows})

    def review(
        self,
        head: Entity,
        relation: Relation,
        tail: Entity,
        verdict: Literal["accept", "reject", "other-reason", "unsure", "undo"],
        comment: Annotated[str, Field(max_length=2000, description="Why.")] = "",
        by: Annotated[str, Field(max_length=100, description="Who decided: a person, or your name.")] = AGENT,
    ) -> Answer:
        """Record a decision about a fact. Ask the user first: it changes what all others are answered.

        A rejected fact is no answer any more, an accepted one is a known fact. `other-reason` says that it is
        true, but not for the reason given; `undo` takes the last decision about the fact back.
        """
        with self._lock:
            asked = self._question(head, relation, tail)
            fact = asked.head or "", asked.relation or "", asked.tail or ""
            if verdict == "undo":
                made = self._model.undo_review(*fact, by=by)
                return _safe({"undone": None if made is None else made.as_dict()})
            return _safe({"decision": self._model.review(*fact, verdict, comment, by).as_dict()})

    def _relation(self, relation: int, facts: int) -> Answer:
        vocab = self._run.vocab
        heads, tails = self._run.graph.edges(relation)
        example = None
        if len(heads):
            names = vocab.entity_label(int(heads[0])), vocab.entity_label(int(tails[0]))
            example = fact_sentence(names[0], relation, names[1], vocab)
        return {"name": vocab.relations[relation], "facts": facts, "example": example}

    def _question(
        self, head: str | None, relation: str | None, tail: str | None, instead: str | None = None
    ) -> Question:
        """A question by the names of the data."""
        vocab, asked = self._run.vocab, replace(self._how, head=head, relation=relation, tail=tail)
        return replace(asked, instead=instead).by(
            lambda name: vocab.entities[self._entity(name)],
            lambda name: vocab.relation_name(self._relation_id(name)),
        )

    def _named(self, entity: int) -> Answer:
        vocab = self._run.vocab
        return {"entity": vocab.entities[entity], "label": vocab.entity_label(entity)}

    def _facts(self, entity: int, relations: range | list[int]) -> Iterator[list[str]]:
        """Facts (head, relation, tail) in the direction of the graph."""
        graph, vocab = self._run.graph, self._run.vocab
        for relation in relations:
            for other in graph.neighbours(entity, relation).tolist():
                is_turned = relation >= vocab.num_relations
                ends = (other, entity) if is_turned else (entity, other)
                name = vocab.relations[relation % vocab.num_relations]
                yield [vocab.entities[ends[0]], name, vocab.entities[ends[1]]]

    def _ideas(self, ideas: tuple[Idea, ...], most: int) -> list[Answer]:
        """The strongest ideas of either sign."""
        strongest = sorted(ideas, key=lambda idea: -abs(idea.contribution))[:most]
        return [
            {
                "idea": idea.sentence,
                "contribution": round(idea.contribution, 4),
                "rules": [
                    {"rule": rule["rule"], "facts": rule["paths"][0] if rule["paths"] else []}
                    for rule in idea.as_dict(self._run.vocab)["rules"][:RULES]
                ],
            }
            for idea in strongest
        ]

    def _rule(self, rule: Answer) -> Answer:
        vocab = self._run.vocab
        chain = parse_rule(rule["text"], vocab)
        figures = {name: rule[name] for name in ("support", "predictions", "lift", "decided", "right")}
        return {
            "rule": rule["text"],
            "sentence": whole_rule(chain, vocab),
            "weight": round(rule["weight"], 4),
            "confidence": round(rule["confidence"], 4),
        } | figures

    def _entity(self, name: str) -> int:
        vocab = self._run.vocab
        return _found(name, self._run.entity, vocab.entities)

    def _relation_id(self, name: str) -> int:
        vocab = self._run.vocab
        every = [vocab.relation_name(r) for r in range(2 * vocab.num_relations)]
        return _found(name, vocab.relation_id, every)


def _found(name: str, look_up: Callable[[str], int], names: tuple[str, ...] | list[str]) -> int:
    """The id of a name, or of the name whose escaped form this is."""
    try:
        return look_up(name)
    except UnknownNameError:
        same = [i for i, one in enumerate(names) if printable(one) == name] if "\\" in name else []
        if len(same) != 1:
            raise
        return same[0]


def _figures(told: Answer) -> Answer:
    chance = told["probability"]
    names = ("head", "relation", "tail", "rank", "is_known", "breaks")
    return {name: told[name] for name in names} | {"probability": None if chance is None else _chance(chance)}


def _reason(reason: Answer) -> Answer:
    """A reason in words, with its rule, records, facts and share."""
    kept = ("reason", "pattern", "rule", "record", "held_out", "facts", "is_enough")
    return {name: reason[name] for name in kept} | {"share": round(reason["share"], 4)}


def _chance(probability: float) -> float:
    """Rounded to what it is worth."""
    return float(f"{probability:.3g}")


def _safe(value: Result) -> Result:
    """The value with control characters escaped in all its texts."""
    if isinstance(value, str):
        return printable(value)  # type: ignore[return-value]
    if isinstance(value, dict):
        return {key: _safe(one) for key, one in value.items()}  # type: ignore[return-value]
    if isinstance(value, list | tuple):
        return [_safe(one) for one in value]  # type: ignore[return-value]
    return value
