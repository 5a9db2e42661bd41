"""Rules with the figures that people see, sorted and chosen as they ask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Progress, silent
from rnnlogic.data.dataset import Dataset
from rnnlogic.explain.use import RuleUse, rule_use
from rnnlogic.fit.result import Learned
from rnnlogic.render.tables import Listed
from rnnlogic.rules.rule import format_rule
from rnnlogic.statistics.figures import NAMES, RuleFigures, rule_figures

Sort = Literal["weight", "use", "confidence", "support"]
Ids = NDArray[np.int64]

MANY = 50_000  # rules: beyond, figures that decide which rules are shown are not counted for all
CONSIDERED = 200  # rules of each relation for which they are counted then


@dataclass(frozen=True)
class RuleInfo:
    """A learned rule and its numbers; AMIE's figures count distinct pairs (X, Y) of the training facts."""

    relation: str
    text: str
    weight: float
    prior: float | None  # probability under the generator, given the relation; None for rules given by hand
    predictions: int  # pairs that the body joins
    support: int  # predictions that are facts
    confidence: float  # support / predictions
    pca_confidence: float  # support / predictions whose X has a fact of the head
    head_coverage: float  # support / facts of the head
    share: float  # of the entities X that the figures come from; 1: they are exact
    decided: int | None  # first answers of validation queries to which it adds most; None: not counted
    right: int | None  # those of them that are validation facts
    label: str = ""  # the rule as people see it
    lift: float | None = None  # times as often as chance that what it reaches is an answer; None: not known

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Choice:
    """Which rules to list, and in which order."""

    most: int | None = None  # of each relation; None: all
    sort: Sort = "use"
    min_confidence: float = 0.0
    min_support: int = 0
    max_length: int | None = None
    use: bool = False  # count what each rule decides, whatever they are sorted by

    @property
    def needs_figures(self) -> bool:
        """Whether AMIE's figures decide which rules are listed."""
        return self.min_confidence > 0 or self.min_support > 0 or self.sort in ("confidence", "support")

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves out rules that are not good or short enough."""
        return self.min_confidence > 0 or self.min_support > 0 or self.max_length is not None

    def considers_all(self, rules: int) -> bool:
        """Whether all of so many rules are looked at; else only the most promising of each relation."""
        return not self.needs_figures or self.most is None or rules <= MANY


def list_rules(
    learned: Learned,
    dataset: Dataset,
    relations: Sequence[int],
    choice: Choice,
    progress: Progress = silent,
) -> Listed[RuleInfo]:
    """Rules by relation, best first; AMIE's figures are counted only for the rules that need them."""
    counted = choice.use or choice.sort == "use"
    use = rule_use(dataset, learned.predictor, relations, tick=partial(progress, "use")) if counted else None
    groups = [_promising(learned, relation, choice, use) for relation in relations]
    if not choice.considers_all(sum(map(len, groups))):
        groups = [ids[: max(CONSIDERED, choice.most or 0)] for ids in groups]
    if not choice.needs_figures:
        groups = [ids[: choice.most] for ids in groups]
    ids = np.concatenate([np.empty(0, np.int64), *groups])
    tick = partial(progress, "rule figures")
    figures = rule_figures(dataset.graph("train"), learned.rules[ids], tick=tick)
    places = np.split(np.arange(len(ids)), np.cumsum([len(group) for group in groups])[:-1])
    kept = [_kept(figures, own, choice) for own in places]
    return Listed(
        _info(learned, dataset, int(ids[i]), figures.row(i), figures.share[i], use)
        for own in kept
        for i in own.tolist()
    )


def _promising(learned: Learned, relation: int, choice: Choice, use: RuleUse | None) -> Ids:
    """Ids of the rules of a relation, best first as far as is known without AMIE's figures."""
    ids = learned.rules.by_head(relation)
    if choice.max_length is not None:
        ids = ids[learned.rules.lengths[ids] <= choice.max_length]
    weights = learned.weights[ids]
    keys: dict[str, NDArray[Any]] = {
        "weight": weights,
        "use": np.zeros(len(ids)) if use is None else use.decided[ids],
        "confidence": learned.confidence[ids],
        "support": learned.support[ids],
    }
    # What speaks against an answer, or was never right, says little to begin with.
    is_last = (weights < 0) | ~(learned.confidence[ids] > 0) | learned.rules.are_features[ids]
    order = np.lexsort((-np.abs(weights), -keys[choice.sort], is_last))
    return ids[order]


def _kept(figures: RuleFigures, places: Ids, choice: Choice) -> Ids:
    """Of the rules of one relation, in order, those that are listed."""
    is_good = (figures.confidence[places] >= choice.min_confidence) & (
        figures.support[places] >= choice.min_support
    )
    places = places[is_good]
    if choice.sort in ("confidence", "support"):
        places = places[np.argsort(-getattr(figures, choice.sort)[places], kind="stable")]
    else:
        places = places[np.argsort(figures.support[places] == 0, kind="stable")]
    return places[: choice.most]


def _info(
    learned: Learned,
    dataset: Dataset,
    i: int,
    figures: dict[str, Any],
    share: float,
    use: RuleUse | None,
) -> RuleInfo:
    rule, log_prior = learned.rules[i], float(learned.log_prior[i])
    return RuleInfo(
        dataset.vocab.relation_name(rule.head),
        format_rule(rule, dataset.vocab),
        float(learned.weights[i]),
        None if math.isnan(log_prior) else math.exp(log_prior),
        **{name: figures[name] for name in NAMES},
        share=float(share),
        decided=None if use is None else int(use.decided[i]),
        right=None if use is None else int(use.right[i]),
        label=format_rule(rule, dataset.vocab, labels=True),
        lift=None if math.isnan(learned.lift[i]) else float(learned.lift[i]),
    )
