"""Rules with the figures that people see: sorted and chosen as they ask, and as lines of text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.text import printable
from rnnlogic.base.types import Progress, silent
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.records import RuleUse, rule_use
from rnnlogic.explain.sentences import numbered
from rnnlogic.fit.result import Learned
from rnnlogic.render.tables import Listed
from rnnlogic.rules.rule import Feature, Rule, format_rule
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.pairs import NAMES, RuleFigures, alike_rules, rule_figures

Sort = Literal["weight", "use", "confidence", "support"]
Ids = NDArray[np.int64]

MANY = 50_000  # rules: beyond, figures that decide which rules are shown are not counted for all
CONSIDERED = 200  # rules of each relation for which they are counted then

NO_BREAK = "\N{NO-BREAK SPACE}"
SAME = "redundant:"
AGAINST = "against:"
LEGEND = "The top contributor adds most to the first answer of a validation query."


@dataclass(frozen=True)
class RuleInfo:
    """A learned rule and its numbers; AMIE's figures count distinct pairs (X, Y) of the training facts.

    Attributes:
        relation: What the rule concludes.
        text: The rule as `parse_rule` reads it.
        weight: What it adds to a score.
        prior: Its probability under the generator, given the relation; None for rules given by hand.
        predictions: How many pairs the body joins.
        support: How many predictions are facts.
        confidence: Support divided by predictions.
        pca_confidence: Support divided by the predictions whose X has a fact of the head.
        head_coverage: Support divided by the facts of the head.
        share: The share of the entities X that the figures come from; with 1 they are exact.
        decided: How many first answers of validation queries it adds most to; None if they are not counted.
        right: How many of those are validation facts.
        label: The rule as people see it.
        lift: How many times as often as chance what it reaches is an answer; None if that is not known.
        rule: The rule as ids, which other graphs have not; no part of JSON.
    """

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
    label: str
    lift: float | None
    rule: Rule = field(compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: value for name, value in vars(self).items() if name != "rule"}


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
        rule=rule,
    )


def same_rules(rules: Sequence[RuleInfo], graph: Graph) -> dict[str, str]:
    """Text of each rule that says the same as an earlier one of the same sign, with the text of that one."""
    found: dict[str, str] = {}
    for is_against in (False, True):
        half = [one for one in rules if (one.weight < 0) == is_against]
        first = alike_rules(graph, RuleSet.from_rules(one.rule for one in half))
        found |= {one.text: half[i].text for one, i in zip(half, first, strict=True) if one is not half[i]}
    return found


def rule_lines(
    rules: Sequence[RuleInfo],
    same: Mapping[str, str],
    totals: Mapping[str, int],
    vocab: Vocab,
    width: int,
) -> Iterator[str]:
    """All rules, relation by relation; `totals` tells how many rules each relation has.

    Every rule has a line of its own, and its figures below it. Lines break between words only.
    """
    names = dict.fromkeys(rule.relation for rule in rules)
    for number, name in enumerate(names):
        own = [rule for rule in rules if rule.relation == name]
        shown = vocab.relation_label(vocab.relation_id(name))
        yield from ["", ""][: number > 0]
        yield from _wrap(f"{printable(shown)}: {_extent(len(own), totals[name])}", width)
        for is_against in (False, True):
            half = [rule for rule in own if (rule.weight < 0) == is_against]
            if half and is_against:
                yield from ["", f"  {AGAINST}"]
            for rule in half:
                if rule.text not in same:
                    alike = [other for other in half if same.get(other.text) == rule.text]
                    yield from _group(rule, alike, width)
    if any(rule.decided for rule in rules):
        yield ""
        yield from _wrap(LEGEND, width)


def figures_words(rule: RuleInfo) -> list[str]:
    """The figures of a rule in words: on the training facts, then what it decided on validation facts.

    A feature joins no pairs, so it has only a weight and a lift.
    """
    about = "" if rule.share == 1 else "about "
    words = [f"weight {rule.weight:.3g}"]
    if not isinstance(rule.rule, Feature):
        words[0] += (
            f", confidence {about}{rule.confidence:.2f} ({about}{rule.support:,} of"
            f" {numbered(rule.predictions, 'pair')}){_lift(rule)}, PCA {about}{rule.pca_confidence:.2f},"
            f" coverage {about}{rule.head_coverage:.2f}"
        )
    else:
        words[0] += _lift(rule)
    if rule.decided:
        words.append(f"top contributor to {numbered(rule.decided, 'first answer')}, right in {rule.right:,}")
    return words


def _lift(rule: RuleInfo) -> str:
    return "" if rule.lift is None else f", lift {rule.lift:.1f}"


def _extent(shown: int, total: int) -> str:
    return numbered(total, "rule") if shown == total else f"{shown:,} of {numbered(total, 'rule')}"


def _group(rule: RuleInfo, alike: Sequence[RuleInfo], width: int) -> Iterator[str]:
    yield from _one(rule, width, "  ")
    if alike:
        yield f"    {SAME}"
    for other in alike:
        yield from _one(other, width, "      ")


def _one(rule: RuleInfo, width: int, indent: str) -> Iterator[str]:
    """A rule and its figures; lines break between atoms and between figures, though these hold blanks."""
    head, arrow, body = printable(rule.label).partition(" <- ")
    room = width - len(indent) - len("       &")
    atoms = _whole(body.split(" & "), " & ", room)
    yield from _wrap(_whole([head], "", room) + arrow + atoms, width, indent, "      ")
    for words in figures_words(rule):
        parts = _whole(words.split(", "), ", ", width - len(indent) - len("  ,"))
        yield from _wrap(parts, width, indent + "  ")


def _whole(parts: Sequence[str], between: str, room: int) -> str:
    """Parts of a line that do not break inside, but for those that need more room than there is."""
    return between.join(part.replace(" ", NO_BREAK) if len(part) <= room else part for part in parts)


def _wrap(text: str, width: int, indent: str = "", more: str = "") -> list[str]:
    """Lines that break between words only; a word that is longer than a line keeps one for itself."""
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + more,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]
