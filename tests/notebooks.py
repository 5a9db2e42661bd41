"""`python -m tests.notebooks`, part of `make pages`: run the notebooks and store what they show."""

import ast
import json
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LARGEST = 60_000  # characters of a page that is stored with a notebook; the text beside it says the same


def outputs_of(cells):
    """What each code cell shows, as a notebook stores it: names are shared, and the last value is shown."""
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]), f"cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        printed = StringIO()
        with redirect_stdout(printed), redirect_stderr(StringIO()):
            exec(compile(tree, f"cell {number}", "exec"), names)
            value = (
                eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names) if last else None
            )
        stream = {"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())}
        yield [stream] * bool(printed.getvalue()) + [shown(value)] * (value is not None)


def shown(value):
    """A value in both forms."""
    data = {"text/plain": lines(repr(value))}
    page = value._repr_html_() if hasattr(value, "_repr_html_") else None
    if page and len(page) <= LARGEST:
        data["text/html"] = lines(page)
    return {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}


def lines(text):
    return text.splitlines(keepends=True)


def texts(outputs):
    """The text of some outputs."""
    return "".join("".join(one.get("text", one.get("data", {}).get("text/plain", ""))) for one in outputs)


def stored(path):
    """A notebook with the outputs of its cells, as a file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        found = list(outputs_of(content["cells"]))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(code, found, strict=True), 1):
        cell["execution_count"], cell["outputs"] = number, outputs
        for one in outputs:
            one.update({"execution_count": number} if "execution_count" in one else {})
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def main():
    for path in NOTEBOOKS:
        path.write_text(stored(path), encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
