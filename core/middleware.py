"""What every request gets: an id that the log, the audit and the answer share, and pages for Muster's errors."""

import re
import sqlite3
import uuid

import structlog
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.utils.deprecation import MiddlewareMixin

from core.api import runai
from core.api.errors import error_body
from core.database import was_given_up
from core.errors import DatabaseFailed, DatabaseTooSlow, MusterError, NotFound, NotPermitted

log = structlog.get_logger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
REQUEST_ID_HEADER = "X-Request-ID"
_SQLITE_OF_STATEMENT = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE})


class RequestIdMiddleware(MiddlewareMixin):
    """Takes the request id of a proxy or makes one; it is `request.request_id`, in every log line and the answer."""

    def process_request(self, request: HttpRequest) -> None:
        given = request.headers.get(REQUEST_ID_HEADER, "")
        request_id = given if _REQUEST_ID.match(given) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]  # ours
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response.headers[REQUEST_ID_HEADER] = getattr(request, "request_id", "")
        return response


class ReadableQueryMiddleware(MiddlewareMixin):
    """Reads the query string first: one of too many parameters is refused (400) before anybody else asks for it."""

    def process_request(self, request: HttpRequest) -> None:
        len(request.GET)


class PrivateAnswersMiddleware(MiddlewareMixin):
    """Nothing that Muster answers may stay in a shared cache; static files never come here."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if "Cache-Control" not in response.headers:
            add_never_cache_headers(response)
        return response


class ErrorPagesMiddleware(MiddlewareMixin):
    """Answers Muster's own errors: pages with a page that says what happened, the API with its one error shape."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if _is_databases(exception):
            log.error("database failed", path=request.path, error=str(exception))
            exception = DatabaseTooSlow() if was_given_up(exception) else DatabaseFailed()
        if not isinstance(exception, MusterError):
            return None
        request.refusal = exception.message  # type: ignore[attr-defined]  # for the audit log
        if request.path.startswith(runai.PREFIXES):
            return JsonResponse(error_body(exception), status=exception.code)
        return render(request, _template(exception), {"exception": exception}, status=exception.code)


def _is_databases(error: Exception) -> bool:
    """Whether the database failed, not a statement: it is away, full, locked or read-only (SQLSTATE 25006).

    The driver's class does not tell: for SQLite a missing table or column is an OperationalError too, of the result
    code SQLITE_ERROR; for PostgreSQL a statement beyond its bounds is (class 54, program limit exceeded).
    """
    sqlstate = getattr(error.__cause__, "sqlstate", None) or ""
    if sqlstate == "25006":
        return True
    result = getattr(error.__cause__, "sqlite_errorcode", None)
    of_the_statement = result in _SQLITE_OF_STATEMENT or sqlstate.startswith("54")
    return isinstance(error, OperationalError | InterfaceError) and not of_the_statement


def _template(error: MusterError) -> str:
    if isinstance(error, NotFound):
        return "404.html"
    return "403.html" if isinstance(error, NotPermitted) else "controlplane/error.html"
