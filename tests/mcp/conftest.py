"""A fitted family, in memory and as a run folder."""

import pytest

from rnnlogic.model import RNNLogic
from tests.helpers.family import family, given_rules, tiny_config


@pytest.fixture(scope="package")
def model():
    data = family()
    return RNNLogic()._take(data, tiny_config(), given_rules(data))


@pytest.fixture(scope="package")
def run_folder(model, tmp_path_factory):
    for evidence in ("train", "all"):
        model.level(evidence)  # kept with the run, so the servers need not compute it
    return model.save(tmp_path_factory.mktemp("mcp") / "run")
