"""Commands in this process."""

import sys

import pytest

from rnnlogic.cli import main


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    """Run the console entry point in this process; gives the exit code."""
    monkeypatch.setattr(sys, "argv", ["rnnlogic", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code
