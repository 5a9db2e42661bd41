"""Figures for Prometheus, in its text format: requests, their time, and the state of the process."""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from collections import Counter
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts requests by route and status."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self._started = time.time()
        self.running = 0

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that is done."""
        with self._lock:
            self._requests[method, route, status] += 1
            counts = self._times.setdefault(route, [0] * (len(BUCKETS) + 1))
            counts[bisect_left(BUCKETS, seconds)] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]

    def text(self) -> str:
        """All figures."""
        with self._lock:
            lines = [*self._count_lines(), *self._time_lines()]
        for name, kind, value, about in (
            ("rnnlogic_requests_running", "gauge", self.running, "Requests at work."),
            ("process_resident_memory_bytes", "gauge", resident_bytes(), "Resident memory."),
            ("process_start_time_seconds", "gauge", self._started, "Start of the server, Unix time."),
        ):
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}", f"{name} {value}"]
        return "\n".join(lines) + "\n"

    def _count_lines(self) -> list[str]:
        name = "rnnlogic_requests_total"
        return [
            f"# HELP {name} Requests by route and status.",
            f"# TYPE {name} counter",
            *(
                f'{name}{{method="{method}",route="{route}",status="{status}"}} {count}'
                for (method, route, status), count in sorted(self._requests.items())
            ),
        ]

    def _time_lines(self) -> list[str]:
        name = "rnnlogic_request_seconds"
        lines = [f"# HELP {name} Time of requests by route.", f"# TYPE {name} histogram"]
        for route, counts in sorted(self._times.items()):
            total = 0
            for bound, count in zip([*map(str, BUCKETS), "+Inf"], counts, strict=True):
                total += count
                lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {total}')
            lines.append(f'{name}_sum{{route="{route}"}} {self._seconds[route]}')
            lines.append(f'{name}_count{{route="{route}"}} {total}')
        return lines


class Measured:
    """Notes the time and the status of every request, by the route that took it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = 500, time.perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.running += 1
        try:
            await self._app(scope, receive, noted)
        finally:
            self._metrics.running -= 1
            # A route, never a path: whoever asks for many paths must not fill the memory.
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else "other"
            self._metrics.note(method, route, status, time.perf_counter() - started)


def resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
