"""Fills requests that were made from openapi.yaml with what a schema cannot say: which ids there are, what two values
say together, and what texts with a grammar of their own hold (conditions, manifests). Everything else stays as it was
made: names, descriptions, labels, amounts."""

import base64
import itertools
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from tests.api.conftest import MANIFEST, NODE_UID

_number = itertools.count()
PASSWORD = "a password of 2026"
NAME = re.compile(r"(?m)^  name: .*$")
MANIFEST_TEXT = base64.b64encode(MANIFEST.encode()).decode()


def filler(world: Any, person: Any, paths: Mapping[str, Any]) -> "Callable[[Any], None]":
    """`fill(case)` for a seeded world and who asks. `paths`: ids by the collection before them in a path."""
    values = _values(world, person)

    def fill(case: Any) -> None:
        template = case.operation.path
        for collection, parameter in re.findall(r"/([a-z-]+)/\{([^}]+)\}", template):
            if collection in paths and parameter in case.path_parameters:
                case.path_parameters[parameter] = str(paths[collection])
        _fill_query(case, values)
        if isinstance(case.body, dict | list):
            case.body = _filled(case.body, values)
            _agree(case.body, template, values)
            _leave_out(case.body, template)
        case.headers = {
            **(case.headers or {}),
            "If-Match": "*",
            **({"Idempotency-Key": f"key-{next(_number)}"} if "Idempotency-Key" in (case.headers or {}) else {}),
        }

    return fill


def named_anew(body: Any) -> Any:
    """`body` with names that are not taken: who does the same steps again makes the same again."""
    if isinstance(body, list):
        return [named_anew(item) for item in body]
    if not isinstance(body, dict):
        return body
    new = {"name": f"name-{next(_number)}", "email": f"ada-{next(_number)}@example.org"}
    return {key: new[key] if key in new else named_anew(value) for key, value in body.items()}


def ids_of(world: Any, colleague: Any) -> dict[str, Any]:
    """What there is, by the collection before its id in a path."""
    return {
        "clusters": world.cluster.pk,
        "nodes": NODE_UID,
        "network-topologies": world.topology.pk,
        "node-pools": world.pool.pk,
        "nodepools": world.pool.name,
        "departments": world.department.pk,
        "projects": world.project.pk,
        "workloads": world.running.pk,
        "pods": world.pod.uid,
        "setting": "api.require-if-match",
        "users": colleague.pk,
    }


def _values(world: Any, person: Any) -> dict[str, Callable[[], Any]]:
    """By the name of a field or parameter, with what no schema can say of it."""
    cluster, project, department = str(world.cluster.pk), str(world.project.pk), str(world.department.pk)
    there: Mapping[str, Any] = {  # which there are
        "clusterId": cluster, "projectId": project, "parentId": department, "departmentId": department,
        "nodepoolId": str(world.pool.pk), "networkTopologyId": str(world.topology.pk),
        "nodePool": {"id": str(world.pool.pk)}, "roleId": 8, "subjectId": person.email, "subjectType": "user",
        "scopeType": "tenant", "scopeId": "1", "ids": [str(world.waiting.pk)], "queue": world.project.namespace,
        "cordon": "gpu-a", "remove": "gpu-b", "adopt": [], "release": [],
    }  # fmt: skip
    moments = {  # what lies before or after what, and how long there have been years
        "expiresAt": "2100-01-01T00:00:00Z", "start": "2026-11-29T10:00:00Z", "end": "2026-11-29T11:00:00Z",
        "lastUpdated": "2026-11-29T10:00:00Z",
    }  # fmt: skip
    sums = {  # at most ten years in all; the two places of a strategy agree
        "minGuaranteedRuntime": "8h40m", "placementStrategy": {"gpu": "binpack"},
    }  # fmt: skip
    secrets = {"currentPassword": PASSWORD, "newPassword": "a new password of 2027"}  # right, and not to be guessed
    texts = {"manifestBase64Encoded": MANIFEST_TEXT, "total": "8", "timeout": 0}
    found = {**there, **moments, **sums, **secrets, **texts}
    return {key: lambda value=value: value for key, value in found.items()} | {"name": lambda: f"name-{next(_number)}"}


def _fill_query(case: Any, values: Mapping[str, Callable[[], Any]]) -> None:
    query = case.query or {}
    if case.operation.path.endswith("/wait"):
        case.query = query = {**query, "timeout": 0}
    if case.operation.path.endswith("/me/password"):  # it ends the token that all else is asked with
        case.query = query = {**query, "dryRun": "true"}
    for name in list(query):
        if name == "filterBy":
            query[name] = a_condition(case.operation)
        elif name in values and name != "name":
            query[name] = values[name]()
        elif "{" in name:  # `deserved.{queue}`: of a queue that there is
            del query[name]
    if query.get("telemetryType") == "PENDING_TIME_DISTRIBUTION":
        query["groupBy"] = str(query.get("groupBy", "")).split(",")[0]  # the time of waiting is the other group


def a_condition(operation: Any) -> str:
    """The first condition that the document names; one on a text takes any value."""
    told = next(p for p in operation.definition.raw["parameters"] if p.get("name") == "filterBy")["description"]
    found = re.search(r"`(\w+)` =@", told)
    return f"{found[1]}=@a" if found else ""


def _filled(value: Any, values: Mapping[str, Callable[[], Any]]) -> Any:
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if isinstance(value, str):  # which characters there are, no pattern says
        return "".join("x" if unicodedata.category(c) in ("Cn", "Co") else c for c in value)
    if isinstance(value, float):
        return round(value, 6)  # an amount has no more decimals
    if not isinstance(value, dict):
        return value
    if "units" in value:  # in which the amounts stay in their bounds
        value = {**value, "units": "MB"}
    named = {key: make for key, make in values.items() if key != "name"}
    return {
        key: named[key]() if key in named and item is not None else _filled(item, values) for key, item in value.items()
    }


LEFT_OUT = {
    r"/access-rules$": ("clusterId",),  # the tenant lies in none
    r"/node-pools/\{": ("name", "labelKey", "labelValue", "schedulingConfiguration"),  # the default pool has none
}


def _agree(body: Any, template: str, values: Mapping[str, Callable[[], Any]]) -> None:
    """What two fields say together, or a text that is a document."""
    if template.endswith("/clusters"):
        body.update(
            server="https://k8s.example.org", token="t", domain=None, certificateAuthority=None, kubeconfig=None
        )
    elif template.endswith(("/preview", "/v2/workloads")) or "/v2/workloads/" in template:
        body.pop("manifest", None)
        body["metadata"] = {"projectId": values["projectId"]()}
        body["manifestBase64Encoded"] = MANIFEST_TEXT
        if "{" not in template:
            name = body["metadata"]["name"] = values["name"]()
            body["manifestBase64Encoded"] = base64.b64encode(NAME.sub(f"  name: {name}", MANIFEST, 1).encode()).decode()
    elif template.endswith("/token"):  # what each grant wants
        names = ("username", "password", "clientID", "clientSecret", "refreshToken")
        body |= dict.fromkeys(names if "/v1/" in template else map(_snake, names), "nobody")
    elif template.endswith("/org-unit/projects"):
        body["parentId"] = values["parentId"]()
    elif template.endswith("/resources"):
        del body[1:]  # one entry a pool
    if isinstance(body, dict) and isinstance(body.get("resources"), list):
        del body["resources"][1:]


def _leave_out(body: Any, template: str) -> None:
    for pattern, keys in LEFT_OUT.items():
        if re.search(pattern, template):
            for key in keys:
                body.pop(key, None)


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]+", lambda found: f"_{found[0].lower()}", name)
