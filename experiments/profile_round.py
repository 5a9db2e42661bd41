"""Where the time of an EM round goes.

    python -m experiments.profile_round runs/experiments/fb15k-237/ours/seed-0

Repeats the first round of a run on one thread, from its pre-trained generator, and prints the share of each
part. The result is kept in the run folder as reports/profile_round.json.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
from pathlib import Path

import numpy as np

from rnnlogic.base.budget import Work
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.fit.em import EMState, em_round, new_generator, with_parameters
from rnnlogic.generator.train import torch_threads
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.runs.files import write_report
from rnnlogic.runs.folder import Run

PARTS = {  # function -> what it does; none of them calls another one
    "generate": "beam search for rules",
    "examples": "ground the training queries",
    "fit_weights": "fit the predictor",
    "__call__": "E-step: H and selections",
    "fit_generator": "M-step: train the generator",
    "evaluate": "validation MRR",
}


def profile(run: Run) -> dict[str, float]:
    """Seconds of each part of the first round, and of the whole round."""
    config, dataset = run.config(), run.dataset()
    arrays = run.load("pretrained")
    assert arrays is not None, "the run has no pre-trained generator yet"
    generator = with_parameters(new_generator(dataset, config), arrays)
    state = EMState(0, generator, RuleSet.from_rules([]), np.zeros(0))
    profiler = cProfile.Profile()
    profiler.enable()
    with torch_threads(1):
        _, info = em_round(state, dataset.graph("train"), config, Work(1))
    scorer = RuleScorer(info.rules, info.weights, config.predictor.feature, threads=1)
    evaluate(scorer, dataset, "valid", most_facts=config.em.valid_facts)
    profiler.disable()
    statistics = pstats.Stats(profiler)
    seconds = dict.fromkeys(PARTS, 0.0)
    for (_, _, function), row in statistics.stats.items():  # type: ignore[attr-defined]
        if function in seconds:
            seconds[function] = max(seconds[function], row[3])  # cumulative
    return {PARTS[name]: seconds[name] for name in PARTS} | {"all": statistics.total_tt}  # type: ignore[attr-defined]


def main() -> None:
    """Parse arguments, profile, print and save the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    run = Run.open(parser.parse_args().run)
    seconds = profile(run)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    for part, time in seconds.items():
        print(f"{part:30} {time:8.1f} s {time / seconds['all']:6.1%}")
    print(f"peak memory {peak:.2f} GB")
    write_report(run.folder, "profile_round", {"seconds": seconds, "peak_gb": peak})


if __name__ == "__main__":
    main()
