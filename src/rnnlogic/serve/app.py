"""The application: routes, middleware and errors put together."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.text import printable
from rnnlogic.serve import api, pages
from rnnlogic.serve.later import Later
from rnnlogic.serve.limits import BodyLimit, Desk
from rnnlogic.serve.metrics import Measured, Metrics
from rnnlogic.serve.problems import SCHEMA, ProblemError, problem_of, response_of
from rnnlogic.serve.proposals import Searches
from rnnlogic.serve.runs import Limits, Served, load_runs
from rnnlogic.serve.security import Access, Guard

HERE = Path(__file__).parent


def make_app(
    folders: Sequence[str | Path],
    access: Access | None = None,
    limits: Limits | None = None,
    threads: int | None = None,
) -> FastAPI:
    """The service and the explorer for some runs; they are loaded here, once."""
    access, limits = access or Access(), limits or Limits()
    access.check()
    app = FastAPI(
        title="rnnlogic",
        description="Reasoning on knowledge graphs with logic rules that people can read. Read only.",
        version="1",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.runs = load_runs(folders, limits)
    app.state.desk, app.state.metrics = Desk(limits, threads), Metrics()
    app.state.access, app.state.is_ready = access, False
    app.state.searches, app.state.later = Searches(), Later()
    app.include_router(api.router)
    app.include_router(api.v1)
    app.include_router(pages.router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=HERE / "static"))
    for kind in (ProblemError, RNNLogicError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _answer)
    app.add_middleware(BodyLimit, most=limits.body)
    app.add_middleware(Guard, access=access)
    app.add_middleware(Measured, metrics=app.state.metrics)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


async def _answer(request: Request, error: Exception) -> Response:
    """A problem for programs, a page for people."""
    problem = problem_of(error)
    if problem.status == 500:
        logging.getLogger("uvicorn.error").error("%s %s", request.method, request.url.path, exc_info=error)
    return pages.error_page(request, problem) if pages.is_page(request) else response_of(problem)


def _openapi(app: FastAPI) -> dict[str, Any]:
    if not app.openapi_schema:
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        found.setdefault("components", {}).setdefault("schemas", {})["Problem"] = SCHEMA
        app.openapi_schema = found
    return app.openapi_schema


def _attempt(run: str, work: Callable[[], None]) -> None:
    """Do something ahead of requests; what is wrong with a run is one line here, and told to who asks."""
    try:
        work()
    except RNNLogicError as problem:
        logging.getLogger("uvicorn.error").warning("%s: %s", run, printable(str(problem)))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    runs: list[Served] = list(app.state.runs.values())

    def make_ready() -> None:
        for run in runs:
            _attempt(run.name, run.warm_up)
        app.state.is_ready = True
        for run in runs:
            _attempt(run.name, run.measure)

    threading.Thread(target=make_ready, name="make-ready", daemon=True).start()
    yield
    app.state.desk.close()
