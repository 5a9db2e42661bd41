"""What README.md and docs/ show is what happens.

The ```python blocks of a file run as one program, which must print exactly its ```output blocks, if any.
On pages that fit a model, numbers are masked. In ```console blocks every `$ command` must print the lines
that follow it. Both start in folders that hold nothing but `examples`.
"""

import pkgutil
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

from rnnlogic.predictors.table import PREDICTORS
from tests.helpers.programs import run_line, run_script

ROOT = Path(__file__).resolve().parents[1]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FITS = {"README.md", "first-steps.md"}  # the last digits of what is learned may differ between machines
every_file = pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])


def blocks(file: Path, language: str) -> list[tuple[int, str]]:
    """Fenced blocks of a language, each with the number of lines before its text."""
    text = file.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, block.start(1)), block[1]) for block in found]


def skeleton(text: str) -> list[str]:
    """Lines without numbers and without the blanks that align them; not those of bins, which may be empty."""
    lines = [" ".join(re.sub(r"[-+]?\d[\d.,]*", "N", line).split()) for line in text.splitlines()]
    return [line for line in lines if not line.startswith("NN")]


def folder_of_page(folder: Path) -> Path:
    """A folder in which a page may begin: it has the examples."""
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder


@every_file
def test_python_blocks_run(file, tmp_path):
    code = ""
    folder_of_page(tmp_path)
    for line, text in blocks(file, "python"):
        code += "\n" * (line - code.count("\n")) + text  # tracebacks show the line numbers of the page
    script = tmp_path / f"{file.name}.py"
    script.write_text(code, encoding="utf-8")
    status, out, err = run_script(script, tmp_path)
    assert status == 0, err
    expected = "".join(text for _, text in blocks(file, "output"))
    form = skeleton if file.name in FITS else str
    assert not expected or form(out) == form(expected)


@every_file
def test_commands_print_what_is_shown(file, tmp_path):
    folder_of_page(tmp_path)
    for _, text in blocks(file, "console"):
        for shown in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = shown.partition("\n")
            _, out, err = run_line(command, tmp_path)
            assert out + err == expected, command


@every_file
def test_links_lead_somewhere(file):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read_text(encoding="utf-8")):
        assert (file.parent / target).exists(), target


def test_the_readme_is_short():
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    assert len(words) < 800
    assert sum(len(file.read_text(encoding="utf-8").split()) for file in FILES) < 24_000


@every_file
def test_paths_and_names_of_the_code_exist(file):
    text = file.read_text(encoding="utf-8")
    for path in re.findall(r"`(\w+/[\w/]*\.py)\b", text):
        assert any((folder / path).exists() for folder in (ROOT, ROOT / "src" / "rnnlogic")), path
    for name in set(re.findall(r"\brnnlogic(?:\.\w+)+", text)):
        pkgutil.resolve_name(name)


def test_every_predictor_has_its_row():
    page = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    section = page.split("## Predictors\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `([\w-]+)` \|(?: [^|]+ \|){2}$", section, re.MULTILINE) == list(PREDICTORS)


def test_every_dependency_is_explained_with_its_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for requirement in [*project["dependencies"], *chain(*project["optional-dependencies"].values())]:
        name, bound = re.fullmatch(r"([\w.-]+)([^;]*)(?:;.*)?", requirement).groups()
        assert re.search(rf"^\|.*\b{name}\b.*\|.*{re.escape(bound)}", page, re.MULTILINE), requirement
