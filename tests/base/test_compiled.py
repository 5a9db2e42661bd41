"""Kernels give the same bits whether they were just compiled or come from the cache."""

import ast
from pathlib import Path

import numba
import pytest

import paper
import rnnlogic
from rnnlogic.base.progress import Compiled, Count

PACKAGES = [Path(package.__file__).parent for package in (rnnlogic, paper)]
KERNELS = sorted(path for package in PACKAGES for path in package.rglob("kernels.py"))


def decorated(tree: ast.Module, name: str) -> list[ast.FunctionDef]:
    found = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return [node for node in found if any(ast.unparse(one) == name for one in node.decorator_list)]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.parent.name)
def test_relaxed_helpers_are_part_of_their_kernel(path):
    tree = ast.parse(path.read_text())
    relaxed = {function.name for function in decorated(tree, "vectorised")}
    inlined = {function.name for function in decorated(tree, "inlined")}
    exact = [one for one in decorated(tree, "compiled") if one.name.startswith("_")]
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        called = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
        assert not called & relaxed, f"{function.name} calls a relaxed kernel that is not inlined"
        if function in exact:  # an exact helper is compiled twice, too, with what it inlines
            assert not called & inlined, f"{function.name} should be inlined, too"


def test_there_are_relaxed_kernels():
    assert sum(len(decorated(ast.parse(path.read_text()), "inlined")) for path in KERNELS) > 2


def test_compilations_are_counted_and_cached_kernels_are_not(monkeypatch):
    monkeypatch.setattr(Count, "now", Compiled())
    kernel = numba.njit(lambda x: x + 1)
    assert kernel(1) == 2
    kernels, seconds = Count.now
    assert kernels >= 1
    assert seconds > 0
    assert kernel(2) == 3
    assert Count.now == (kernels, seconds), "compiled once"
