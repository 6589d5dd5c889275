"""Custom resources: a CustomResourceDefinition turned into served resources, and its own status."""

from collections.abc import Callable
from typing import Any

import msgspec

from clusters.kinds import Kind
from simulator.api import dynamo_versions
from simulator.api.core_kinds import definitions
from simulator.api.errors import FieldError, field_invalid, field_required
from simulator.api.expressions import unknown_rules
from simulator.api.jsonpath import compile_path
from simulator.api.resources import Column, Convert, Resource, Scale
from simulator.api.schema import Schema, prune
from simulator.api.tables import AGE, since
from simulator.client import Object

GROUP = "apiextensions.k8s.io"
_META: Object = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"$ref": "#/definitions/V1ObjectMeta"},
}


def resources_of(crd: Object) -> list[Resource]:
    """One resource per served version; the storage version first."""
    spec = crd["spec"]
    schemas = {version["name"]: _schema(version) for version in spec["versions"]}
    storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
    found = [_resource(spec, version, schemas, storage) for version in spec["versions"] if version.get("served")]
    return sorted(found, key=lambda resource: resource.from_storage is not None)


def check(crd: Object) -> list[FieldError]:
    """What makes a CRD impossible to serve here: no or two storage versions, no schema, rules not known."""
    spec = crd.get("spec") or {}
    names = spec.get("names") or {}
    errors = [field_required(f"spec.names.{key}") for key in ("kind", "plural") if not names.get(key)]
    versions = spec.get("versions") or []
    if [bool(version.get("storage")) for version in versions].count(True) != 1:
        errors.append(field_invalid("spec.versions", [], "must have exactly one version marked as storage version"))
    wanted = f"{names.get('plural')}.{spec.get('group')}"
    if crd["metadata"].get("name") != wanted:
        errors.append(
            field_invalid("metadata.name", crd["metadata"].get("name"), 'must be spec.names.plural+"."+spec.group')
        )
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}].schema.openAPIV3Schema"
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            errors.append(field_required(path, "schemas are required"))
            continue
        path += ".x-kubernetes-validations"
        text = "rule is not known to the simulator"
        errors += [field_invalid(path, rule, text) for rule in unknown_rules(schema)]
    return errors


def status(crd: Object, now: str) -> Object:
    """`Established` at once, with the names taken."""
    spec = crd["spec"]
    before = crd.get("status") or {}
    stored = list(before.get("storedVersions") or [])
    current = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    if current not in stored:
        stored.append(current)
    conditions = before.get("conditions") or [
        _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
        _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
    ]
    return {"acceptedNames": spec["names"], "conditions": conditions, "storedVersions": stored}


def with_default_names(spec: Object) -> Object:
    """`singular` and `listKind` default to the kind's."""
    names = spec.get("names") or {}
    kind = str(names.get("kind", ""))
    filled = {"singular": kind.lower(), "listKind": f"{kind}List", **names}
    return {"conversion": {"strategy": "None"}, **spec, "names": filled}


def _resource(spec: Object, version: Object, schemas: dict[str, Schema], storage: str) -> Resource:
    names = spec["names"]
    namespaced = spec["scope"] == "Namespaced"
    kind = Kind(spec["group"], version["name"], names["kind"], names["plural"], namespaced=namespaced)
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    schema = schemas[version["name"]]
    from_storage = to_storage = None
    if version["name"] != storage:
        from_storage, to_storage = _converters(spec, kind, schema, storage, schemas[storage])
    return Resource(
        kind,
        (spec["group"], names["plural"]),
        names["singular"],
        tuple(names.get("shortNames") or ()),
        tuple(names.get("categories") or ()),
        subresources=frozenset(key for key in ("status", "scale") if subresources.get(key) is not None),
        schema=schema,
        scale=scale
        and Scale(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", "")),
        columns=_columns(version),
        from_storage=from_storage,
        to_storage=to_storage,
        custom=True,
        list_kind=names["listKind"],
        deprecated=_deprecation(version, kind),
    )


def _schema(version: Object) -> Schema:
    source = version["schema"]["openAPIV3Schema"]
    properties = {**source.get("properties", {}), **_META}
    return Schema({**source, "properties": properties}, definitions())


def _converters(
    spec: Object, kind: Kind, schema: Schema, storage: str, stored_schema: Schema
) -> tuple[Convert, Convert]:
    known = dynamo_versions.CONVERTERS.get((spec["group"], spec["names"]["plural"], kind.version))
    stored = f"{spec['group']}/{storage}"
    if known is not None:
        return known
    return _relabel(kind.api_version, schema), _relabel(stored, stored_schema)


def _relabel(version: str, schema: Schema) -> Callable[[Object], Object]:
    """Conversion strategy None: another apiVersion, and only the fields that this version declares."""

    def convert(body: Object) -> Object:
        pruned: Object = prune(schema, body, "", lambda path: None)
        return {**pruned, "apiVersion": version}

    return convert


def _columns(version: Object) -> tuple[Column, ...]:
    given = version.get("additionalPrinterColumns")
    if not given:
        return (AGE,)
    return tuple(
        Column(
            column["name"],
            _cell(column["jsonPath"], column["type"]),
            column["type"],
            column.get("format", ""),
            column.get("priority", 0),
            column.get("description")
            or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
        )
        for column in given
    )


def _cell(path: str, kind: str) -> Callable[[Object], Any]:
    evaluate = compile_path(path)

    def value(body: Object) -> Any:
        found = evaluate(body)
        if not found:
            return None
        if kind == "date":
            return since(found[0])
        if kind == "string":
            return ",".join(_shown(item) for item in found) if len(found) > 1 else _shown(found[0])
        return found[0]

    return value


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _deprecation(version: Object, kind: Kind) -> str:
    if not version.get("deprecated"):
        return ""
    given = version.get("deprecationWarning")
    return str(given) if given else f"{kind.api_version} {kind.kind} is deprecated"


def _condition(kind: str, reason: str, message: str, now: str) -> Object:
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    }
