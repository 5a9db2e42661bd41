"""`rnnlogic serve` and `mcp`: the HTTP service with the explorer, and the tools for language-model agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli.models import load_model
from rnnlogic.cli.options import Basis, EvidenceOption, GraphOption, RunFolder
from rnnlogic.cli.output import echo


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


def mcp(
    run: RunFolder,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address, of this machine only, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port, with --http.", min=1, max=65535)] = 8001,
    evidence: EvidenceOption = "all",
    graph: GraphOption = None,
) -> None:
    """Offer a run to language-model agents.

    They get tools by the Model Context Protocol; all but `review` only read.

    The tools describe the graph, find entities and their facts, predict, explain, list rules and complete.
    By default an agent starts this command itself and talks to it over standard input and output.
    """
    from rnnlogic.mcp.server import make_server, serve_http, serve_stdio
    from rnnlogic.mcp.tools import Tools

    model = load_model(run, Basis(graph=graph))
    server = make_server(Tools(model, None if graph else run, evidence))
    if http:
        echo(f"tools for agents at http://{host}:{port}/mcp (Ctrl-C to stop)", err=True)
        serve_http(server, host, port)
    else:
        serve_stdio(server)
