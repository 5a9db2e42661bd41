"""What requests and answers of the service look like, for its OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from rnnlogic.serve.limits import Limits

LIMITS = Limits()
Name = Annotated[str, Field(max_length=LIMITS.name)]
EvidenceName = Literal["train", "train+valid", "all"]
# Which facts are known; `evidence` is another name for it.
KnownFacts = Annotated[EvidenceName, Field(validation_alias=AliasChoices("facts", "evidence"))]


class Strict(BaseModel):
    """A request body: unknown members are errors."""

    model_config = ConfigDict(extra="forbid")


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


class QuestionBody(Strict):
    """(head, relation, ?) or (?, relation, tail)."""

    relation: Name
    head: Name | None = None
    tail: Name | None = None


class PredictBody(Strict):
    """Questions to answer."""

    run: Name | None = None
    questions: Annotated[list[QuestionBody], Field(min_length=1, max_length=LIMITS.questions)]
    k: Annotated[int, Field(ge=1, le=LIMITS.answers)] = 10
    facts: KnownFacts = "all"
    known: Literal["drop", "keep"] = "drop"
    allow_violations: bool = False


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


class ExplainBody(Strict):
    """An answer to explain; with `instead`, why it is preferred to another one."""

    run: Name | None = None
    head: Name
    relation: Name
    tail: Name
    instead: Name | None = None
    paths: Annotated[int, Field(ge=0, le=20)] = 3
    facts: KnownFacts = "all"


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
