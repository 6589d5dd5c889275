"""The one error shape of the API: `{code, message, details}`, as Run:ai's (OpenAPI, schema `Error`).

`code` repeats the HTTP status; `details` is a string that names every faulty field and what it allows. `reason`
is ours: a CamelCase word for programs.
"""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from core.errors import Fault, InvalidInput, MusterError

MESSAGES = {
    400: "Bad request",
    401: "Issuer is not familiar.",
    403: "You do not have sufficient permissions.",
    404: "Resource id not found.",
    405: "Method not allowed",
    406: "Not acceptable: this API answers application/json",
    408: "The time is over",
    409: "Conflict",
    412: "Precondition failed",
    415: "Unsupported media type: send application/json",
    422: "Unprocessable: the key was used for another request",
    428: "Precondition required",
    429: "Too many requests",
    500: "Something went wrong.",
    501: "Not implemented",
    503: "Please try again in few minutes.",
}


def error_body(error: MusterError) -> dict[str, Any]:
    """The JSON body for one of Muster's own errors."""
    body: dict[str, Any] = {"code": error.code, "message": error.message, "reason": error.reason}
    if isinstance(error, InvalidInput):
        body["details"] = "; ".join(map(_sentence, error.faults))
        body["faults"] = [_fault(fault) for fault in error.faults]
    return body


def status_body(status: int, message: str = "", details: str = "", reason: str = "") -> dict[str, Any]:
    """The JSON body for a plain status."""
    body: dict[str, Any] = {"code": status, "message": message or MESSAGES.get(status, "Request failed")}
    if details:
        body["details"] = details
    if reason:
        body["reason"] = reason
    return body


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler. None leaves the error to Django: 500, logged with its traceback."""
    if isinstance(error, MusterError):
        set_rollback()
        return Response(error_body(error), status=error.code)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if not isinstance(error, exceptions.APIException):
        return None
    set_rollback()
    return Response(_drf_body(error), status=error.status_code, headers=_headers(error))


def faults_of(detail: Any, path: str = "") -> list[Fault]:
    """DRF's nested error details as a flat list of faults with dotted paths (`levels[1].name`)."""
    if isinstance(detail, dict):
        joined = [(f"{path}.{key}" if path else str(key), value) for key, value in detail.items()]
        return [fault for where, value in joined for fault in faults_of(value, _without_root(where))]
    if isinstance(detail, list):
        if all(not isinstance(item, (dict, list)) for item in detail):
            return [Fault(path, str(item)) for item in detail]
        return [fault for i, item in enumerate(detail) for fault in faults_of(item, f"{path}[{i}]")]
    return [Fault(path, str(detail))]


def _without_root(path: str) -> str:
    return path.removesuffix(".non_field_errors").removesuffix("non_field_errors")


def _drf_body(error: exceptions.APIException) -> dict[str, Any]:
    if isinstance(error, exceptions.ValidationError):
        return error_body(InvalidInput(faults_of(error.detail)))
    reason = type(error).__name__
    # The generic sentences are Run:ai's; what DRF says beyond them goes into details.
    return status_body(error.status_code, details=str(error.detail), reason=reason)


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = f"{wait:.0f}"
    return headers


def _fault(fault: Fault) -> dict[str, Any]:
    """`line`, of a text that was sent, is there where it is known."""
    told: dict[str, Any] = {"field": fault.field, "message": fault.message, "allowed": fault.allowed}
    return told | {"line": fault.line} if fault.line else told


def _sentence(fault: Fault) -> str:
    text = f"{fault.field}: {fault.message}" if fault.field else fault.message
    text = f"line {fault.line}, {text}" if fault.line else text
    return f"{text} (allowed: {fault.allowed})" if fault.allowed else text
