"""Are stated probabilities right? Compares them with the test facts of finished runs.

    python -m experiments.calibration RUN ... [--json] [--figure research/figures/reliability.png]

For evidence train and train+valid, two sets of answers are looked at:

    proposals   all that `rnnlogic complete` lists: every question is asked, whether it has an answer or not
    test facts  the first ten new answers of the questions that test facts ask, (head, relation, ?) and
                (tail, relation^-1, ?); they surely have an answer, which the probability does not know

An answer is true if it is a fact that was held back from the evidence: valid or test for evidence train, test
for train+valid. Probabilities are fitted without a look at test.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.shown import print_table
from rnnlogic.base.types import silent
from rnnlogic.calibrate.calibration import calibrate
from rnnlogic.calibrate.level import Level
from rnnlogic.calibrate.probability import LEAST, reliability
from rnnlogic.calibrate.proposals import new_answers, straight, turned
from rnnlogic.complete.complete import proposed_facts
from rnnlogic.data.dataset import Dataset, Evidence
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.base import AnswerScorer

FIRST = 10  # answers of each question
SEED = 1
PROPOSALS = 30_000  # more than have a probability of .1
Stated = tuple[Triples, NDArray[np.float64]]  # facts [n, 3], probabilities [n]
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
        true = _held_back(model.dataset, evidence)
        populations = {
            "proposals": _proposals(graph, model.scorer, level),
            "test facts": _answers(model.dataset, graph, model.scorer, level, most),
        }
        for name, (facts, probability) in populations.items():
            is_true = np.array([tuple(fact) in true for fact in facts.tolist()], float)
            found = reliability(probability, is_true, np.ones(len(facts)))
            rows.append(
                {
                    "dataset": model.dataset.name,
                    "evidence": evidence,
                    "answers": name,
                    "error": found.error,
                    "from .1 on": int((probability >= LEAST).sum()),
                    "said true": float(probability[probability >= LEAST].sum()),
                    "true": float(is_true[probability >= LEAST].sum()),
                    "error on valid": level.reliability.error,
                    "CPU s": seconds,
                    "bins": found.as_list(),
                }
            )
    return rows


def _held_back(dataset: Dataset, evidence: Evidence) -> set[tuple[int, ...]]:
    parts = [dataset.test] if evidence == "train+valid" else [dataset.valid, dataset.test]
    return set(map(tuple, np.concatenate(parts).tolist()))


def _proposals(graph: Graph, scorer: AnswerScorer, level: Level) -> Stated:
    """All facts that are proposed, with their probabilities; the least probable are left out."""
    return proposed_facts(graph, scorer, level, range(graph.num_relations), PROPOSALS, silent)


def _answers(dataset: Dataset, graph: Graph, scorer: AnswerScorer, level: Level, most: int) -> Stated:
    """The first answers of questions that test facts ask, with their probabilities."""
    pairs = np.concatenate([dataset.test, turned(dataset.test, graph.num_relations)])[:, :2]
    pairs = np.random.default_rng(SEED).permutation(np.unique(pairs, axis=0))[:most]
    facts = []
    for block in new_answers(graph, scorer, *pairs.T):
        order = np.lexsort((block.entity, -block.score, block.question))
        first = order[_places(block.question[order]) < FIRST]
        facts.append(np.column_stack([pairs[block.question[first]], block.entity[first]]))
    found = straight(np.concatenate(facts), graph.num_relations)
    return found, level.probabilities(graph, scorer, found)


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
                place.plot(*points, marker="o", markersize=3, label=f"{row['answers']}: {row['error']:.3f}")
        place.set(title=f"{panel[0]}, evidence {panel[1]}", xlabel="stated", ylabel="true", aspect="equal")
        place.legend(title="answers: error", fontsize=7, title_fontsize=7)
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
    parser.add_argument("--questions", type=int, default=3000, help="of test facts, at most")
    options = parser.parse_args()
    rows = [row for folder in options.runs for row in measure(folder, options.questions)]
    if options.figure:
        draw(rows, options.figure)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print_table([{name: value for name, value in row.items() if name != "bins"} for row in rows])


if __name__ == "__main__":
    main()
