"""`rnnlogic serve`: the HTTP service and the explorer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnlogic.base.errors import RNNLogicError


def serve(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders that `fit` made.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any that is free.", min=0, max=65535)] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="RNNLOGIC_TOKEN", show_envvar=True, help="Requests must carry this, as a bearer token."
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Anybody who reaches the address may read.")
    ] = False,
    threads: Annotated[
        int | None, typer.Option(help="Requests answered at once; without, one for each core.", min=1)
    ] = None,
) -> None:
    """Show runs in a browser and over HTTP.

    The explorer for people is at /, the interface for programs at /v1, described at /api.

    Everything is read only, but for decisions of a review, which go to a file beside the run. Addresses other
    than this machine need --token or --public.
    """
    try:
        import uvicorn

        from rnnlogic.serve.app import make_app
        from rnnlogic.serve.patience import PatientProtocol
        from rnnlogic.serve.security import Access
    except ImportError as error:
        raise RNNLogicError(f"{error.name} is missing: pip install '.[serve]' in the clone") from None

    access = Access(host, token, public)
    app = make_app(runs, access, threads=threads)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=PatientProtocol,
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=1 << 20,  # names may be long, and three of them make an address
        timeout_graceful_shutdown=5,
        log_level="info",
    )
    uvicorn.Server(config).run()
