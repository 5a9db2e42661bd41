"""Plain English: the ban list of CONTRIBUTING.md holds for pages, help texts and messages."""

import ast
import re
from pathlib import Path

import pytest

from tests.test_docs import FILES, ROOT

BANNED = (
    "anew",
    "so many",
    "at most so",
    "as pays",
    "for want of",
    "too dear",
    "as dear",
    "the other way round",
    "whichever way round",
    "come again",
    "speaks for",
    "speak for",
    "speaks against",
    "speak against",
    "hangs on",
    "busy core",
    "busy machine",
    "quiet core",
    "what is already linked",
    "the most trusted",
    "surest",
    "packaged settings",
    "evidence besides",
    "named evidence",
    "leaves the house",
    "held back",
    "no new fact",
    "asked once",
    "facts that choose",
    "rnnlogic[",
)
PAGES = [*FILES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
SOURCES = sorted((ROOT / "src" / "rnnlogic").rglob("*.py"))
SHOWN = {"help", "short_help", "epilog", "description"}  # arguments whose text people read


def offences(text):
    """The banned words of a text."""
    plain = " ".join(text.split()).lower()
    return [word for word in BANNED if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", plain)]


def without_code(text):
    return re.sub(r"^```.*?^```$|`[^`\n]*`|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)


def shown_texts(tree):
    """Help texts and messages of a module: arguments of these names, errors, and what commands echo."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield from texts(node.exc)
        elif isinstance(node, ast.keyword) and node.arg in SHOWN:
            yield from texts(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"echo", "note", "warn"}:
            yield from texts(node)


def texts(node):
    return [
        one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_pages_avoid_the_ban_list(page):
    assert offences(without_code(page.read_text(encoding="utf-8"))) == []


def test_help_and_messages_avoid_the_ban_list():
    found = {}
    for source in SOURCES:
        told = shown_texts(ast.parse(source.read_text(encoding="utf-8")))
        words = [(text, word) for text in told for word in offences(text)]
        if words:
            found[str(source.relative_to(ROOT))] = words
    assert found == {}


def test_the_list_finds_what_it_bans():
    assert offences("It is learned\nanew, for want of facts.") == ["anew", "for want of"]
    assert offences("Renew it.") == []


@pytest.mark.parametrize("page", FILES, ids=[page.name for page in FILES])
def test_spelling_is_british(page):
    american = (
        r"\b(color|behavior|neighbor\w*|center|labeled|modeling|favor\w*|artifact|analyz\w+|license[sd]?)\b"
    )
    text = without_code(re.sub(r"\]\([^)]*\)|\[LICENSE\]", "", page.read_text(encoding="utf-8")))
    assert re.findall(american, text) == []


def test_contributing_lists_what_is_banned():
    text = (Path(ROOT) / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "tests/test_prose.py" in text
