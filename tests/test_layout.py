"""The layout of docs/layout.md holds: imports go down only, heavy libraries stay where they belong."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import paper
import rnnlogic
from rnnlogic.model import RNNLogic
from tests.helpers.family import family, given_rules, tiny_config

PACKAGE = Path(rnnlogic.__file__).parent
PAPER = Path(paper.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(file.relative_to(PACKAGE)) for file in FILES]
# Imports only go down this list. `rnnlogic/__init__.py` stands above it: it loads the public names on demand.
ORDER = [
    ["__main__"],
    ["cli"],
    ["mcp"],
    ["serve"],
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
    ["review"],
    ["constraints"],
    ["data"],
    ["config"],
    ["base"],
]
# Settings lie beside the code that they govern, and yet at the bottom: nothing that they import is heavy.
CONFIG = re.compile(r"(config|predictors\.table|(?!base\.)[\w.]+\.settings)(\.\w+)?")
TORCH = (
    *("generator/", "predictors/", "fit/"),
    *("embeddings/complex_training.py", "embeddings/pykeen_scorer.py"),
)
LEVELS = {name: level for level, names in enumerate(ORDER) for name in names}


@cache
def parsed(file: Path) -> ast.Module:
    """A file of Python, parsed once for all checks."""
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def imported(file: Path) -> list[str]:
    """Dotted names of everything a file imports, at its top or inside functions."""
    found = list[str]()
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports in full"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def library(module: str) -> str:
    """The library that a module or a name in it belongs to."""
    return module.split(".")[0]


def part_of(module: str) -> str:
    """The part of ORDER that a module or a name in it belongs to: "mining.mine.mine_rules" to "mining"."""
    return "config" if CONFIG.fullmatch(module) else module.split(".")[0]


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Functions of a module and methods of its classes whose names do not begin with an underscore."""
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]
    for node in (node for parent in [tree, *classes] for node in parent.body):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def offences(check: Callable[[Path], Iterator[str]]) -> list[str]:
    """What a check has to say about any file, each with the name of its file."""
    return [f"{name}: {text}" for name, file in zip(NAMES, FILES, strict=True) for text in check(file)]


def wrong_imports(file: Path) -> Iterator[str]:
    """Imports that go up."""
    name = file.relative_to(PACKAGE)
    own = part_of(".".join(name.with_suffix("").parts))
    if name == Path("__init__.py"):
        return
    if own not in LEVELS:
        yield f"{own} is new: give it a place in ORDER and in docs/layout.md"
        return
    for target in imported(file):
        if library(target) == "paper":
            yield f"{own} must not import {target}, which is not installed with it"
        if library(target) == "rnnlogic":
            part = part_of(target.removeprefix("rnnlogic."))
            if part not in LEVELS:
                yield f"{target}: import from the module that defines it"
            elif LEVELS[part] < LEVELS[own]:
                yield f"{own} must not import {target}, which stands above it"


def wrong_libraries(file: Path) -> Iterator[str]:
    """Heavy libraries out of their place."""
    libraries = set(map(library, imported(file)))
    place = file.relative_to(PACKAGE)
    if "numba" in libraries and place.name not in ("kernels.py", "compiled.py"):
        yield "numba belongs in kernels.py"
    if "torch" in libraries and not place.as_posix().startswith(TORCH):
        yield f"torch belongs in {TORCH}"


def wrong_style(file: Path) -> Iterator[str]:
    """Long files, and public functions without types or documentation."""
    text = file.read_text(encoding="utf-8")
    if text.count("\n") > 600:
        yield "is longer than 600 lines"
    for function in public_functions(parsed(file)):
        overload = any(getattr(d, "id", "") == "overload" for d in function.decorator_list)
        if not overload and not ast.get_docstring(function):
            yield f"{function.name} has no docstring"
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        if untyped := [a.arg for a in arguments if a.annotation is None and a.arg not in ("self", "cls")]:
            yield f"{function.name}: {untyped} without types"
        if function.returns is None:
            yield f"{function.name} without the type of its result"


def test_imports_go_down_only():
    assert offences(wrong_imports) == []


def test_heavy_libraries_stay_where_they_belong():
    assert offences(wrong_libraries) == []


def test_files_are_short_and_public_functions_are_typed_and_documented():
    assert offences(wrong_style) == []


def test_the_code_of_the_paper_keeps_the_same_style():
    assert [text for file in PAPER.rglob("*.py") for text in wrong_style(file)] == []
    users = [
        file for file in PAPER.rglob("*.py") if "numba" in {name.split(".")[0] for name in imported(file)}
    ]
    assert {file.name for file in users} <= {"kernels.py"}


def test_every_check_finds_offenders(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_layout.PACKAGE", tmp_path)
    file = tmp_path / "base" / "bad.py"
    file.parent.mkdir()
    file.write_text(
        "import numba, torch, paper\nfrom rnnlogic.cli import main\ndef f(x): pass\n" + "\n" * 600
    )
    assert [len(list(check(file))) for check in (wrong_imports, wrong_libraries, wrong_style)] == [2, 2, 4]


def test_the_page_gives_every_package_a_sentence_in_the_order_of_imports():
    page = (Path(__file__).parents[1] / "docs" / "layout.md").read_text(encoding="utf-8")
    section = page.split("## The packages\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)/?` \| ([A-Z][^|]*\.) \|$", section, re.MULTILINE)
    shown = [name for name, _ in rows]
    packages = [p.name for p in PACKAGE.iterdir() if p.is_dir() or p.suffix == ".py"]
    assert sorted(shown) == sorted(name for name in packages if not name.startswith("_"))
    order = [LEVELS[Path(name).stem] for name in shown if name != "settings"]  # settings/ holds no Python
    assert order == sorted(order)
    assert section.count("\n| ") == len(rows) + 1, "a row of the table is not a package and a sentence"


@pytest.mark.parametrize("module", ["rnnlogic", "rnnlogic.cli", "rnnlogic.config"])
def test_imports_are_quick(module):
    heavy = {"torch", "numba", "pykeen", "pandas", "polars", "scipy", "pyoxigraph"}
    code = f"import sys, {module}; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_answer_loads_no_learner(tmp_path):
    data = family()
    model = RNNLogic()._take(data, tiny_config(), given_rules(data))
    model.calibration()  # kept with the run: to measure it takes an optimiser
    run = model.save(tmp_path / "run")
    heavy = {"torch", "pykeen", "pandas", "scipy.optimize"}
    learner = {"rnnlogic.fit.pipeline", "rnnlogic.generator.network"}
    code = (
        "import sys; from rnnlogic.cli import main; sys.argv = ['rnnlogic', *sys.argv[1:]]\n"
        "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
        f"print('LOADED', sorted({heavy | learner!r} & set(sys.modules)))"
    )
    question = ["predict", str(run), "--head", "child0_0", "--relation", "parent", "--facts", "train"]
    done = subprocess.run([sys.executable, "-c", code, *question], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "grandchild0_0" in done.stdout
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_public_names_are_there():
    assert set(rnnlogic.__all__) <= set(dir(rnnlogic))
    for name in rnnlogic.__all__:
        assert getattr(getattr(rnnlogic, name), "__name__", name) == name
    with pytest.raises(AttributeError, match="module 'rnnlogic' has no attribute 'nothing'"):
        _ = rnnlogic.nothing
