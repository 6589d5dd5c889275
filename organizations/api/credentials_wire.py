"""Run:ai's JSON of credentials (`runai-openapi.json`: GenericSecret, DockerRegistry, …) over secrets of projects.

Every kind becomes a Secret in the project's namespace with the keys that Run:ai gives it. Values are never shown.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.api.bodies import check_keys
from core.errors import InvalidInput, NotFound
from core.moments import rfc3339
from organizations.models import ProjectSecret, SharedSecret
from organizations.secrets import HUGGING_FACE_KEYS, HUGGING_FACE_NAMES, SecretKind

TENANT = 1
# A credential's id holds the number of its row: `5ec7e700-0000-8000-8000-<12 hex digits>`, `…-8001-…` of a shared one.
_PREFIXES: Mapping[type[ProjectSecret] | type[SharedSecret], int] = {
    ProjectSecret: 0x5EC7E700000080008000 << 48,
    SharedSecret: 0x5EC7E700000080008001 << 48,
}
_NUMBER = (1 << 48) - 1
Secret = ProjectSecret | SharedSecret


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of credential: its path, its name on the wire, and the keys of its Secret by the fields of its spec."""

    path: str
    name: str
    keys: Mapping[str, str]
    deleted: int = 202


GENERIC = Kind("generic-secret", "genericSecret", {}, 204)
REGISTRY = Kind("docker-registry", "dockerRegistry", {"url": "server", "user": "username", "password": "password"})
PASSWORD = Kind("password", "password", {"user": "username", "password": "password"})
ACCESS_KEY = Kind("access-key", "accessKey", {"accessKeyId": "AccessKeyId", "secretAccessKey": "SecretKey"})
NGC = Kind("ngc-api-key", "ngcApiKey", {"ngc_api_key": "NGC_API_KEY"}, 204)
KINDS = {kind.path: kind for kind in (GENERIC, REGISTRY, PASSWORD, ACCESS_KEY, NGC)}


def kind_of(secret: Secret) -> Kind:
    """What a secret is on the wire: as what it was made, else by the keys that it holds."""
    if secret.credential:
        return KINDS[secret.credential]
    if secret.kind == SecretKind.REGISTRY:
        return REGISTRY
    keys = set(secret.keys)
    return next((k for k in (PASSWORD, ACCESS_KEY, NGC) if keys == set(k.keys.values())), GENERIC)


def credential_id(secret: Secret) -> str:
    """The id on the wire."""
    return str(uuid.UUID(int=_PREFIXES[type(secret)] | secret.pk))


def secret_number(given: str) -> tuple[type[ProjectSecret] | type[SharedSecret], int]:
    """The model and number of the row. Raises `NotFound` for what is no id of a credential."""
    try:
        number = uuid.UUID(given).int
    except ValueError as error:
        raise NotFound from error
    for model, prefix in _PREFIXES.items():
        if number & ~_NUMBER == prefix:
            return model, number & _NUMBER
    raise NotFound


def credential_json(secret: Secret) -> dict[str, Any]:
    """`{meta, spec}`; `spec` names the keys, their values are null."""
    return {"meta": meta_json(secret), "spec": _spec(secret)}


def entry_json(secret: Secret) -> dict[str, Any]:
    """The same in the list of all kinds, where `spec` says the kind."""
    return {"meta": meta_json(secret), "spec": {kind_of(secret).name: _spec(secret)}}


def meta_json(secret: Secret) -> dict[str, Any]:
    """Where it lies and who made it."""
    return {
        "id": credential_id(secret),
        "name": secret.name,
        "kind": kind_of(secret).name,
        **_place(secret),
        "tenantId": TENANT,
        "createdBy": secret.created_by or "unknown",
        "createdAt": rfc3339(secret.created_at, "microseconds"),
        "updatedBy": secret.created_by or "unknown",
        "updatedAt": rfc3339(secret.updated_at, "microseconds"),
    }


def _place(secret: Secret) -> dict[str, Any]:
    """Its scope, and the ids of all above it."""
    if isinstance(secret, ProjectSecret):
        project = secret.project
        above = {"departmentId": str(project.department_id), "clusterId": str(project.cluster_id)}
        return {"scope": "project", "projectId": project.pk, "projectName": project.name, **above}
    if secret.department is not None:
        above = {"departmentId": str(secret.department.pk), "clusterId": str(secret.department.cluster_id)}
        return {"scope": "department", **above}
    return {"scope": "cluster", "clusterId": str(secret.cluster_id)} if secret.cluster_id else {"scope": "tenant"}


def _spec(secret: Secret) -> dict[str, Any]:
    kind = kind_of(secret)
    if kind is GENERIC:
        pairs: list[dict[str, Any]] = [{"key": key, "value": None} for key in secret.keys]
        return {"keyId": secret.pk, "keyValuePairs": pairs}
    return {"keyId": secret.pk}


def read_spec(kind: Kind, name: str, body: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The kind of the project's secret and its fields. Raises `InvalidInput` naming the field."""
    spec = body.get("spec")
    if not isinstance(spec, Mapping):
        raise InvalidInput.of("spec", "Required parameter is missing" if spec is None else "It is not an object")
    if spec.get("existingSecretName") is not None:
        message = "Muster keeps the secret itself and takes none that exists"
        raise InvalidInput.of("spec.existingSecretName", message, "leave it out")
    if kind is GENERIC:
        check_keys(spec, ("keyValuePairs", "existingSecretName"), place="spec")
        return _read_pairs(name, spec.get("keyValuePairs"))
    check_keys(spec, (*kind.keys, "existingSecretName"), place="spec")
    fields = {key: _text(spec, field) for field, key in kind.keys.items()}
    return (SecretKind.REGISTRY if kind is REGISTRY else SecretKind.OPAQUE), fields


def _read_pairs(name: str, pairs: Any) -> tuple[str, dict[str, str]]:
    fields: dict[str, str] = {}
    for index, pair in enumerate(pairs if isinstance(pairs, list) else ()):
        place = f"spec.keyValuePairs[{index}]"
        if not isinstance(pair, Mapping) or not all(isinstance(pair.get(part), str) for part in ("key", "value")):
            raise InvalidInput.of(place, "It is not a pair", "{key, value}, both strings")
        if pair["key"] in fields:
            raise InvalidInput.of(f"{place}.key", "It is given twice", "each key once")
        fields[pair["key"]] = pair["value"]
    if not fields:
        raise InvalidInput.of("spec.keyValuePairs", "At least one pair is required", "[{key, value}]")
    if name in HUGGING_FACE_NAMES and len(fields) == 1 and next(iter(fields)) in HUGGING_FACE_KEYS:
        return SecretKind.HUGGING_FACE, {"token": next(iter(fields.values()))}
    return SecretKind.OPAQUE, fields


def _text(spec: Mapping[str, Any], field: str) -> str:
    value = spec.get(field)
    if not isinstance(value, str) or not value:
        raise InvalidInput.of(f"spec.{field}", "Required parameter is missing", "a string that is not empty")
    return value
