"""The notebooks in examples/ run from top to bottom, in an empty folder; they are stored without outputs."""

import ast
import json
from pathlib import Path

import pytest

from tests.helpers.programs import called

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def run_cells(cells):
    """As a notebook does: names are shared, and what a cell ends with is shown in both forms."""
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]), f"cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
            print(f"[{number}]", repr(value), len(getattr(value, "_repr_html_", str)()))


def test_there_are_three():
    assert [one.stem for one in NOTEBOOKS] == ["drug_repurposing", "first_steps", "your_own_csv"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[one.stem for one in NOTEBOOKS])
def test_a_notebook_runs(notebook, tmp_path):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    status, out, err = called(lambda: run_cells(cells), tmp_path)
    assert status == 0, err
    assert out.count("\n") > sum(cell["cell_type"] == "code" for cell in cells) // 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[one.stem for one in NOTEBOOKS])
def test_a_notebook_is_stored_without_outputs(notebook):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert not [cell for cell in code if cell["outputs"] or cell["execution_count"]]
