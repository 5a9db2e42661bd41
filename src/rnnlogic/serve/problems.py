"""Errors as problem details (RFC 9457): what is wrong, where, and the nearest names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from rnnlogic.base.errors import RNNLogicError, UnknownNameError

MEDIA_TYPE = "application/problem+json"
SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "RFC 9457 problem details.",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "nearest": {"type": "array", "items": {"type": "string"}},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}


class ProblemError(Exception):
    """Something that a request gets as problem details."""

    def __init__(
        self,
        status: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.more = status, detail, dict(headers or {}), more

    @property
    def title(self) -> str:
        """The short name of the kind of problem."""
        return HTTPStatus(self.status).phrase

    @property
    def nearest(self) -> Sequence[str]:
        """Names that may have been meant."""
        return list(self.more.get("nearest", ()))

    def as_dict(self) -> dict[str, Any]:
        """The members of the problem."""
        return {"type": "about:blank", "title": self.title, "status": self.status} | {
            "detail": self.detail,
            **self.more,
        }


def problem_of(error: Exception) -> ProblemError:
    """Any error as a problem; an unforeseen one says nothing of what is inside."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, UnknownNameError):
        return ProblemError(404, str(error), nearest=list(error.nearest))
    if isinstance(error, RNNLogicError):
        return ProblemError(422, str(error))
    if isinstance(error, RequestValidationError):
        return ProblemError(422, _first_of(error), errors=_listed(error))
    if isinstance(error, HTTPException):
        return ProblemError(error.status_code, str(error.detail), error.headers)
    return ProblemError(500, "the server has a fault; its log says more")


def response_of(problem: ProblemError) -> JSONResponse:
    """The response of a problem."""
    return JSONResponse(problem.as_dict(), problem.status, problem.headers, MEDIA_TYPE)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What an operation documents about its errors."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in (400, 401, 413, 422, 503, 504, *statuses)
    }


def _listed(error: RequestValidationError) -> list[dict[str, Any]]:
    return [
        {"where": [str(part) for part in one["loc"]], "message": str(one["msg"])}
        for one in jsonable_encoder(error.errors(), exclude={"input", "ctx", "url"})
    ]


def _first_of(error: RequestValidationError) -> str:
    first = _listed(error)[0]
    return f"{'.'.join(first['where'][1:]) or first['where'][0]}: {first['message']}"
