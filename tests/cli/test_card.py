"""`rnnlogic card` and `rnnlogic mcp` as commands."""

import pytest
from typer.testing import CliRunner

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli import app
from rnnlogic.model import RNNLogic
from tests.helpers.family import family, given_rules, tiny_config


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    data = family()
    model = RNNLogic()._take(data, tiny_config(), given_rules(data))
    return str(model.save(tmp_path_factory.mktemp("card") / "run"))


def test_the_card_is_printed_as_markdown(run):
    done = CliRunner().invoke(app, ["card", run])
    assert done.exit_code == 0
    assert done.stdout.startswith("# family: 6 rules\n\n## Data\n")


@pytest.mark.parametrize(("name", "begins"), [("card.html", "<!doctype html>"), ("card.md", "# family")])
def test_the_card_is_written_as_its_name_says(run, tmp_path, name, begins):
    done = CliRunner().invoke(app, ["card", run, "-o", str(tmp_path / name)])
    assert done.stdout == f"card written to {tmp_path / name}\n"
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins)


def test_other_kinds_of_files_are_refused_before_anything_is_loaded(tmp_path):
    done = CliRunner().invoke(app, ["card", "no-run", "-o", str(tmp_path / "card.pdf")])
    assert isinstance(done.exception, RNNLogicError)
    assert "a card is a .md or .html file" in str(done.exception)


def test_a_card_that_cannot_be_written_is_an_error(run, tmp_path):
    done = CliRunner().invoke(app, ["card", run, "-o", str(tmp_path / "missing" / "card.md")])
    assert "cannot be written" in str(done.exception)


def test_the_tool_server_needs_a_run():
    done = CliRunner().invoke(app, ["mcp", "no-run"])
    assert isinstance(done.exception, RNNLogicError)
    assert "there is no such run folder" in str(done.exception)
