"""What a finished fit leaves behind comes back; damage is named."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.rules.formats import read_rules
from rnnlogic.runs.files import write_arrays
from rnnlogic.runs.folder import Run
from tests.helpers.family import family, given_rules


def test_learned_rules_come_back(run):
    learned = given_rules(family())
    run.finish(learned)
    back = Run.open(run.folder).learned()
    assert back.rules == learned.rules
    assert back.feature == "log1p"
    for name in ("weights", "log_prior", "support", "confidence"):
        np.testing.assert_array_equal(getattr(back, name), getattr(learned, name))
    about = run.about()
    assert (about["seed"], about["rules"]) == (3, len(learned.rules))
    assert 0 <= about["minutes"] < 1


def test_the_arrays_are_kept_once(run):
    run.finish(given_rules(family()))
    arrays = {str(path.relative_to(run.folder)) for path in run.folder.rglob("*.safetensors")}
    assert arrays == {"dataset.safetensors", "model.safetensors"}


def test_rules_txt_is_a_rule_file(run):
    dataset = family()
    learned = given_rules(dataset)
    run.finish(learned)
    read = read_rules(run.folder / "rules.txt", dataset.vocab).rules
    assert set(read) == set(learned.rules)
    weights = [learned.weights[learned.rules.index(rule)] for rule in read]
    assert list(zip(read.heads, weights, strict=True)) == sorted(
        zip(read.heads, weights, strict=True), key=lambda pair: (pair[0], -pair[1])
    )


def test_a_fit_that_was_not_finished_says_what_to_do(run):
    with pytest.raises(RNNLogicError, match="not finished; run the same `rnnlogic fit` command again"):
        run.learned()


@pytest.mark.parametrize("name", ["model.safetensors", "model.json"])
def test_damaged_files_are_named(run, name):
    run.finish(given_rules(family()))
    path = run.folder / name
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(RNNLogicError, match=f"{name}: is damaged"):
        run.learned()


def test_a_missing_array_is_named(run):
    run.finish(given_rules(family()))
    arrays = load_file(run.folder / "model.safetensors")
    del arrays["weights"]
    write_arrays(run.folder / "model.safetensors", arrays)
    with pytest.raises(RNNLogicError, match=r"model\.safetensors: cannot be read \(weights is missing\)"):
        run.learned()
