"""The documentation site: it builds without a warning, has every command and setting, and loads nothing."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.main import get_command

from rnnlogic.base.settings import all_keys
from rnnlogic.cli import app
from rnnlogic.config import Config

pytest.importorskip("mkdocs")
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does; --strict makes a warning, such as a dead link, an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Loads(HTMLParser):
    """Collects what a browser would fetch for a page; links that are only followed do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        fetched = {"script": "src", "img": "src", "link": "href", "iframe": "src"}.get(tag)
        if fetched in values:
            self.found.append(values[fetched])


def test_no_page_loads_anything_from_another_host(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        reader = Loads()
        reader.feed(page.read_text(encoding="utf-8"))
        assert reader.found
        assert not [one for one in reader.found if re.match(r"(https?:)?//", one)], page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_every_command_is_in_the_reference(site):
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for name, command in get_command(app).commands.items():
        assert command.hidden or f">rnnlogic {name}<" in page
    for option in ("--min-probability", "--frontier", "--columns"):
        assert f"<code>{option}</code>" in page


def test_every_setting_is_in_the_reference(site):
    page = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    missing = [key for key in all_keys(Config) if f"<code>{key}</code>" not in page]
    assert missing == []


def test_the_python_reference_has_the_public_names(site):
    import rnnlogic

    page = (site / "reference" / "python.html").read_text(encoding="utf-8")
    methods = [f"RNNLogic.{name}" for name in dir(rnnlogic.RNNLogic) if not name.startswith("_")]
    assert [name for name in [*rnnlogic.__all__, *methods] if f'id="rnnlogic.{name}"' not in page] == []


def test_links_to_files_beside_the_pages_lead_to_pages(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="changelog.html"' in page
    assert "../" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
