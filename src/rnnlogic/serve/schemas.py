"""What requests and answers of the service look like, for its OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rnnlogic.data.dataset import Evidence
from rnnlogic.explain.asking import Question
from rnnlogic.explain.listing import Choice, Sort
from rnnlogic.serve.runs import Limits

LIMITS = Limits()
Name = Annotated[str, Field(max_length=LIMITS.name)]
Facts = Annotated[Evidence, Field(description="Which facts are known.")]
Known = Literal["drop", "keep"]
OLD_NAMES = {"evidence": "facts", "k": "most", "max": "most"}  # understood until the next version


class Asked(BaseModel):
    """What is asked, in the query of an address or in a body."""

    @model_validator(mode="before")
    @classmethod
    def _by_old_names(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {
            OLD_NAMES.get(name, name) if name not in cls.model_fields else name: value
            for name, value in given.items()
        }


class RunInfo(BaseModel):
    """A run that is served."""

    name: str
    dataset: str
    variant: str
    entities: int
    relations: int
    facts: dict[str, int]
    rules: int


class EntityInfo(BaseModel):
    """An entity, or a relation, in a list."""

    name: str
    label: str
    facts: int


class FactGroup(BaseModel):
    """The facts of an entity by one relation; `relation^-1`: the entity is the tail."""

    relation: str
    label: str
    total: int
    others: list[EntityInfo]


class EntityFacts(EntityInfo):
    """An entity with its facts."""

    groups: list[FactGroup]


class RelationInfo(EntityInfo):
    """A relation; how well it is answered on validation facts is null until it has been measured."""

    rules: int
    inverse_rules: int
    validation: dict[str, Any] | None


class RuleRow(BaseModel):
    """A rule and its figures."""

    relation: str
    text: str
    weight: float
    prior: float | None
    predictions: int
    support: int
    confidence: float
    pca_confidence: float
    head_coverage: float
    share: float
    decided: int | None
    right: int | None


class RulePage(BaseModel):
    """A page of rules."""

    total: int
    page: int
    size: int
    rules: list[RuleRow]


class Ends(BaseModel):
    """(head, relation, ?) or (?, relation, tail)."""

    relation: Name
    head: Name | None = None
    tail: Name | None = None


class Answering(Asked):
    """How many answers, and which."""

    most: Annotated[int, Field(ge=1, le=LIMITS.answers)] = 10
    facts: Facts = "all"
    known: Known = "drop"
    allow_violations: bool = False

    def question(self, ends: Ends) -> Question:
        """The question about some ends."""
        how = self.model_dump(include=set(Answering.model_fields))
        return Question(**how, **ends.model_dump(include=set(Ends.model_fields)))


class PredictQuery(Answering, Ends):
    """One question to answer."""


class EndsBody(Ends, extra="forbid"):
    """(head, relation, ?) or (?, relation, tail)."""


class PredictBody(Answering, extra="forbid"):
    """Questions to answer."""

    run: Name | None = None
    questions: Annotated[list[EndsBody], Field(min_length=1, max_length=LIMITS.questions)]


class ExplainQuery(Asked):
    """An answer to explain; with `instead`, why it is preferred to another one."""

    head: Name
    relation: Name
    tail: Name
    instead: Name | None = None
    paths: Annotated[int, Field(ge=0, le=20)] = 3
    facts: Facts = "all"

    @property
    def question(self) -> Question:
        """The fact that is explained."""
        return Question(**self.model_dump(include={"head", "relation", "tail", "instead", "facts"}))


class ExplainBody(ExplainQuery, extra="forbid"):
    """The same as a body."""

    run: Name | None = None


class CompleteQuery(Asked):
    """Which facts are proposed."""

    relation: Name | None = None
    min_probability: Annotated[float, Field(ge=0, le=1)] = 0.0
    most: Annotated[int, Field(ge=1, le=LIMITS.facts)] = 100
    facts: Facts = "all"
    allow_violations: bool = False

    @property
    def question(self) -> Question:
        """What is asked about a relation, or all."""
        return Question(**self.model_dump())


class RulesQuery(BaseModel):
    """Which rules are listed."""

    relation: Name | None = None
    sort: Sort = "use"
    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.0
    min_support: Annotated[int, Field(ge=0, le=1 << 60)] = 0
    max_length: Annotated[int | None, Field(ge=0, le=100)] = None
    page: Annotated[int, Field(ge=1, le=1 << 30)] = 1
    size: Annotated[int, Field(ge=1, le=LIMITS.listed)] = 50

    @property
    def choice(self) -> Choice:
        """All rules that are listed, whatever the page."""
        return Choice(**self.model_dump(exclude={"relation", "page", "size"}))


class AnswerInfo(BaseModel):
    """An answer; `probability` is the chance that the fact is true."""

    entity: str
    label: str
    score: float
    probability: float
    share: float
    is_known: bool


class Answered(BaseModel):
    """A question and its answers, best first; in a batch, `problem` says why one has none.

    `left_out` counts the answers that break a constraint, by its kind.
    """

    head: str
    relation: str
    answers: list[AnswerInfo]
    left_out: dict[str, int]
    problem: str | None = None


class Predicted(BaseModel):
    """The answers of all questions, in their order."""

    run: str
    facts: str
    evidence: str  # the same
    results: list[Answered]


class Explained(BaseModel):
    """An explanation at all levels: ideas, the rules of each, the facts of each rule."""

    model_config = ConfigDict(extra="allow")

    head: str
    relation: str
    tail: str
    claim: str = ""
    reasons: list[dict[str, Any]] = []
    ideas: list[dict[str, Any]]


class ProposedFact(BaseModel):
    """A line of a completion."""

    head: str
    relation: str
    tail: str
    probability: float
    rule: str | None
    path: str | None
    facts: list[list[str]]
