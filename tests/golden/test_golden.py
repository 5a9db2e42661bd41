"""Small fits of all predictors give the results that were recorded before the code moved (see record.py)."""

import json

import pytest

from tests.golden.record import DATASETS, FILE, VARIANTS, machine, results

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", DATASETS)
def test_results_are_those_recorded(name, variant):
    found = json.loads(json.dumps(results(name, variant)))
    expected = RECORDED["results"][f"{name} {variant}"]
    if machine() == RECORDED["machine"]:
        assert found == expected  # to the last bit
    assert found["rules"] == expected["rules"]
    for side, metrics in expected["test"].items():
        assert found["test"][side] == pytest.approx(metrics, rel=0.02), "another processor rounds otherwise"
