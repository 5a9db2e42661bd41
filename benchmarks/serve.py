"""Measures `rnnlogic serve`: requests per second, latency and memory of a real server on this machine.

    python benchmarks/serve.py runs/umls runs/wn18rr

For each run, `predict` (10 answers of a random validation question) and `explain` (its right answer) are
asked by 1, 8 and 32 clients, each in a thread with a connection of its own. Then `--requests` questions are
asked by 8 clients, and the server's memory before and after is compared. The clients share the machine with
the server, so the figures include them.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from rnnlogic.runs.folder import Run

CLIENTS = (1, 8, 32)


class Client(threading.Thread):
    """Asks its share of addresses, one after the other."""

    def __init__(self, port: int, addresses: list[str]) -> None:
        super().__init__()
        self._port, self._addresses = port, addresses
        self.seconds: list[float] = []
        self.errors = 0

    def run(self) -> None:
        """Ask all."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        for address in self._addresses:
            started = time.perf_counter()
            connection.request("GET", address)
            answer = connection.getresponse()
            answer.read()
            self.seconds.append(time.perf_counter() - started)
            self.errors += answer.status != 200
        connection.close()


def main() -> None:
    options = parse()
    for folder in options.runs:
        with server(folder) as (process, port):
            predict, explain = questions(folder, options.facts)
            for verb, asked in (("predict", predict), ("explain", explain)):
                ask(port, asked[:50], 2)  # warm
                for clients in CLIENTS:
                    spent = processor_time(process.pid)
                    report(folder.name, verb, clients, *ask(port, repeated(asked, options.each), clients))
                    spent = (processor_time(process.pid) - spent) / options.each
                    print(f"    {1000 * spent:.1f} ms of the server's processor time for each request")
            before = resident(process.pid)
            figures = ask(port, repeated(predict, options.requests), 8)
            report(folder.name, f"predict x {options.requests}", 8, *figures)
            after = resident(process.pid)
            print(f"{folder.name}: memory {before / 1e6:.0f} MB before, {after / 1e6:.0f} MB after")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, help="run folders")
    parser.add_argument("--each", type=int, default=1000, help="requests for each verb and number of clients")
    parser.add_argument("--requests", type=int, default=20_000, help="requests between the looks at memory")
    parser.add_argument("--facts", default="all")
    return parser.parse_args()


@contextmanager
def server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server of one run on a free port; it ends with the block."""
    command = [sys.executable, "-m", "rnnlogic", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = (re.search(r"127\.0\.0\.1:(\d+)", line) for line in process.stderr)
            port = int(next(found for found in lines if found)[1])
            threading.Thread(target=process.stderr.read, daemon=True).start()
            while status(port, "/readyz") != 200:
                time.sleep(0.2)
            while not any(one["validation"] for one in json.loads(body(port, "/v1/relations"))):
                time.sleep(0.5)  # measuring must not share the time
            yield process, port
        finally:
            process.terminate()


def status(port: int, address: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", address)
    return connection.getresponse().status


def body(port: int, address: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", address)
    return connection.getresponse().read()


def questions(folder: Path, facts: str) -> tuple[list[str], list[str]]:
    """Addresses that ask for predictions and explanations, of random validation facts."""
    dataset = Run.open(folder).dataset()
    vocab = dataset.vocab
    asked_facts = np.random.default_rng(0).permutation(dataset.valid)[:5000].tolist()
    asked = [
        {"head": vocab.entities[h], "relation": vocab.relations[r], "facts": facts} for h, r, _ in asked_facts
    ]
    tails = [{"tail": vocab.entities[t]} for _, _, t in asked_facts]
    return (
        [f"/v1/predict?{urlencode(one | {'most': '10'})}" for one in asked],
        [f"/v1/explain?{urlencode(one | tail)}" for one, tail in zip(asked, tails, strict=True)],
    )


def repeated(asked: list[str], number: int) -> list[str]:
    return [asked[i % len(asked)] for i in range(number)]


def ask(port: int, addresses: list[str], clients: int) -> tuple[float, list[float], int]:
    """Seconds in all, seconds of each request, and the number of errors."""
    threads = [Client(port, addresses[i::clients]) for i in range(clients)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = time.perf_counter() - started
    return total, [second for thread in threads for second in thread.seconds], sum(t.errors for t in threads)


def report(run: str, verb: str, clients: int, total: float, seconds: list[float], errors: int) -> None:
    p50, p99 = np.percentile(seconds, [50, 99]) * 1000
    print(
        f"{run}: {verb}, {clients} clients: {len(seconds) / total:.0f} requests/s, p50 {p50:.1f} ms,"
        f" p99 {p99:.1f} ms, {errors} errors",
        flush=True,
    )


def processor_time(pid: int) -> float:
    """Seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
