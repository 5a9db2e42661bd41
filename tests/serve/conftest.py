"""A run with names that hurt, an application in this process, and a real server in another."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rnnlogic.data.dataset import load_dataset
from rnnlogic.fit import pipeline
from rnnlogic.model import RNNLogic
from rnnlogic.serve.app import make_app
from tests.helpers.family import fake_learn
from tests.helpers.site import Server, hurtful_facts


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory) -> Path:
    """A finished run; with labels, one of which is shared."""
    labels = {"grandpa1": "Grandfather One", "grandma1": "Both", "grandma2": "Both"}
    dataset = load_dataset(hurtful_facts(), ratios=(60, 20, 20), name="family", labels=labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "learn", fake_learn)
        model = RNNLogic({"seed": 1}).fit(dataset)
    model.calibration()
    return model.save(tmp_path_factory.mktemp("runs") / "family")


@pytest.fixture(scope="session")
def app(run_folder):
    made = make_app([run_folder], threads=2)
    made.state.runs["family"].measure()
    return made


@pytest.fixture(scope="session")
def client(app):
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as made:
        yield made


@pytest.fixture(scope="session")
def server(run_folder):
    made = Server(str(run_folder))
    yield made
    made.kill()
