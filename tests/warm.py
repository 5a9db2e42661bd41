"""Compile the kernels that most tests use, by small fits: `make test` does so while it installs test tools.

Compiled kernels are kept on disk. Without this, each of the processes that run tests side by side begins by
compiling the same ones. Needs no test tools.
"""

from tempfile import TemporaryDirectory

import rnnlogic
from rnnlogic.features.base import Budget
from rnnlogic.features.ground import Grounder
from tests.golden.defaults import CASES, results  # the fourth has a network and an embedding
from tests.helpers.family import family

FEW = {
    "max_length": 2,
    "em": {"rounds": 1},
    "generator": {"pretrain_steps": 20, "tune_steps": 10},
    "evidence": {"negative_evidence": "learned", "constants": True, "prior": True, "surest": True},
    "choice": {"decays": [[10.0, 1.0, 1.0]]},
}


def main() -> None:
    """Fits with all stages on a tiny graph, and a network with an embedding."""
    with TemporaryDirectory() as folder:  # with one, calibration is part of the fit
        model = rnnlogic.RNNLogic(FEW).fit(family(), folder)
        model.evaluate("test")
    results(*CASES[3])
    list(Grounder(family().graph("train"), model.learned.rules, 1, budget=Budget(1, 1)).ground([0], 0))


if __name__ == "__main__":
    main()
