"""`rnnlogic demo`: from facts about countries to rules, a missing fact, and the reason for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnlogic.cli.fit import Target, fit_run, stoppable
from rnnlogic.cli.output import echo, print_pairs, print_table

if TYPE_CHECKING:
    from rnnlogic.config import Config
    from rnnlogic.data.dataset import Dataset
    from rnnlogic.evaluation.report import Report
    from rnnlogic.explain.explanation import Explanation
    from rnnlogic.explain.listing import RuleInfo
    from rnnlogic.model import RNNLogic

DATASET = "countries"
FOLDER = Path("runs/demo")
SHORT = ["max_length=2"]  # what is true of countries takes two steps; longer rules would take minutes
FAST = [
    "em.rounds=1",
    "em.rules=100",
    "em.selected=30",
    "final.rules=100",
    "generator.pretrain_steps=50",
    "generator.embedding_size=64",
    "generator.hidden_size=64",
]
SHOWN = 3  # rules, each of another relation
# A relation with one answer, in whose proposals a wrong one is looked for
JUDGED, PROPOSALS = "in_continent", 200
CASES = 20  # a record of fewer cases convinces nobody


def demo(
    fast: Annotated[bool, typer.Option("--fast", help="Fewer rules and rounds: faster, weaker.")] = False,
) -> None:
    """Learn rules from facts about countries. Shows data, training, metrics, rules, one missing fact.

    Each demo writes a new fit to runs/demo.
    """
    from rnnlogic.data.dataset import load_dataset

    dataset = load_dataset(DATASET)
    _print_title("1. The data: countries, their borders, cities, languages and currencies")
    _print_data(dataset)
    _print_title("2. Learning rules from the training facts")
    with stoppable("run `rnnlogic demo` to start again"):
        model, _ = fit_run(dataset, _config(dataset, fast), Target(FOLDER, restart=True))
        _print_title("3. Test facts, which the learner has never seen")
        report = model.evaluate("test")
        _print_metrics(model, report)
    _print_title(f"4. The {SHOWN} rules with the best records, each for another relation")
    rules = _good_rules(model)
    _print_rules(rules)
    found = _found(model, report, {rule.relation for rule in rules})
    if found is not None:
        _print_title("5. A fact that is missing from the training facts, found with its reason")
        for line in found.lines():
            echo(line)
    _print_prevented(model)
    _print_title("Your turn")
    commands = (
        f"rules {FOLDER} --relation uses_currency",
        f"predict {FOLDER} --head France --relation borders",
        f"complete {FOLDER} -o new_facts.tsv",
        "fit YOUR_FACTS.csv -o runs/mine",
    )
    for command in commands:
        echo(f"  rnnlogic {command}")


def _config(dataset: Dataset, fast: bool) -> Config:
    from rnnlogic.config import override, preset_for

    return preset_for(dataset, change=lambda own: override(own, [*SHORT, *(FAST if fast else [])]))


def _print_title(text: str) -> None:
    echo()
    echo(text, bold=True)
    echo()


def _print_data(dataset: Dataset) -> None:
    vocab = dataset.vocab
    print_pairs(
        [
            ("entities", vocab.num_entities),
            ("relations", vocab.num_relations),
            *((f"{split} facts", len(dataset.facts(split))) for split in ("train", "valid", "test")),
        ]
    )
    for head, relation, tail in dataset.train[:: max(1, len(dataset.train) // 3)][:3].tolist():
        names = vocab.entity_label(head), vocab.relation_label(relation), vocab.entity_label(tail)
        echo("for example  {} {} {}".format(*names))


def _print_metrics(model: RNNLogic, report: Report) -> None:
    from rnnlogic.evaluation.evaluate import FrequencyScorer, evaluate

    floor = evaluate(FrequencyScorer(), model.dataset, "test")
    rows = [
        [name, *(round(value, 3) for value in result.metrics("both", "expected").values())]
        for name, result in (("rules", report), ("frequency (floor)", floor))
    ]
    title = f"{report.queries:,} queries, both directions, in {report.seconds:.1f} s"
    print_table(["answers by", *report.metrics()], rows, title)


def _good_rules(model: RNNLogic) -> list[RuleInfo]:
    """Of every relation the rule with the best record; of these, the best."""
    best: dict[str, RuleInfo] = {}
    for rule in model.rules(None, 50, sort="confidence"):
        if rule.predictions >= CASES and "^-1" not in rule.relation:
            best.setdefault(rule.relation, rule)
    return sorted(best.values(), key=lambda rule: -rule.confidence)[:SHOWN]


def _print_rules(rules: list[RuleInfo]) -> None:
    for rule in rules:
        echo(f"  {rule.label}")
        echo(f"    right in {rule.support} of {rule.predictions} cases")
    echo("\nOther cases may be right as well: validation and test facts are hidden from the learner.")


def _found(model: RNNLogic, report: Report, relations: set[str]) -> Explanation | None:
    """Of test facts that are ranked first, the most probable; those whose reason combines facts go first."""
    best: dict[str, tuple[float, tuple[str, str, str]]] = {}
    for head, relation, tail in _ranked_first(model, report):
        if relation in relations:
            answers = model.predict(head, relation, most=1, facts="train")
            probability = (answers[0].probability or 0.0) if answers else 0.0
            best[relation] = max(best.get(relation, (0.0, ("",) * 3)), (probability, (head, relation, tail)))
    explained = [model.explain(*fact, facts="train") for _, fact in sorted(best.values(), reverse=True)]
    return max(explained, key=lambda one: (_combines(one), one.probability or 0.0), default=None)


def _combines(explanation: Explanation) -> bool:
    """Whether the first reason takes more than one fact."""
    reasons = explanation.reasons
    return bool(reasons) and reasons[0].path is not None and len(reasons[0].path.relations) > 1


def _print_prevented(model: RNNLogic) -> None:
    """The most probable proposal that a constraint rules out, and why."""
    limits, vocab = model.constraints("all"), model.dataset.vocab
    for fact in model.complete(JUDGED, most=PROPOSALS, allow_violations=True):
        ids = vocab.entity_id(fact.head), vocab.relation_id(fact.relation), vocab.entity_id(fact.tail)
        reason = limits.reason(*ids)
        if reason:
            _print_title("6. A wrong proposal that a constraint prevents")
            echo(f"{fact.head} {fact.relation} {fact.tail}")
            echo(f"  rule       {fact.rule}")
            echo(f"  path       {fact.path}")
            echo(f"  left out   {reason}")
            return


def _ranked_first(model: RNNLogic, report: Report) -> Iterator[tuple[str, str, str]]:
    """Test facts whose tail is ranked first, alone."""
    import numpy as np

    vocab = model.dataset.vocab
    right = (report.ranks.better == 0) & (report.ranks.tied == 1)
    forward = report.asked[:, 1] < vocab.num_relations
    for head, relation, tail in report.asked[np.flatnonzero(right & forward)].tolist():
        yield vocab.entities[head], vocab.relations[relation], vocab.entities[tail]
