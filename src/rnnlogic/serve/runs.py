"""A run as it is shown to others: the model, an index of its names, and what its questions cost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.base.text import printable
from rnnlogic.base.types import Progress, Recent
from rnnlogic.complete.complete import NewFact
from rnnlogic.complete.reason import Reasons
from rnnlogic.data.dataset import Evidence
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.explain.answers import Answer
from rnnlogic.explain.asking import Question
from rnnlogic.explain.explanation import Comparison, Explanation
from rnnlogic.explain.listing import MANY, Choice, RuleInfo
from rnnlogic.features.chains.cost import Cost
from rnnlogic.model import RNNLogic
from rnnlogic.render.tables import Listed
from rnnlogic.runs.fitted import label_run, template_run
from rnnlogic.runs.folder import Run
from rnnlogic.serve.search import NameIndex

EXPLAINED = 20  # an explanation asks its question about so often: to see what the answer hangs on
NEAREST = 3
MEASURED = 1000  # validation facts asked to see how well relations are answered
LISTINGS = 16  # lists of rules that are kept
EVERY_RULE = Choice()


@dataclass(frozen=True)
class Limits:
    """Limits of a request."""

    body: int = 64 << 10  # bytes
    answers: int = 100  # of a question
    questions: int = 64  # in one request
    listed: int = 200  # items of a page
    facts: int = 10_000  # of one completion
    name: int = 10_000  # letters
    steps: float = 3e8  # edges that rules may visit; a core visits about 1e8 a second
    seconds: float = 10.0  # for an answer
    long_seconds: float = 120.0  # for a completion
    waiting: int = 64  # requests that wait for a thread

    def refuse_dear(self, steps: float, hint: str) -> None:
        """Refuse work that would visit too many edges."""
        if steps > self.steps:
            raise RNNLogicError(
                f"this query is too expensive: about {steps:.1e} steps, at most {self.steps:.0e}; {hint}"
            )


@dataclass(eq=False)
class Served:
    """One run. Everything here may be called from many threads at once."""

    name: str
    folder: Path
    model: RNNLogic
    limits: Limits
    facts: Evidence = "all"  # that pages and agents see as known
    _costs: dict[Evidence, Cost] = field(default_factory=dict)
    _listings: Recent[list[RuleInfo]] = field(default_factory=lambda: Recent(LISTINGS))
    _measuring: threading.Lock = field(default_factory=threading.Lock)
    answered: dict[str, dict[str, Any]] | None = None  # validation metrics by relation, once measured
    edition: int = 0  # grows when names are changed

    @property
    def vocab(self) -> Vocab:
        """The names."""
        return self.model.dataset.vocab

    @property
    def graph(self) -> Graph:
        """The known facts, accepted ones among them."""
        return self.model.graph(self.facts)

    @cached_property
    def degree(self) -> NDArray[np.int64]:
        """Facts of each entity [E]."""
        arrays = self.graph.arrays
        found = np.bincount(arrays.row_head, np.diff(arrays.row_edges), self.vocab.num_entities)
        return found.astype(np.int64)

    @property
    def reasons(self) -> Reasons:
        """Finds the first reason for a fact on all known facts."""
        model = self.model
        return Reasons(self.graph, self.vocab, model.scorer, model.records)

    @cached_property
    def relation_sizes(self) -> NDArray[np.int64]:
        """Facts of each relation, inverses included [2R]."""
        arrays = self.graph.arrays
        return np.diff(arrays.row_edges[arrays.relation_rows])

    @cached_property
    def entities(self) -> NameIndex:
        """Entities by name and label."""
        labels = [self.vocab.entity_label(i) for i in range(self.vocab.num_entities)]
        return NameIndex(self.vocab.entities, labels, self.degree)

    @cached_property
    def relations(self) -> NameIndex:
        """Relations by name and label."""
        number = self.vocab.num_relations
        labels = [self.vocab.relation_label(i) for i in range(number)]
        return NameIndex(self.vocab.relations, labels, self.relation_sizes[:number])

    def entity(self, name: str) -> int:
        """The id of an entity by name or label."""
        known = self.vocab.has_entity(name) or self.vocab.entities_like(name)
        if not known and self.entities.is_unknown(name):
            # Of maybe millions of names, the index finds the nearest in no time.
            near = [self.vocab.entities[one.id] for one in self.entities.find(name[:100], NEAREST)]
            raise UnknownNameError("entity", name[:100], near)
        return self.vocab.entity_id(name)

    def relation(self, name: str) -> int:
        """The id of a relation by name or label; with ^-1, of its inverse."""
        return self.vocab.relation_id(name)

    def name_entity(self, name: str, label: str) -> None:
        """Show an entity by a label, here and in the run folder."""
        one = self.vocab.entities[self.entity(name)]
        label_run(self.folder, {one: label})
        self._rename(self.model.with_labels({one: label}))

    def say_relation(self, name: str, text: str, turned: str) -> None:
        """Say a relation by a template, here and in the run folder."""
        one = self.vocab.relations[self.relation(name)]
        templates = {one: (text, turned) if turned else text}
        template_run(self.folder, templates)
        self._rename(self.model.with_templates(templates))

    def _rename(self, model: RNNLogic) -> None:
        """Show other names from now on; what was made with the old ones is forgotten."""
        self.model = model
        self._listings = Recent(LISTINGS)
        for kept in ("entities", "relations"):
            self.__dict__.pop(kept, None)
        self.edition += 1
        _ = self.entities, self.relations  # here, where nobody else waits for them

    def named(self, question: Question) -> Question:
        """The question by the names of the data."""
        vocab = self.vocab
        return question.by(
            lambda name: vocab.entities[self.entity(name)],
            lambda name: vocab.relation_name(self.relation(name)),
        )

    def proposable(self, name: str) -> int:
        """The id of a relation that facts can be written with."""
        one = self.relation(name)
        if one >= self.vocab.num_relations:
            raise RNNLogicError("facts are written the way round that the graph has them: leave out ^-1")
        return one

    def cost(self, evidence: Evidence) -> Cost:
        """What questions cost on some evidence."""
        if evidence not in self._costs:
            self._costs[evidence] = Cost(self.model.dataset.graph(evidence), self.model.learned.rules)
        return self._costs[evidence]

    def cost_of_answers(self, question: Question) -> float:
        """Steps to answer a question, and to ask for each answer the other way round."""
        names = question.forward(self.vocab)
        head, relation = self.entity(names[0]), self.relation(names[1])
        cost, back = self.cost(question.facts), self.vocab.inverse(relation)
        return 2 * cost.of_question(head, relation) + question.most * cost.of_any_question(back)

    def predict(self, questions: Sequence[Question]) -> list[Listed[Answer]]:
        """The best answers of each question."""
        self.limits.refuse_dear(
            sum(map(self.cost_of_answers, questions)), "ask fewer questions, or for fewer answers"
        )
        return self.model.answers(questions)

    def explain(self, question: Question, paths: int = 3) -> Explanation | Comparison:
        """Why an answer has its score, or why it is better than another one."""
        asked = self.named(question)
        head, relation = self.entity(asked.head or ""), self.relation(asked.relation or "")
        self.limits.refuse_dear(
            EXPLAINED * self.cost(asked.facts).of_question(head, relation),
            "the head has too many facts for the rules of the relation",
        )
        return self.model.why(asked, paths)

    def complete(self, question: Question, progress: Progress) -> Iterator[NewFact]:
        """The most probable facts that are not known, of one relation or of all."""
        relation, cost = question.relation, self.cost(question.facts)
        wanted = range(self.vocab.num_relations) if relation is None else [self.proposable(relation)]
        steps = self.vocab.num_entities * sum(cost.of_any_question(one) for one in wanted)
        if steps > self.limits.steps / self.limits.seconds * self.limits.long_seconds:
            raise RNNLogicError(f"this query is too expensive: about {steps:.0e} steps; ask for one relation")
        return self.model.proposals(question, progress)

    def rules(self, relation: str | None, choice: Choice = EVERY_RULE) -> list[RuleInfo]:
        """Rules by relation, best first; the lists asked for last are kept."""
        rules = self.model.learned.rules
        wanted = None if relation is None else self.relation(relation)
        number = len(rules) if wanted is None else len(rules.by_head(wanted))
        if number > MANY:
            raise RNNLogicError(f"{number:,} rules are too many to list; ask for one relation")
        key = wanted, choice
        return self._listings.get(key, lambda: self.model.rules(relation, **asdict(choice)))

    def warm_up(self) -> None:
        """Make ready what the first requests need: names, compiled code, calibration."""
        _ = self.entities, self.relations, self.vocab.has_entity("")
        rules = self.model.learned.rules
        for evidence in ("all", "train"):
            for relation in rules.head_relations().tolist()[:1]:
                name, head = self.vocab.relation_name(relation), self.vocab.entities[0]
                self.model.predict(head, name, 1, evidence)
                self.model.explain(head, name, head, facts=evidence)

    def measure(self) -> None:
        """See how well each relation is answered on validation facts, if no report of the run says it."""
        with self._measuring:
            if self.answered is not None:
                return
            self.answered = self._reported()
            if self.answered is not None:
                return
            dataset = self.model.dataset
            if not len(dataset.valid):
                self.answered = {}
                return
            self.answered = evaluate(
                self.model.scorer.apart(), dataset, "valid", most_facts=MEASURED
            ).by_relation()

    def _reported(self) -> dict[str, dict[str, Any]] | None:
        """What the run's report says of each relation; None without one, or if it cannot be read."""
        try:
            report = Run.open(self.folder).report("valid") or {}
        except RNNLogicError as problem:
            told = printable(str(problem))
            logging.getLogger("uvicorn.error").warning("%s; relations are measured again", told)
            return None
        found = report.get("relations")
        return found if isinstance(found, dict) else None


def load_runs(folders: Sequence[str | Path], limits: Limits) -> dict[str, Served]:
    """Runs by the names of their folders."""
    runs: dict[str, Served] = {}
    for folder in folders:
        path = Path(folder).resolve()
        if path.name in runs:
            raise RNNLogicError(f"two runs are called {path.name!r}; serve runs whose folders differ in name")
        runs[path.name] = Served(path.name, path, RNNLogic.load(path), limits)
    return runs
