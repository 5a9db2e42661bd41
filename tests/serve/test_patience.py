"""The server outlasts clients that do not finish, runs that are damaged, and ends as it was told to."""

import logging
import shutil
import signal
import socket
import threading

import pytest
import uvicorn

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.runs.files import write_object
from rnnlogic.serve.app import _attempt
from rnnlogic.serve.patience import PatientProtocol
from rnnlogic.serve.runs import Limits, load_runs
from tests.helpers.site import Server
from tests.helpers.waiting import PATIENCE, wait_until


class Hasty(PatientProtocol):
    patience = 0.1


async def echoing(scope, receive, send):
    """Answers with the body of the request."""
    body, more = b"", scope["type"] == "http"
    while more:
        part = await receive()
        body, more = body + part.get("body", b""), part.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(params=[Hasty])
def address(request):
    config = uvicorn.Config(echoing, port=0, http=request.param, lifespan="off", log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started, "the server starts")
    yield server.servers[0].sockets[0].getsockname()
    server.should_exit = True
    thread.join(PATIENCE)


@pytest.mark.parametrize(
    "half",
    [b"", b"GET / HTT", b"GET / HTTP/1.1\r\nHost: x\r\n", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nx"],
)
def test_half_a_request_is_not_waited_for(address, half):
    with socket.create_connection(address, timeout=PATIENCE) as client:
        client.sendall(half)
        assert b"200 OK" not in client.recv(1000)
        while client.recv(1000):
            pass  # until it is closed


@pytest.mark.parametrize("address", [PatientProtocol], indirect=True)
def test_a_whole_request_is_answered(address):
    with socket.create_connection(address, timeout=PATIENCE) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc")
        answer = b""
        while part := client.recv(1000):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"abc" in answer


def test_a_damaged_report_is_one_line_and_measured_again(run_folder, tmp_path, caplog):
    folder = shutil.copytree(run_folder, tmp_path / "run")
    write_object(folder / "reports" / "valid.json", {"relations": {}})
    (folder / "reports" / "valid.json").write_text("{")
    served = load_runs([folder], Limits())["run"]
    with caplog.at_level(logging.WARNING, "uvicorn.error"):
        served.measure()
    assert served.answered
    [record] = caplog.records
    assert "valid.json: is damaged" in record.getMessage()
    assert record.exc_info is None


def test_what_is_wrong_ahead_of_requests_is_one_line(caplog):
    def wrong():
        raise RNNLogicError("a file\nis damaged")

    with caplog.at_level(logging.WARNING, "uvicorn.error"):
        _attempt("run", wrong)
    assert [record.getMessage() for record in caplog.records] == [r"run: a file\nis damaged"]


def test_sigterm_ends_it_with_its_own_exit_code(run_folder):
    server = Server(str(run_folder))
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE) == 128 + signal.SIGTERM
