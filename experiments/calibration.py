"""Are stated probabilities right? Compares them with the test facts of finished runs.

    python experiments/calibration.py RUN ... [--json] [--figure docs/figures/reliability.png] [--questions 4000]

For every run and for evidence train and train+valid the first ten new answers of two sets of questions are
looked at: questions that test facts ask, (head, relation, ?) and (tail, relation^-1, ?), and a random sample of
all questions, weighted so that it stands for all. An answer is true if it is a fact that was held back from the
evidence: valid or test for evidence train, test for train+valid. Probabilities are fitted without a look at test.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.answering.calibration.calibration import calibrate
from rnnlogic.answering.calibration.level import Level, relations_with_rules
from rnnlogic.answering.calibration.reliability import LEAST, Reliability, reliability
from rnnlogic.answering.calibration.sample import Questions, draw_questions
from rnnlogic.answering.calibration.standing import new_answers, straight, turned
from rnnlogic.base.types import silent
from rnnlogic.data.dataset import Dataset, Evidence
from rnnlogic.data.graph import Graph
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.loglinear.scorer import AnswerScorer

FIRST = 10  # answers of each question
SEED = 1
EVIDENCES: tuple[Evidence, ...] = ("train", "train+valid")


def measure(folder: Path, most: int) -> list[dict[str, Any]]:
    """Rows of the table for one run."""
    model = RNNLogic.load(folder)
    rows = []
    for evidence in EVIDENCES:
        started = time.process_time()
        level = calibrate(model.dataset, model.scorer, silent, model.config.seed, [evidence]).levels[evidence]
        seconds = time.process_time() - started
        graph = model.dataset.graph(evidence)
        for name, asked in _questions(model.dataset, graph, model.scorer, most).items():
            found = _compare(model.dataset, evidence, graph, model.scorer, level, asked)
            rows.append(
                {
                    "dataset": model.dataset.name,
                    "evidence": evidence,
                    "questions": name,
                    "error": found.error,
                    "error of all": found.error_from(0.0),
                    "answers from .1 on": sum(one.facts for one in found.bins if one.low >= LEAST - 1e-9),
                    "error on valid": level.reliability.error,
                    "CPU s": seconds,
                    "bins": found.as_list(),
                }
            )
    return rows


def _questions(dataset: Dataset, graph: Graph, scorer: AnswerScorer, most: int) -> dict[str, Questions]:
    """Questions of test facts, each once, and a random sample of all."""
    random, num_relations = np.random.default_rng(SEED), graph.num_relations
    pairs = np.concatenate([dataset.test, turned(dataset.test, num_relations)])[:, :2]
    pairs = random.permutation(np.unique(pairs, axis=0))[:most]
    asked = Questions(pairs[:, 0], pairs[:, 1].astype(np.int64), np.ones(len(pairs)))
    relations = relations_with_rules(scorer.rules, np.arange(num_relations), num_relations)
    return {"of test facts": asked, "any": draw_questions(graph, relations, most, random)}


def _compare(
    dataset: Dataset, evidence: Evidence, graph: Graph, scorer: AnswerScorer, level: Level, asked: Questions
) -> Reliability:
    """Probabilities of the first answers beside the truth."""
    facts, weights = [], []
    for block in new_answers(graph, scorer, asked.head, asked.relation):
        order = np.lexsort((block.entity, -block.features[:, 0], block.question))
        first = order[_places(block.question[order]) < FIRST]
        question = block.question[first]
        facts.append(np.stack([asked.head[question], asked.relation[question], block.entity[first]], axis=1))
        weights.append(asked.weight[question])
    found = straight(np.concatenate(facts).astype(np.int32), graph.num_relations)
    weight = np.concatenate(weights)
    held_back = [dataset.test] if evidence == "train+valid" else [dataset.valid, dataset.test]
    true = set(map(tuple, np.concatenate(held_back).tolist()))
    is_true = np.array([tuple(fact) in true for fact in found.tolist()], float)
    return reliability(level.probabilities(graph, scorer, found), is_true, weight)


def _places(question: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each row among those of its question; rows of a question stand together."""
    index = np.arange(len(question))
    begins = np.append(True, question[1:] != question[:-1])[: len(question)]
    return index - np.maximum.accumulate(np.where(begins, index, 0))


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Reliability diagrams: one panel for each dataset and evidence."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = list(dict.fromkeys((row["dataset"], row["evidence"]) for row in rows))
    width = len(EVIDENCES)
    height = -(-len(panels) // width)
    figure, axes = pyplot.subplots(height, width, figsize=(3.2 * width, 3.2 * height), squeeze=False)
    for panel, place in zip(panels, axes.ravel(), strict=False):
        place.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for row in rows:
            if (row["dataset"], row["evidence"]) == panel:
                bins = row["bins"]
                points = [one["predicted"] for one in bins], [one["observed"] for one in bins]
                place.plot(*points, marker="o", markersize=3, label=f"{row['questions']}: {row['error']:.3f}")
        place.set(title=f"{panel[0]}, evidence {panel[1]}", xlabel="stated", ylabel="true", aspect="equal")
        place.legend(title="error, questions", fontsize=7, title_fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Parse arguments, measure every run, print a table or JSON, draw the diagrams."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--questions", type=int, default=4000, help="of each set at most")
    options = parser.parse_args()
    rows = [row for folder in options.runs for row in measure(folder, options.questions)]
    if options.figure:
        draw(rows, options.figure)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    names = [name for name in rows[0] if name != "bins"]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for row in rows:
        cells = [f"{row[n]:.3f}" if isinstance(row[n], float) else str(row[n]) for n in names]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
