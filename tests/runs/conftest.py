import pytest

from rnnlogic.config import make_config
from rnnlogic.runs.folder import Run
from tests.family import family


@pytest.fixture
def run(tmp_path) -> Run:
    """A run that is begun."""
    return Run.create(tmp_path / "run", family(), make_config({"seed": 3, "em": {"rounds": 2}}))
