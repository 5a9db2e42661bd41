"""`rnnlogic demo`: from facts to an explained prediction on the embedded UMLS graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.cli.fit import fit_run, stoppable
from rnnlogic.cli.output import echo, print_pairs, print_table, terminal_width

if TYPE_CHECKING:
    from rnnlogic.config import Config
    from rnnlogic.data.dataset import Dataset
    from rnnlogic.evaluation.report import Report
    from rnnlogic.explain.explain import Explanation
    from rnnlogic.model import RNNLogic

DATASET = "umls"
FOLDER = Path("runs/demo")
FAST = [
    "em.rounds=1",
    "em.rules=100",
    "em.selected=30",
    "final.rules=100",
    "generator.pretrain_steps=50",
    "generator.embedding_size=64",
    "generator.hidden_size=64",
]
RELATIONS, RULES, TRIED = 3, 3, 60
LIKELY, SHORT = 0.9, 24  # probability of an answer worth explaining, letters of its names


def demo(
    fast: Annotated[bool, typer.Option("--fast", help="Fewer rules and rounds: faster, weaker.")] = False,
) -> None:
    """Learn rules on the embedded UMLS graph. Shows data, training, metrics, rules, one explanation.

    Each demo writes a new fit to runs/demo.
    """
    from rnnlogic.data.dataset import load_dataset

    dataset = load_dataset(DATASET)
    _print_title("1. The data: UMLS, a graph of medical concepts")
    _print_data(dataset)
    _print_title("2. Learning rules from the training facts")
    with stoppable("run `rnnlogic demo` to start again"):
        model, _ = fit_run(dataset, _config(dataset, fast), FOLDER, restart=True)
        _print_frontier()
        _print_title("3. Answering the test questions, which the learner has never seen")
        report = model.evaluate("test")
        _print_metrics(model, report)
    _print_title("4. The rules that decide most, of the relations asked about most")
    _print_rules(model, report)
    _print_title("5. A correct prediction, and the reasons for it")
    _print_explanation(_good_explanation(model, report))
    _print_title("Your turn")
    for command in (f"rules {FOLDER} --relation treats", "fit DATASET -o RUN", "--help"):
        echo(f"  rnnlogic {command}")


def _config(dataset: Dataset, fast: bool) -> Config:
    from rnnlogic.config import override, preset_for

    return override(preset_for(dataset), FAST if fast else [])


def _print_title(text: str) -> None:
    echo()
    echo(text, bold=True)
    echo()


def _print_data(dataset: Dataset) -> None:
    vocab = dataset.vocab
    print_pairs(
        [
            ("source", dataset.source),
            ("entities", vocab.num_entities),
            ("relations", vocab.num_relations),
            *((f"{split} facts", len(dataset.facts(split))) for split in ("train", "valid", "test")),
        ]
    )
    for head, relation, tail in dataset.train[:: max(1, len(dataset.train) // 3)][:3].tolist():
        names = vocab.relation_label(relation), vocab.entity_label(head), vocab.entity_label(tail)
        echo("for example  {}({}, {})".format(*names))


def _print_metrics(model: RNNLogic, report: Report) -> None:
    from rnnlogic.evaluation.baselines import FrequencyScorer
    from rnnlogic.evaluation.evaluate import evaluate
    from rnnlogic.evaluation.metrics import TIE_RULES

    floor = evaluate(FrequencyScorer(), model.dataset, "test")
    shown = [("rules", report, rule) for rule in TIE_RULES]
    shown.append(("frequency (floor)", floor, "expected"))
    rows: list[list[Any]] = [
        [name, rule, *(round(value, 4) for value in result.metrics("both", rule).values())]
        for name, result, rule in shown
    ]
    title = f"{report.queries:,} questions, both directions, in {report.seconds:.1f} s"
    print_table(["answers by", "ties", *report.metrics()], rows, title)


def _print_rules(model: RNNLogic, report: Report) -> None:
    """The rules that decide most of the relations with the most queries."""
    from rnnlogic.explain.rule_text import rule_lines, same_rules

    data, by_relation = model.dataset, report.by_relation()
    asked = sorted(by_relation, key=lambda name: -by_relation[name]["queries"])[:RELATIONS]
    rules = [rule for name in asked for rule in model.rules(name, RULES, sort="use")]
    same = same_rules(rules, data.graph("train"), data.vocab)
    totals = {name: len(model.learned.rules.by_head(data.vocab.relation_id(name))) for name in asked}
    for line in rule_lines(rules, same, totals, data.vocab, terminal_width()):
        echo(line)


def _print_frontier() -> None:
    from rnnlogic.runs.folder import Run
    from rnnlogic.runs.frontier import HEADERS, frontier_rows

    arrays = Run.open(FOLDER).frontier()
    if arrays is not None:
        echo("\nThe fewest rules that answer validation questions nearly as well are kept:")
        print_table(list(HEADERS), frontier_rows(arrays))


def _good_explanation(model: RNNLogic, report: Report) -> Explanation:
    """Of some correct and probable answers, one with short names whose three strongest rules say most."""
    import numpy as np

    is_right = (report.ranks.better == 0) & (report.ranks.tied == 1)
    is_tail = report.asked[:, 1] < len(report.relations)
    right = np.flatnonzero(is_right & is_tail)
    names = model.dataset.vocab
    explanations = [
        model.explain(names.entities[head], names.relations[relation], names.entities[tail], paths=2)
        for head, relation, tail in report.asked[right[:: max(1, len(right) // TRIED)]].tolist()
    ]
    likely = [e for e in explanations if (e.probability or 0.0) >= LIKELY] or explanations
    return max(likely, key=lambda e: (_has_short_names(e), len(e.ideas) > 1, _carried(e)))


def _has_short_names(explanation: Explanation) -> bool:
    entities = explanation.vocab.entities
    return max(len(entities[explanation.head]), len(entities[explanation.tail])) <= SHORT


def _carried(explanation: Explanation) -> float:
    """Share of the score that the three strongest rules carry."""
    strongest = sorted((rule.contribution for rule in explanation.contributions), reverse=True)[:3]
    return min(sum(strongest) / max(explanation.score, 1e-9), 1.0) if len(strongest) == 3 else 0.0


def _print_explanation(explanation: Explanation) -> None:
    for line in explanation.lines():
        echo(line)
