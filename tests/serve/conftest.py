"""A run with names that hurt, an application in this process, and a real server in another."""

import re
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rnnlogic.data.dataset import load_dataset
from rnnlogic.learning import learn
from rnnlogic.model import RNNLogic
from rnnlogic.serve.app import make_app
from tests.family import fake_learn, family_facts

HTML = "<script>document.title='broken'</script><img src=x onerror=alert(1)>\"'&amp;"
HEBREW = "שלום עולם (right to left)"
LONG = "long " * 400  # 2,000 letters
SLASH = "a/b?c=d#e %2F\\"
RENAMED = {"grandpa0": HTML, "grandma0": HEBREW, "child0_0": LONG.strip(), "grandchild0_0": SLASH}


def hurtful_facts() -> list[tuple[str, str, str]]:
    """The family, with some facts missing."""
    kept = [fact for i, fact in enumerate(family_facts()) if fact[1] != "grandparent" or i % 4]
    return [(RENAMED.get(h, h), r, RENAMED.get(t, t)) for h, r, t in kept]


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory) -> Path:
    """A finished run; with labels, one of which is shared."""
    labels = {"grandpa1": "Grandfather One", "grandma1": "Both", "grandma2": "Both"}
    dataset = load_dataset(hurtful_facts(), ratios=(60, 20, 20), name="family", labels=labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learn, "learn", fake_learn)
        model = RNNLogic({"seed": 1}).fit(dataset)
    model.calibration()
    return model.save(tmp_path_factory.mktemp("runs") / "family")


@pytest.fixture(scope="session")
def app(run_folder):
    made = make_app([run_folder], threads=2)
    made.state.runs["family"].measure()
    return made


@pytest.fixture(scope="session")
def client(app):
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as made:
        yield made


class Server:
    """`rnnlogic serve` as a process of its own, on a free port."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "rnnlogic", "serve", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.address = self._address()
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self._wait()

    def _address(self) -> str:
        for line in self.process.stderr:
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                return found[0]
        raise AssertionError(f"the server ended with code {self.process.wait()}")

    def _wait(self) -> None:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{self.address}/readyz", timeout=10):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server does not become ready")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="session")
def server(run_folder):
    made = Server(str(run_folder))
    yield made
    made.kill()
