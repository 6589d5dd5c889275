"""Reviews: who am I, what may I, whose is this token. They are answered and never stored."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulator.api.decoding import schema_of
from simulator.api.errors import ApiError, bad_request, field_invalid, invalid
from simulator.api.managed import Manager, record_update
from simulator.api.rbac import SUPERUSERS, Attributes, allows, rules_of
from simulator.api.requests import Target, User, WriteOptions
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

Review = Callable[["Server", User, Object, Target], Object]


def answer(server: "Server", options: WriteOptions, target: Target, body: Any) -> Object:
    """The review with its status; raises 400 for a body that is none."""
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {target.resource.kind.kind})")
    kind = target.resource.kind
    if kind.plural.endswith("accessreviews"):
        _require_one(target, body.get("spec") or {})
    status = _REVIEWS[kind.plural](server, options.user, body.get("spec") or {}, target)
    answered: Object = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {}}
    if "spec" in body:
        answered["spec"] = {key: _without_empty(part) for key, part in body["spec"].items()}
    if kind.plural == "selfsubjectreviews":
        answered["metadata"] = {"creationTimestamp": server.now()}
    elif managed := _managed(server, target, answered, options):
        answered["metadata"] = {"managedFields": managed}
    return {**answered, "status": status}


def _managed(server: "Server", target: Target, answered: Object, options: WriteOptions) -> list[Object]:
    manager = Manager(options.field_manager, "Update", target.resource.kind.api_version, "")
    return record_update(schema_of(target.resource), None, answered, manager, server.now())


def _without_empty(part: Any) -> Any:
    return {key: value for key, value in part.items() if value != ""} if isinstance(part, dict) else part


def _require_one(target: Target, spec: Object) -> None:
    """Raises the 422 of a review that asks for nothing or for two things."""
    paths, resources = spec.get("nonResourceAttributes"), spec.get("resourceAttributes")
    if paths and resources:
        shown = {"Path": paths.get("path", ""), "Verb": paths.get("verb", "")}
        text = "cannot be specified in combination with resourceAttributes"
        error = field_invalid("spec.nonResourceAttributes", shown, text)
    elif not paths and not resources:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        error = field_invalid("spec.resourceAttributes", None, text)
    else:
        return
    raise invalid(target.resource.kind.group, "", "", [error])


def _self_access(server: "Server", user: User, spec: Object, target: Target) -> Object:
    return _access(server, user, spec)


def _subject_access(server: "Server", user: User, spec: Object, target: Target) -> Object:
    subject = User(str(spec.get("user", "")), tuple(spec.get("groups") or ()))
    return _access(server, subject, spec)


def _access(server: "Server", user: User, spec: Object) -> Object:
    reason = allows(server.store, user, _attributes(spec))
    status: Object = {"allowed": bool(reason)}
    if reason and SUPERUSERS not in user.groups:
        status["reason"] = reason
    return status


def _attributes(spec: Object) -> Attributes:
    paths = spec.get("nonResourceAttributes")
    if paths:
        return Attributes(str(paths.get("verb", "")), path=str(paths.get("path", "")))
    given = spec.get("resourceAttributes") or {}
    return Attributes(
        str(given.get("verb", "")),
        str(given.get("group", "")),
        str(given.get("resource", "")),
        str(given.get("subresource", "")),
        str(given.get("namespace", "")),
        str(given.get("name", "")),
    )


def _self_rules(server: "Server", user: User, spec: Object, target: Target) -> Object:
    if not spec.get("namespace"):
        raise bad_request("no namespace on request")
    resources: list[Object] = []
    paths: list[Object] = []
    for _, rule in rules_of(server.store, user, spec["namespace"]):
        if rule.get("nonResourceURLs"):
            paths.append({"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]})
        else:
            resources.append(
                {key: rule[key] for key in ("verbs", "apiGroups", "resources", "resourceNames") if key in rule}
            )
    return {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}


def _self(server: "Server", user: User, spec: Object, target: Target) -> Object:
    return {"userInfo": _user_info(user)}


def _token(server: "Server", user: User, spec: Object, target: Target) -> Object:
    try:
        found = server.tokens.user_of(str(spec.get("token", "")))
    except ApiError:
        return {"authenticated": False, "error": "invalid bearer token"}
    return {"authenticated": True, "user": _user_info(found)}


def _user_info(user: User) -> Object:
    info: Object = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = user.extra
    return info


_REVIEWS: dict[str, Review] = {
    "selfsubjectaccessreviews": _self_access,
    "subjectaccessreviews": _subject_access,
    "localsubjectaccessreviews": _subject_access,
    "selfsubjectrulesreviews": _self_rules,
    "selfsubjectreviews": _self,
    "tokenreviews": _token,
}
