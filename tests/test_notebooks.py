"""The notebooks in examples/ run from top to bottom, and what is stored with them is what they show."""

import json
from contextlib import chdir

import pytest

from tests.notebooks import NOTEBOOKS, outputs_of, texts
from tests.test_docs import skeleton

every_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[one.stem for one in NOTEBOOKS])


def test_there_are_three():
    assert [one.stem for one in NOTEBOOKS] == ["drug_repurposing", "first_steps", "your_own_csv"]


@every_notebook
def test_a_notebook_shows_what_is_stored_with_it(notebook, tmp_path):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    with chdir(tmp_path):
        found = list(outputs_of(cells))
    stored = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
    assert [skeleton(texts(one)) for one in found] == [skeleton(texts(one)) for one in stored]
    assert list(tmp_path.iterdir()) == []


@every_notebook
def test_a_notebook_is_stored_with_outputs(notebook):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert sum(bool(cell["outputs"]) for cell in code) > len(code) // 2
    assert notebook.stat().st_size < 400_000
