"""`rnnlogic mcp`: the tool server for language-model agents."""

from __future__ import annotations

from typing import Annotated

import typer

from rnnlogic.cli.models import load_model
from rnnlogic.cli.options import Basis, EvidenceChoice, EvidenceOption, GraphOption, RunFolder
from rnnlogic.cli.output import echo


def mcp(
    run: RunFolder,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address, of this machine only, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port, with --http.", min=1, max=65535)] = 8001,
    evidence: EvidenceOption = EvidenceChoice.everything,
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
    server = make_server(Tools(model, None if graph else run, evidence.value))
    if http:
        echo(f"tools for agents at http://{host}:{port}/mcp (Ctrl-C to stop)", err=True)
        serve_http(server, host, port)
    else:
        serve_stdio(server)
