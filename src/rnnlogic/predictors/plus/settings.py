"""Settings of RNNLogic+."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from rnnlogic.base.settings import Settings


class PlusSettings(Settings):
    """RNNLogic+: a network scores an answer by the rules that reach it.

    Fields without a value in the packaged files are the network's size and the cost of an epoch, which users
    change to fit their graph and machine, unless the description says otherwise.
    """

    former: ClassVar[Mapping[str, str]] = {"rules": "keep", "answer_weights": "etas"}
    gone: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("eta_facts", "batches_per_step"), "the same for every graph"
    ) | {
        "loss": "other known answers of a query are left out",
        "unreached": "entities that no rule reaches take part where there is an embedding",
    }

    keep: int | None = Field(
        None, ge=1, description="Rules per relation: those of largest |psi|; all if not given"
    )
    aggregator: Literal["pna", "sum"] = Field("pna", description="How the vectors of rules are aggregated")
    rule_vectors: Literal["embedding", "lstm"] = Field(
        "embedding", description="A free vector for each rule, or one that an LSTM computes from its body"
    )
    dim: int = Field(32, ge=1, description="Size of the vectors of rules and relations (paper: 32)")
    hidden: int = Field(64, ge=1, description="Hidden units of the network")
    linear: Literal["none", "fixed"] = Field(
        "fixed", description="psi in the score: left out (paper), or as RNNLogic learned it"
    )
    path_scores: bool = Field(True, description="With an embedding: multiply psi with the path scores phi")
    queries_per_relation: int = Field(1000, ge=1, description="Training queries per relation, at most")
    strongest: int = Field(64, ge=0, description="Wrong candidates per query with the highest sums of psi")
    random: int = Field(32, ge=0, description="Other wrong candidates per query, drawn at random")
    epochs: int = Field(10, ge=0, description="Passes over the training queries, at most")
    patience: int = Field(3, ge=1, description="Epochs without a better validation MRR before stopping")
    batch_queries: int = Field(32, ge=1, description="Queries of one relation in a batch")
    batches_per_step: ClassVar[int] = 4  # batches in an optimiser step, of any relations
    learning_rate: float = Field(3e-3, gt=0, description="Adam's rate")
    valid_facts: int = Field(2000, ge=1, description="Validation facts evaluated after each epoch, at most")
    eta_facts: ClassVar[int] = 20_000  # validation facts by which eta is chosen, at most
    etas: tuple[float, ...] = Field(
        (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0), min_length=1, description="Values of eta to choose from"
    )
    per_relation_eta: bool = Field(False, description="Choose an eta for each relation")
    eta_prior: float = Field(
        30.0,
        ge=0,
        description="All queries together count as this many queries of a relation in its choice of eta",
    )
