"""Refusals of the API server with the exact words and `Status` bodies that a kube-apiserver answers."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from simulator.client import KubeError, Object

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass
class ApiError(KubeError):
    """A `KubeError` that also carries `Status.details` and the `Retry-After` seconds."""

    details: Object = field(default_factory=dict)
    retry_after: int | None = None
    list_metadata: Object = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def status(self) -> Object:
        """The `Status` object of this refusal."""
        body: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict(self.list_metadata),
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        details = dict(self.details)
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        if details:
            body["details"] = details
        body["code"] = self.code
        return body


@dataclass(frozen=True, slots=True)
class FieldError:
    """One cause of a 422: `type` is the cause's reason (`FieldValueInvalid`), `detail` the text after the path."""

    path: str
    type: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}"


def field_invalid(path: str, value: Any, detail: str) -> FieldError:
    """`Invalid value` with the value quoted as Go quotes it."""
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {go_value(value)}: {detail}")


def field_required(path: str, detail: str = "") -> FieldError:
    return FieldError(path, "FieldValueRequired", "Required value" + (f": {detail}" if detail else ""))


def field_forbidden(path: str, detail: str) -> FieldError:
    return FieldError(path, "FieldValueForbidden", f"Forbidden: {detail}")


def field_unsupported(path: str, value: Any, allowed: list[str]) -> FieldError:
    supported = ", ".join(go_value(item) for item in allowed)
    return FieldError(
        path, "FieldValueNotSupported", f"Unsupported value: {go_value(value)}: supported values: {supported}"
    )


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r"})


def go_value(value: Any) -> str:
    """A value as Go's field errors print it: strings quoted, `null`, booleans in lower case, JSON for the rest."""
    if isinstance(value, str):
        return '"' + value.translate(_ESCAPES) + '"'
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return msgspec.json.encode(value).decode()
    return str(value)


def qualified(group: str, word: str) -> str:
    """`queues.scheduling.run.ai`, or the bare word for the core group."""
    return f"{word}.{group}" if group else word


def not_found(group: str, plural: str, name: str) -> ApiError:
    return ApiError(
        404,
        "NotFound",
        f'{qualified(group, plural)} "{name}" not found',
        _details(group, plural, name),
    )


def already_exists(group: str, plural: str, name: str) -> ApiError:
    return ApiError(
        409,
        "AlreadyExists",
        f'{qualified(group, plural)} "{name}" already exists',
        _details(group, plural, name),
    )


def conflict(group: str, plural: str, name: str, why: str) -> ApiError:
    return ApiError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}',
        _details(group, plural, name),
    )


def modified(group: str, plural: str, name: str) -> ApiError:
    """The optimistic-lock conflict."""
    return conflict(
        group,
        plural,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )


def forbidden(group: str, plural: str, name: str, why: str) -> ApiError:
    shown = f'{qualified(group, plural)} "{name}"' if name else qualified(group, plural)
    return ApiError(403, "Forbidden", f"{shown} is forbidden: {why}", _details(group, plural, name))


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def internal(message: str) -> ApiError:
    return ApiError(500, "InternalError", message)


def invalid(group: str, kind: str, name: str, errors: list[FieldError]) -> ApiError:
    """422 over field errors; one is printed bare, several in brackets, repeated ones once; all are causes."""
    unique = list(dict.fromkeys(errors))
    text = str(unique[0]) if len(unique) == 1 else "[" + ", ".join(map(str, unique)) + "]"
    details: Object = {key: value for key, value in (("name", name), ("kind", kind)) if value}
    if group:
        details["group"] = group
    details["causes"] = [{"reason": error.type, "message": error.detail, "field": error.path} for error in errors]
    return ApiError(422, "Invalid", f'{qualified(group, kind)} "{name}" is invalid: {text}', details)


def _details(group: str, plural: str, name: str) -> Object:
    details: Object = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    details["kind"] = plural
    return details
