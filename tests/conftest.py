"""Fixtures shared by all tests."""

import gc
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded: tiny tensors are slow on many threads

import pytest
from hypothesis import settings

from rnnlogic.config import make_config
from rnnlogic.data import graph as graph_module
from rnnlogic.data.dataset import Dataset
from rnnlogic.model import RNNLogic
from rnnlogic.runs.folder import Run
from tests.helpers.family import fake_learn, family
from tests.helpers.rings import make_ring

# A busy machine is slow now and then; that is no failure.
# Examples differ from run to run, so that a few suffice in each.
settings.register_profile("rnnlogic", deadline=None, max_examples=40)
settings.load_profile("rnnlogic")


# A browser or a cluster may fail for reasons of its own: these tests are run once more, and that is reported.
RUN_ONCE_MORE = ("base/test_clusters.py", "cli/test_cluster.py", "serve/test_pages.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that may be run a second time."""
    for item in items:
        if item.path.relative_to(Path(__file__).parent).as_posix().startswith(RUN_ONCE_MORE):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Spare the collector what all tests share: a million objects of libraries, which stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def authors_data() -> Path:
    """The folder with the authors' splits (umls, kinship, wn18rr, fb15k-237); skips where it is absent."""
    beside_repository = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RNNLOGIC_DATA") or beside_repository)
    if not (folder / "umls" / "train.txt").is_file():
        pytest.skip("needs the authors' data, which may not be shipped: set RNNLOGIC_DATA to its folder")
    return folder


@pytest.fixture(autouse=True)
def no_data_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names mean the offline data unless a test says otherwise."""
    monkeypatch.delenv("RNNLOGIC_DATA", raising=False)


@pytest.fixture(params=["direct index", "bisection"])
def any_index(request, monkeypatch):
    """Run a test with both forms of the graph's row look-up."""
    if request.param == "bisection":
        monkeypatch.setattr(graph_module, "DIRECT_ENTRIES_FREE", 0)
        monkeypatch.setattr(graph_module, "DIRECT_ENTRIES_PER_EDGE", 0)


@pytest.fixture(scope="session")
def ring() -> Dataset:
    """A ring of entities, which rotations can tell all of."""
    return make_ring()


@pytest.fixture(scope="session")
def family_model() -> RNNLogic:
    """The family with its known rules, as a fit leaves it. Tests only read it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
        return RNNLogic({}).fit(family())


@pytest.fixture(scope="session")
def family_run(family_model, tmp_path_factory) -> str:
    """The run folder of that model."""
    return str(family_model.save(tmp_path_factory.mktemp("family") / "run"))


@pytest.fixture
def run(tmp_path) -> Run:
    """A run of the family that is begun."""
    return Run.create(tmp_path / "run", family(), make_config({"seed": 3, "em": {"rounds": 2}}))
