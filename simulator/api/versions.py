"""Views of an entry: its object in the requested version, and its JSON bytes, each made once."""

from simulator.api.resources import Resource
from simulator.api.store import Entry, encode_json
from simulator.client import Object


def in_version(resource: Resource, entry: Entry) -> Object:
    """The object as this resource serves it."""
    convert = resource.from_storage
    if convert is None:
        return entry.object
    found: Object | None = entry.view(resource.view_name)
    if found is None:
        found = convert(entry.object)
        entry.remember(resource.view_name, found)
    return found


def encoded(resource: Resource, entry: Entry) -> bytes:
    """The object's JSON as this resource serves it."""
    name = "json:" + resource.view_name  # as `Entry.stored_json`
    found: bytes | None = entry.view(name)
    if found is None:
        body = {key: value for key, value in in_version(resource, entry).items() if key not in ("kind", "apiVersion")}
        found = entry.remember(name, _head(resource) + encode_json(body)[1:])
    return found


def encoded_item(resource: Resource, entry: Entry) -> bytes:
    """The object's JSON as an item of a list: the kinds of the core are not said again."""
    found = encoded(resource, entry)
    return found if resource.custom else b"{" + found[len(_head(resource)) :]


def _head(resource: Resource) -> bytes:
    return f'{{"kind":"{resource.kind.kind}","apiVersion":"{resource.kind.api_version}",'.encode()
