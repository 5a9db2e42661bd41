"""Names that hurt on a page, and a real server in another process."""

import random
import re
import subprocess
import sys
import threading
import urllib.request

from tests.helpers.family import family_facts
from tests.helpers.waiting import PATIENCE, wait_until

HTML = "<script>document.title='broken'</script><img src=x onerror=alert(1)>\"'&amp;"
HEBREW = "שלום עולם (right to left)"
LONG = "long " * 400  # 2,000 letters
SLASH = "a/b?c=d#e %2F\\"
RENAMED = {"grandpa0": HTML, "grandma0": HEBREW, "child0_0": LONG.strip(), "grandchild0_0": SLASH}


def hurtful_facts() -> list[tuple[str, str, str]]:
    """The family, with some facts missing at random, so that estimates find that they are."""
    draw = random.Random(1)
    kept = [fact for fact in family_facts() if fact[1] != "grandparent" or draw.random() > 0.25]
    return [(RENAMED.get(h, h), r, RENAMED.get(t, t)) for h, r, t in kept]


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
        wait_until(self._is_ready, "the server becomes ready")

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/readyz", timeout=PATIENCE):
                return True
        except OSError:
            assert self.process.poll() is None, f"the server ended with code {self.process.poll()}"
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
