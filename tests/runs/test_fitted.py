"""A finished fit is read with all that it needs to answer."""

import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.model import RNNLogic
from rnnlogic.runs.files import write_arrays
from rnnlogic.runs.fitted import load_fitted
from tests.helpers.family import family, given_rules


def test_it_answers_as_the_model_does(run):
    run.finish(given_rules(family()))
    fitted = load_fitted(run.folder)
    assert fitted.config == run.config()
    assert fitted.scorer.embedding is None
    ours = evaluate(fitted.scorer, fitted.dataset, "test")
    assert ours.metrics() == RNNLogic.load(run.folder).evaluate("test").metrics()
    assert 0 < ours.metrics()["mrr"] <= 1


@pytest.mark.parametrize(
    ("wrong", "problem"), [(99, "body holds 99"), (-100, "neither a relation nor a feature")]
)
def test_rules_without_a_relation_are_refused(run, wrong, problem):
    run.finish(given_rules(family()))
    path = run.folder / "model.safetensors"
    arrays = load_file(path)
    arrays["body"] = arrays["body"].copy()
    arrays["body"][0] = np.int32(wrong)
    write_arrays(path, arrays)
    with pytest.raises(RNNLogicError, match=problem):
        load_fitted(run.folder)


def test_it_needs_no_torch(run):
    run.finish(given_rules(family()))
    lines = ("import sys", "from rnnlogic.runs.fitted import load_fitted", "load_fitted(sys.argv[1])")
    code = "; ".join((*lines, "print('torch' in sys.modules)"))
    done = subprocess.run(
        [sys.executable, "-c", code, str(run.folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("lost", ["model.json", "model.safetensors", "metrics.jsonl"])
def test_a_run_that_lost_a_file_is_refused(run, lost):
    run.log({"stage": "mined"})
    run.finish(given_rules(family()))
    (run.folder / lost).unlink()
    with pytest.raises(RNNLogicError, match=f"{lost}: is missing; put back a whole copy"):
        load_fitted(run.folder)
