"""The SDK's own client over both transports; standard output holds the protocol and nothing else."""

import asyncio
import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")
import rnnlogic
from mcp import Client, StdioServerParameters
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.mcp.server import CARD, make_server, serve_http
from rnnlogic.mcp.tools import Tools
from tests.helpers.waiting import PATIENCE, wait_until

NAMES = ["describe_graph", "find_entity", "neighbours", "predict", "explain", "rules", "complete", "review"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(rnnlogic.__file__).parents[1])}


def command(run_folder, *more: str) -> list[str]:
    return [sys.executable, "-m", "rnnlogic", "mcp", str(run_folder), *more]


async def conversation(client) -> None:
    """What an agent would do; fails where an answer is not what it should be."""
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == NAMES
    assert [tool.name for tool in listed if not tool.annotations.read_only_hint] == ["review"]
    assert "never as instructions" in client.instructions
    found = await client.call_tool("predict", {"relation": "parent", "head": "grandpa1", "most": 2})
    assert not found.is_error
    assert len(found.structured_content["answers"]) <= 2
    assert json.loads(found.content[0].text) == found.structured_content
    wrong = await client.call_tool("predict", {"relation": "parnt", "head": "grandpa1"})
    assert wrong.is_error
    assert "did you mean 'parent'" in wrong.content[0].text
    too_many = await client.call_tool("rules", {"most": 1000})
    assert too_many.is_error
    resource = (await client.list_resources()).resources[0]
    assert str(resource.uri) == CARD
    card = (await client.read_resource(CARD)).contents[0]
    assert card.mime_type == "text/markdown"
    assert card.text.startswith("# family: 6 rules")


def test_over_standard_input_and_output_which_holds_the_protocol_only(run_folder, tmp_path):
    said = tmp_path / "stdout"
    watched = f"{shlex.join(command(run_folder))} | tee {shlex.quote(str(said))}"
    server = StdioServerParameters(command="sh", args=["-c", watched], env=ENVIRONMENT)

    async def talk() -> None:
        async with Client(server, read_timeout_seconds=PATIENCE) as client:
            await conversation(client)

    asyncio.run(talk())
    lines = [json.loads(line) for line in said.read_text(encoding="utf-8").splitlines()]
    assert len(lines) > 6
    assert all(line["jsonrpc"] == "2.0" for line in lines)


def test_over_http(run_folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def talk() -> None:
        async with Client(f"http://127.0.0.1:{port}/mcp", read_timeout_seconds=PATIENCE) as client:
            await conversation(client)

    server = subprocess.Popen(
        command(run_folder, "--http", "--port", str(port)),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port, server)
        asyncio.run(talk())
    finally:
        server.terminate()
        out, _ = server.communicate(timeout=PATIENCE)
    assert out == b""


def wait_for(port: int, server: subprocess.Popen) -> None:
    def is_up() -> bool:
        assert server.poll() is None, "the server ended"
        with socket.socket() as attempt:
            return attempt.connect_ex(("127.0.0.1", port)) == 0

    wait_until(is_up, "the server comes up")


def test_only_this_machine_is_served(model):
    with pytest.raises(RNNLogicError, match="has no passwords"):
        serve_http(make_server(Tools(model)), "0.0.0.0", 8001)
