"""Who may ask: hosts, tokens, origins; and the headers that keep pages to themselves."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi.responses import RedirectResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.serve.problems import ProblemError, response_of

COOKIE = "rnnlogic_token"
OPEN = ("/healthz", "/readyz")  # for whoever watches over the server
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # nothing goes elsewhere; with no-referrer our own forms have no Origin
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class Access:
    """Where the server listens, and who may use it."""

    host: str = "127.0.0.1"
    token: str | None = None
    public: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches the server."""
        return is_loopback(self.host)

    @property
    def may_write(self) -> bool:
        """Whether decisions of a review are taken: not from just anybody."""
        return self.is_local or self.token is not None

    def check(self) -> None:
        """Refuse to be reached from outside unless that is meant."""
        if not (self.is_local or self.token or self.public):
            raise RNNLogicError(
                f"{self.host} can be reached from other machines: give --token TOKEN, which requests must"
                " then carry, or --public if anybody may read the runs"
            )
        if self.token is not None and len(self.token) < 8:
            raise RNNLogicError("the token is too short: it needs at least 8 characters")


def is_loopback(host: str) -> bool:
    """Whether an address or name means this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Lets only those in who may, and puts the headers on every response."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._admission(scope)
        await (answer or self._app)(scope, receive, guarded)

    def _admission(self, scope: Scope) -> ASGIApp | None:
        """None if the request may go on, else the response."""
        headers = Headers(scope=scope)
        if not scope["query_string"].isascii():
            return response_of(ProblemError(400, "the query of the address must be percent-encoded"))
        if self._access.is_local and host_of(headers.get("host", "")) not in {*LOOPBACK, self._access.host}:
            return response_of(ProblemError(400, "this server answers on this machine only (Host header)"))
        if scope["method"] not in ("GET", "HEAD", "OPTIONS") and not is_same_origin(headers):
            return response_of(ProblemError(403, "requests from other sites are refused"))
        if self._access.token is None or scope["path"] in OPEN:
            return None
        return self._with_token(scope, headers, self._access.token)

    def _with_token(self, scope: Scope, headers: Headers, token: str) -> ASGIApp | None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), token):
            return None
        if _same(_cookie(headers), token):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if scope["method"] == "GET" and _same(dict(query).get("token", ""), token):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            answer = RedirectResponse(_own_path(scope["path"]) + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=_is_secure(scope))
            return answer
        detail = "send the token as 'Authorization: Bearer TOKEN', or open a page once with ?token=TOKEN"
        return response_of(ProblemError(401, detail, {"WWW-Authenticate": "Bearer"}))


def is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from our own pages, or from no page at all."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host", "")


def host_of(netloc: str) -> str:
    """The host of a Host header, without its port."""
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def _own_path(path: str) -> str:
    """A path for a redirect, which must not name another host."""
    return "/" + path.lstrip("/\\")


def _is_secure(scope: Scope) -> bool:
    return str(scope.get("scheme")) == "https"


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(), token.encode())
