"""The HTTP interface and the tools of agents: every request gets an answer or a problem, never a failure."""

import asyncio
import json
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple, get_type_hints
from urllib.parse import quote_from_bytes, unquote

from pydantic import TypeAdapter, ValidationError

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.mcp.tools import Tools
from rnnlogic.model import RNNLogic
from rnnlogic.serve.app import make_app
from tests.torture.mutate import TOKENS, mutated
from tests.torture.outcome import Tally
from tests.torture.runs import Subject, copy_of

NAMES = (b"grandpa0", b"parent", b"married^-1", b"child0_0", b"grandparent", b"RUN", b"1", b"0.5", b"all")
RULE = b"parent(X,Y) <- married(X,Z) & parent(Z,Y)"
PARAMETERS: dict[str, bytes] = {
    **dict.fromkeys(("head", "tail", "instead", "query", "name"), b"grandpa0"),
    **dict.fromkeys(("relation", "of"), b"parent"),
    **dict.fromkeys(("k", "limit", "page", "size", "max", "paths", "min_support", "max_length"), b"3"),
    **dict.fromkeys(("min", "min_probability", "min_confidence", "probability"), b"0.5"),
    "evidence": b"train",
    "known": b"keep",
    "sort": b"support",
    "run": b"RUN",
    "decision": b"accept",
    "text": RULE,
    "rule": RULE,
    "ban": RULE,
    "pin": RULE,
}
GET = (
    *(b"/v1/runs", b"/v1/entities", b"/v1/entities/grandpa0", b"/v1/relations", b"/v1/rules", b"/v1/predict"),
    *(b"/v1/explain", b"/healthz", b"/readyz", b"/metrics", b"/", b"/api", b"/openapi.json"),
    *(b"/runs/RUN", b"/runs/RUN/search", b"/runs/RUN/entity", b"/runs/RUN/question", b"/runs/RUN/why"),
    *(b"/runs/RUN/rules", b"/runs/RUN/rule", b"/runs/RUN/review", b"/runs/RUN/review/accepted.tsv"),
    *(b"/static/x.js", b"/static/../app.py", b"/runs/RUN/review/accepted.nt"),
)
NEEDED = {
    b"/v1/entities": ("query",),
    b"/v1/predict": ("relation", "head"),
    b"/v1/explain": ("head", "relation", "tail"),
    b"/runs/RUN/search": ("query",),
    b"/runs/RUN/entity": ("name",),
    b"/runs/RUN/question": ("head", "relation"),
    b"/runs/RUN/why": ("head", "relation", "tail"),
    b"/runs/RUN/rule": ("text",),
}
DEAR = (b"/v1/complete", b"/runs/RUN/card")  # some milliseconds each, so not often
BODIES = {
    b"/v1/predict": b'{"questions": [{"relation": "parent", "head": "grandpa0"}], "k": 3, "known": "keep"}',
    b"/v1/explain": b'{"head": "grandpa0", "relation": "parent", "tail": "child0_0", "paths": 2}',
    b"/runs/RUN/rules/edited": b"ban=parent(X,Y)<-married(X,Z)%26parent(Z,Y)&pin=married(X,Y)<-married(Y,X)",
    b"/runs/RUN/review": b"head=grandpa0&relation=parent&tail=child0_0&decision=accept&probability=1&rule=x",
}
HEADERS = (
    *(b"content-length", b"content-type", b"accept", b"origin", b"cookie", b"authorization", b"host"),
    *(b"if-none-match", b"range", b"transfer-encoding", b"sec-fetch-site", b"x-forwarded-for"),
)
METHODS = ("GET",) * 40 + ("HEAD", "OPTIONS", "DELETE", "PUT", "PATCH", "TRACE", "")
CANARY = b"/v1/predict", b"relation=grandparent&head=grandpa0"
EVERY = 500  # requests after which a question is asked whose answer is known


class Request(NamedTuple):
    """A request as a server hands it over."""

    method: str
    path: bytes  # as sent
    query: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes


class Site:
    """The application in this process, called as a server would."""

    def __init__(self, app) -> None:
        self.app, self.loop = app, asyncio.new_event_loop()

    def ask(self, request: Request) -> Answer:
        """The answer to a request; whatever the application raises comes through."""
        return self.loop.run_until_complete(self._ask(request))

    async def _ask(self, request: Request) -> Answer:
        waiting = [{"type": "http.request", "body": request.body, "more_body": False}]
        status, parts = 0, []

        async def receive():
            return waiting.pop() if waiting else {"type": "http.disconnect"}

        async def send(message):
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))

        path = unquote(request.path.decode("latin-1"))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": request.method,
            "path": path,
            "raw_path": request.path,
            "root_path": "",
            "query_string": request.query,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "headers": [(b"host", b"127.0.0.1"), *request.headers],
        }
        await self.app(scope, receive, send)
        return Answer(status, b"".join(parts))


class Served:
    """A run that is served, with a question whose answer is known, and the tools of agents."""

    def __init__(self, run: Path) -> None:
        self.run, self.site = run, Site(make_app([run], threads=1))
        self.asked, self.truth = 0, self.site.ask(Request("GET", *CANARY))
        self.tools = {tool.__name__: tool for tool in Tools(RNNLogic.load(run), run).tools}


@cache
def served(run: Path) -> Served:
    """Made once; it takes seconds."""
    return Served(run)


def http(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """A changed request gets an answer: no failure inside, and those of others stay right."""
    here = served(_copy(subjects[0], scratch))
    request = _request(random, here.run.name.encode())
    here.asked += 1
    try:
        answer = here.site.ask(request)
        is_well = answer.status in (503, 504) or 200 <= answer.status < 500
        tally.add("clear" if is_well else "traceback", f"status {answer.status} of {request}"[:600])
    except Exception as problem:
        tally.add("traceback", f"{type(problem).__name__} {str(problem)[:100]} of {request}"[:600])
    if here.asked % EVERY == 0:
        right = here.site.ask(Request("GET", *CANARY)) == here.truth
        tally.add("clear" if right else "silent wrong", "another answer to the same question")


def _copy(subject: Subject, scratch: Path) -> Path:
    run = scratch / "served"
    return run if run.is_dir() else copy_of(subject, run)


def _request(random: Random, run: bytes) -> Request:
    method = random.choice(METHODS)
    if random.random() < 0.25:
        path, good = random.choice(list(BODIES.items()))
        body = good if random.random() < 0.1 else mutated(good, random)
        kind = b"application/json" if body[:1] == b"{" else b"application/x-www-form-urlencoded"
        headers = ((b"content-type", kind), *_headers(random))
        return Request("POST", path.replace(b"RUN", run), _query(random, b"", run), headers, body)
    path = random.choice(DEAR) if random.random() < 0.001 else random.choice(GET)
    query = _query(random, path, run)
    path = path.replace(b"RUN", run)
    path = quote_from_bytes(mutated(path, random), "/").encode() if random.random() < 0.1 else path
    return Request(method, path, query, _headers(random))


def _query(random: Random, path: bytes, run: bytes) -> bytes:
    """Parameters, some of them needed by the path, with good, changed or strange values."""
    names = [*NEEDED.get(path, ()), *random.sample(list(PARAMETERS), random.randrange(3))]
    pairs = []
    for name in names:
        value = PARAMETERS[name].replace(b"RUN", run)
        kind = random.randrange(4)
        value = mutated(value, random) if kind == 0 else random.choice(NAMES) if kind == 1 else value
        pairs.append(f"{name}={quote_from_bytes(value)}".encode())
    text = b"&".join(pairs)
    return mutated(text, random) if random.random() < 0.1 else text


def _headers(random: Random) -> tuple[tuple[bytes, bytes], ...]:
    if random.random() < 0.7:
        return ((b"accept", b"text/html"),) if random.random() < 0.5 else ()
    return ((random.choice(HEADERS), random.choice((*TOKENS, b"http://127.0.0.1", b"text/html", b"gzip"))),)


def tools(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """A tool that an agent calls with changed arguments answers, or refuses with a message."""
    here = served(_copy(subjects[0], scratch))
    name = random.choice([name for name in here.tools if name != "complete" or random.random() < 0.02])
    call: dict[str, object] = {}
    for key in here.tools[name].__annotations__:
        if key == "limit":
            call[key] = random.choice((1, 5, 10, 10, 10, 0, -1, 51, 10**9, "3", 2.5, None))
        elif key in ("tail", "instead") and random.random() < 0.5:
            call[key] = None
        elif key not in ("return", "min_probability"):
            good = b"parent" if key == "relation" else random.choice((b"grandpa0", b"child0_0"))
            changed = mutated(random.choice((good, *NAMES)), random)
            call[key] = (changed if random.random() < 0.3 else good).decode("utf-8", "replace")
    try:
        json.dumps(here.tools[name](**_checked(here.tools[name], call)))
        tally.add("clear")
    except (RNNLogicError, ValidationError) as problem:
        tally.add("clear" if str(problem) else "traceback", f"{name}({call}): no message")
    except Exception as problem:
        tally.add("traceback", f"{name}({call}): {type(problem).__name__} {problem}"[:400])


@cache
def _adapter(tool, key: str) -> TypeAdapter:
    return TypeAdapter(get_type_hints(tool, include_extras=True)[key])


def _checked(tool, call: dict[str, object]) -> dict[str, object]:
    """The arguments as the tool server hands them over, after its own checks."""
    return {key: _adapter(tool, key).validate_python(value) for key, value in call.items()}
