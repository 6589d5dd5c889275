"""What goes over the wire: lists, watch events, Tables and PartialObjectMetadata, joined from cached bytes."""

from dataclasses import dataclass
from typing import Any

from simulator.api.column_texts import table_columns
from simulator.api.reading import Event, Page
from simulator.api.resources import Resource
from simulator.api.store import Entry, encode_json
from simulator.api.tables import table_row
from simulator.api.versions import encoded, encoded_item, in_version
from simulator.client import Object


@dataclass(frozen=True, slots=True)
class Form:
    """Which form of the answer the client accepts; `include` is a Table's `includeObject`."""

    kind: str = ""  # "", "Table", "PartialObjectMetadata"
    version: str = "v1"
    include: str = "Metadata"


# Protobuf is asked for by clients that take JSON as well: JSON is what they get.
_JSON = frozenset(
    {"", "application/json", "*/*", "application/*", "application/vnd.kubernetes.protobuf", "application/yaml"}
)


def form_of(accept: str, include: str = "") -> Form | None:
    """The first acceptable form of an Accept header; None where there is none."""
    for choice in accept.split(","):
        media, *parameters = [part.strip() for part in choice.split(";")]
        if media not in _JSON:
            continue
        given = dict(part.split("=", 1) for part in parameters if "=" in part)
        kind = given.get("as", "").removesuffix("List")
        if given.get("g") == "meta.k8s.io" and kind in ("Table", "PartialObjectMetadata"):
            return Form(kind, given.get("v", "v1"), include or "Metadata")
        if "as" not in given:
            return Form()
    return None


def one(resource: Resource, entry: Entry, form: Form) -> bytes:
    """A single object."""
    if form.kind == "Table":
        return _table(resource, [entry], {"resourceVersion": str(entry.resource_version)}, form)
    if form.kind == "PartialObjectMetadata":
        return encode_json(partial(resource, entry, form))
    return encoded(resource, entry)


def page(resource: Resource, found: Page, form: Form) -> bytes:
    """A list."""
    metadata: Object = {"resourceVersion": found.resource_version}
    if found.continue_token:
        metadata["continue"] = found.continue_token
    if found.remaining is not None:
        metadata["remainingItemCount"] = found.remaining
    if form.kind == "Table":
        return _table(resource, found.entries, metadata, form)
    if form.kind == "PartialObjectMetadata":
        items = [encode_json(partial(resource, entry, form)) for entry in found.entries]
        head = {"kind": "PartialObjectMetadataList", "apiVersion": f"meta.k8s.io/{form.version}"}
    else:
        items = [encoded_item(resource, entry) for entry in found.entries]
        if resource.custom:
            metadata.setdefault("continue", "")
        head = {"kind": resource.items_kind, "apiVersion": resource.kind.api_version}
    prefix = encode_json({**head, "metadata": metadata})[:-1]
    if form.kind and not items:  # Go has no list then
        return prefix + b',"items":null}'
    return prefix + b',"items":[' + b",".join(items) + b"]}"


def event(resource: Resource, seen: Event, form: Form, *, first: bool) -> bytes:
    """One line of a watch; the columns of a Table come with the first."""
    kind = b'{"type":"' + seen.type.encode() + b'","object":'
    if seen.entry is None:
        body = encode_json(_bookmark(resource, seen, form))
    elif form.kind == "Table":
        name = f"table:{resource.view_name}:{form.include}"
        if first:
            body = _table(resource, [seen.entry], {"resourceVersion": str(seen.resource_version)}, form)
        else:
            body = seen.entry.view(name) or seen.entry.remember(name, _rows_only(resource, seen, form))
    else:
        body = one(resource, seen.entry, form)
    return kind + body + b"}\n"


def error_event(status: Object) -> bytes:
    return encode_json({"type": "ERROR", "object": status}) + b"\n"


def partial(resource: Resource, entry: Entry, form: Form) -> Object:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{form.version}",
        "metadata": entry.metadata,
    }


def _bookmark(resource: Resource, seen: Event, form: Form) -> Object:
    metadata: dict[str, Any] = {"resourceVersion": str(seen.resource_version), "creationTimestamp": None}
    if seen.initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    if form.kind == "Table":
        return {"kind": "Table", "apiVersion": f"meta.k8s.io/{form.version}", "metadata": metadata,
                "columnDefinitions": None, "rows": []}  # fmt: skip
    if form.kind:
        return {"kind": form.kind, "apiVersion": f"meta.k8s.io/{form.version}", "metadata": metadata}
    return {"kind": resource.kind.kind, "apiVersion": resource.kind.api_version, "metadata": metadata}


def _rows_only(resource: Resource, seen: Event, form: Form) -> bytes:
    metadata = {"resourceVersion": str(seen.resource_version)}
    entries = [seen.entry] if seen.entry else []
    return _table(resource, entries, metadata, form, columns=False)


def _table(resource: Resource, entries: list[Entry], metadata: Object, form: Form, *, columns: bool = True) -> bytes:
    rows = []
    for entry in entries:
        row: Object = {"cells": table_row(resource, in_version(resource, entry))}
        if form.include == "Object":
            row["object"] = in_version(resource, entry)
        else:
            row["object"] = None if form.include == "None" else partial(resource, entry, form)
        rows.append(row)
    return encode_json(
        {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{form.version}",
            "metadata": metadata,
            "columnDefinitions": table_columns(resource) if columns else None,
            "rows": rows,
        }
    )
