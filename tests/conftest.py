"""Fixtures shared by all tests."""

import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded: tiny tensors are slow on many threads

import pytest
from hypothesis import settings

# A busy machine is slow now and then; that is no failure.
settings.register_profile("rnnlogic", deadline=None)
settings.load_profile("rnnlogic")


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
