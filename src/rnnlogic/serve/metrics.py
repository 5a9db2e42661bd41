"""Figures for Prometheus: requests, their time, and the state of the process."""

from __future__ import annotations

import time

from prometheus_client import CONTENT_TYPE_LATEST as MEDIA_TYPE
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["MEDIA_TYPE", "Measured", "Metrics"]

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        about, labels = "Requests by route and status.", ("method", "route", "status")
        self.requests = Counter("rnnlogic_requests", about, labels, registry=registry)
        about = "Time of requests by route."
        self.seconds = Histogram(
            "rnnlogic_request_seconds", about, ["route"], buckets=BUCKETS, registry=registry
        )
        self.running = Gauge("rnnlogic_requests_running", "Requests at work.", registry=registry)

    def text(self) -> bytes:
        """All figures, in the text format of Prometheus."""
        return generate_latest(self._registry)


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

        try:
            with self._metrics.running.track_inprogress():
                await self._app(scope, receive, noted)
        finally:
            # A route, never a path: whoever asks for many paths must not fill the memory.
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else "other"
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - started)
