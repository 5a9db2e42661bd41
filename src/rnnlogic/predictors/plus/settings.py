"""Settings of RNNLogic+."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rnnlogic.base.settings import Settings


class PlusSettings(Settings):
    """RNNLogic+: a network scores an answer by the rules that reach it; variants plus and plus-emb."""

    rules: int | None = Field(
        None, ge=1, description="Rules per relation with the largest |psi|; all if not given"
    )
    aggregator: Literal["pna", "sum"] = Field("pna", description="How the vectors of rules are joined")
    rule_vectors: Literal["embedding", "lstm"] = Field(
        "embedding", description="A free vector for each rule, or one that an LSTM reads off its body"
    )
    dim: int = Field(32, ge=1, description="Size of the vectors of rules and relations (paper: 32)")
    hidden: int = Field(64, ge=1, description="Hidden units of the network")
    linear: Literal["none", "fixed", "trained"] = Field(
        "fixed", description="psi of RNNLogic in the score: not at all, as it is, or trained further"
    )
    path_scores: bool = Field(
        True, description="With an embedding: phi of the paths of rules takes part, in the sum of psi"
    )
    loss: Literal["softmax", "multi"] = Field(
        "softmax",
        description="Other known answers of a query are left out, or share the target with its answer",
    )
    label_smoothing: float = Field(0.0, ge=0, lt=1, description="Share of the target for all candidates")
    unreached: bool | None = Field(
        None,
        description="Whether entities that no rule reaches take part in the softmax, as one candidate; not "
        "given: if an embedding takes part",
    )
    queries_per_relation: int = Field(1000, ge=1, description="Training queries per relation, at most")
    strongest: int = Field(64, ge=0, description="Wrong candidates of a query: so many with the highest sums")
    random: int = Field(32, ge=0, description="Wrong candidates of a query: so many others, at random")
    epochs: int = Field(10, ge=0)
    patience: int = Field(3, ge=1, description="Epochs without a better validation MRR before stopping")
    batch_queries: int = Field(32, ge=1, description="Queries of one relation in a batch")
    batches_per_step: int = Field(4, ge=1, description="Batches, of any relations, in an optimiser step")
    learning_rate: float = Field(3e-3, gt=0)
    weight_decay: float = Field(0.0, ge=0, description="Decoupled, in each optimiser step")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of hidden units left out in training")
    valid_facts: int = Field(2000, ge=1, description="Validation facts evaluated after each epoch")
    eta_facts: int = Field(20_000, ge=1, description="Validation facts that eta is chosen by, at most")
    answer_weights: tuple[float, ...] = Field(
        (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0), min_length=1, description="eta: tried on validation facts"
    )
    per_relation_eta: bool = Field(False, description="An eta for each relation, by its validation queries")
    eta_prior: float = Field(
        30.0, ge=0, description="What all queries say about eta counts as so many queries of a relation"
    )
