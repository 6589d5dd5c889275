"""Validates answers against Run:ai's own document, `runai-openapi.json`: every one of the suite, by a middleware.

Of what the document says wrongly (runai.md §7) this overlooks, one by one:
- it gives no body to a 202 of deleting a project, a credential: the common sentence is let through (`ACCEPTED`);
- it gives no body to reading one identity provider and to changing a security setting: what the list says of it is
  let through (`UNSAID`);
- it documents too few refusals (409, 404, 501 and Muster's own): each must have the shape of schema Error;
- it documents CSV for metrics and some telemetry only, Muster gives all of it and lists as CSV (`OWN_CSV`).
`NetworkTopology.status`, required and undefined, is answered and needs no exception.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from core.api import runai

PATH = Path(__file__).parents[3] / "shared" / "reference" / "runai-openapi.json"
# Answers that Muster adds to every operation, all in the shape of schema Error.
OWN_ERRORS = frozenset({400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 415, 422, 428, 429, 500, 501, 502, 503})
UNSAID = frozenset({"/api/v1/idps/{idp}", "/api/v1/security/settings/{key}"})
ACCEPTED = {"code": 202, "message": "Request has been accepted."}
# Lists that Muster gives as CSV too.
OWN_CSV = frozenset(
    {
        "/api/v1/clusters/{clusterUuid}/nodes",
        "/api/v1/nodes",
        "/api/v1/node-pools",
        "/api/v1/org-unit/departments",
        "/api/v1/org-unit/departments/telemetry",
        "/api/v1/org-unit/projects",
        "/api/v1/org-unit/projects/telemetry",
        "/api/v1/workloads",
        "/api/v1/workloads/pods",
    }
)


@cache
def document() -> Any:
    return json.loads(PATH.read_text())


def problem(operation: runai.Operation, status: int, body: Any) -> str:
    """What is wrong with an answer; "" where nothing is. `body` None: there is none."""
    declared = responses(operation)
    found = declared.get(str(status))
    if found is None and status in OWN_ERRORS:
        return _complaint(_error_validator(), body)
    if found is None:
        return f"{operation} does not document {status}, only {sorted(declared)}"
    if isinstance(body, Csv):
        return "" if "text/csv" in found.get("content", {}) or operation.path in OWN_CSV else "CSV is not documented"
    schema = found.get("content", {}).get("application/json", {}).get("schema")
    if schema is None:
        # The official client takes no empty 202 for JSON, so that one always says the common sentence.
        empty = body in (None, "") or status >= 400 or body == ACCEPTED or operation.path in UNSAID
        return "" if empty else f"{operation} documents no body for {status}"
    if status >= 400 and "token" not in operation.path:
        return _complaint(_error_validator(), body)
    return _complaint(_validator(json.dumps(schema)), body)


def responses(operation: runai.Operation) -> Mapping[str, Any]:
    found = document()["paths"][operation.path][operation.method.lower()]["responses"]
    return {status: _resolved(value) for status, value in found.items()}


def _resolved(value: Any) -> Any:
    while "$ref" in value:
        target = document()
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        value = target
    return value


def _complaint(validator: Any, body: Any) -> str:
    errors = [f"{'/'.join(map(str, e.instance_path))}: {e.message}" for e in validator.iter_errors(body)]
    return "; ".join(errors[:5])


@cache
def _error_validator() -> Any:
    return _validator(json.dumps({"$ref": "#/components/schemas/Error"}))


@cache
def _validator(schema: str) -> Any:
    root = json.loads(schema)
    wanted, found = _names(root), dict[str, Any]()
    while wanted:
        name = wanted.pop()
        found[name] = _schemas()[name]
        wanted |= _names(found[name]) - found.keys()
    root = _translated({"allOf": [root], "components": {"schemas": found}})
    return jsonschema_rs.Draft4Validator(root, validate_formats=True)


def _names(value: Any) -> set[str]:
    return set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(value)))


def _schemas() -> Any:
    return document()["components"]["schemas"]


def _translated(value: Any) -> Any:
    """OpenAPI 3.0 as JSON Schema draft 4: `nullable` becomes a type, examples and descriptions go."""
    if isinstance(value, list):
        return [_translated(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _translated(item) for key, item in value.items() if key != "nullable"}
    if value.get("nullable") is True:
        found = {"anyOf": [{"type": "null"}, found]}
    return found


class Conformance:
    """Middleware of the suite: an answer to an operation of Run:ai that its document does not allow is a failure."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        answer = self.get_response(request)
        # A dry run is Muster's own: its answer says more than Run:ai's document knows.
        dry = request.GET.get("dryRun") == "true"
        operation = None if dry else runai.find(request.method, request.path)
        if operation is not None and PATH.exists() and not answer.streaming:
            wrong = problem(operation, answer.status_code, _json(answer))
            assert not wrong, f"{operation} answered {answer.status_code}: {wrong}\n{answer.content[:2000]!r}"
        return answer


class Csv(str):
    """A body that is no JSON."""

    __slots__ = ()


def _json(answer: Any) -> Any:
    if answer.headers.get("Content-Type", "").startswith("text/csv"):
        return Csv(answer.content.decode())
    is_json = answer.headers.get("Content-Type", "").startswith("application/json")
    return json.loads(answer.content) if is_json and answer.content else None
