"""The layout of docs/layout.md holds: imports go down only, heavy libraries stay where they belong."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rnnlogic

PACKAGE = Path(rnnlogic.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(file.relative_to(PACKAGE)) for file in FILES]
# Imports only go down this list. `rnnlogic/__init__.py` stands above it: it loads the public names on demand.
ORDER = [
    ["__main__"],
    ["cli"],
    ["mcp"],
    ["serve"],
    ["studies"],
    ["model"],
    ["complete"],
    ["explain", "render"],
    ["calibrate"],
    ["runs"],
    ["fit"],
    ["generator"],
    ["predictors"],
    ["embeddings"],
    ["mining", "statistics"],
    ["evaluation"],
    ["features"],
    ["rules"],
    ["data"],
    ["config"],
    ["base"],
]
# Settings lie beside the code that they govern, and yet at the bottom: nothing that they import is heavy.
CONFIG = re.compile(r"(config|predictors\.table|(?!base\.)[\w.]+\.settings)(\.\w+)?")
TORCH = (
    *("generator/", "predictors/", "fit/", "studies/"),
    *("embeddings/rotate_torch.py", "embeddings/pykeen_scorer.py"),
)
LEVELS = {name: level for level, names in enumerate(ORDER) for name in names}


def imported(file: Path) -> Iterator[str]:
    """Dotted names of everything a file imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part_of(module: str) -> str:
    """The part of ORDER that a module or a name in it belongs to: "mining.search.mine" to "mining"."""
    return "config" if CONFIG.fullmatch(module) else module.split(".")[0]


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Functions of a module and methods of its classes whose names do not begin with an underscore."""
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]
    for node in (node for parent in [tree, *classes] for node in parent.body):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


@pytest.mark.parametrize("name", [name for name in NAMES if name != "__init__.py"])
def test_imports_go_down_only(name):
    own = part_of(".".join(Path(name).with_suffix("").parts))
    assert own in LEVELS, f"{own} is new: give it a place in ORDER and in docs/layout.md"
    for target in imported(PACKAGE / name):
        if target.split(".")[0] == "rnnlogic":
            part = part_of(target.removeprefix("rnnlogic."))
            assert part in LEVELS, f"{target}: import from the module that defines it"
            assert LEVELS[part] >= LEVELS[own], f"{own} must not import {target}, which stands above it"


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_heavy_libraries_stay_where_they_belong(file):
    libraries = {name.split(".")[0] for name in imported(file)}
    place = file.relative_to(PACKAGE)
    assert "numba" not in libraries or place.name in ("kernels.py", "compiled.py"), "numba: kernels.py"
    assert "torch" not in libraries or place.as_posix().startswith(TORCH), f"torch: {TORCH}"


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_files_are_short_and_public_functions_are_typed_and_documented(file):
    text = file.read_text(encoding="utf-8")
    assert text.count("\n") <= 600
    for function in public_functions(ast.parse(text)):
        overload = any(getattr(d, "id", "") == "overload" for d in function.decorator_list)
        assert overload or ast.get_docstring(function), f"{function.name} has no docstring"
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        untyped = [a.arg for a in arguments if a.annotation is None and a.arg not in ("self", "cls")]
        assert not untyped, f"{function.name}: {untyped} without types"
        assert function.returns is not None, f"{function.name} without the type of its result"


def test_the_page_gives_every_room_a_sentence_in_the_order_of_imports():
    page = (Path(__file__).parents[1] / "docs" / "layout.md").read_text(encoding="utf-8")
    section = page.split("## The rooms\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)/?` \| ([A-Z][^|]*\.) \|$", section, re.MULTILINE)
    shown = [name for name, _ in rows]
    rooms = [p.name for p in PACKAGE.iterdir() if p.is_dir() or p.suffix == ".py"]
    assert sorted(shown) == sorted(name for name in rooms if not name.startswith("_"))
    order = [LEVELS[Path(name).stem] for name in shown if name != "settings"]  # settings/ holds no Python
    assert order == sorted(order)
    assert section.count("\n| ") == len(rows) + 1, "a row of the table is not a room and a sentence"


@pytest.mark.parametrize("module", ["rnnlogic", "rnnlogic.cli", "rnnlogic.config"])
def test_imports_are_quick(module):
    heavy = {"torch", "numba", "pykeen", "pandas", "polars", "scipy", "pyoxigraph"}
    code = f"import sys, {module}; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_there():
    assert set(rnnlogic.__all__) <= set(dir(rnnlogic))
    for name in rnnlogic.__all__:
        assert getattr(getattr(rnnlogic, name), "__name__", name) == name
    with pytest.raises(AttributeError, match="module 'rnnlogic' has no attribute 'nothing'"):
        _ = rnnlogic.nothing
