"""`KubeClient` over the same core without HTTP: for actors that share the API server's process."""

from collections.abc import AsyncIterator
from typing import Any

from clusters.kinds import Kind
from simulator.api import deleting, patching, pods, reading, writing
from simulator.api.errors import ApiError
from simulator.api.reading import ListOptions
from simulator.api.requests import ADMIN, DeleteOptions, Target, WriteOptions
from simulator.api.resources import Resource
from simulator.api.server import Server
from simulator.api.versions import in_version
from simulator.client import Object, ObjectList, PatchType, WatchEvent


class InProcessClient:
    """The verbs of `simulator.client.KubeClient`; objects are the store's own and must not be changed."""

    def __init__(self, server: Server, *, field_manager: str = "simulator") -> None:
        self._server = server
        self._field_manager = field_manager

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        resource = self._resource(kind)
        try:
            entry = reading.get_entry(self._server, _target(resource, namespace, name))
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        return in_version(resource, entry)

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        label_selector: str = "",
    ) -> ObjectList:
        resource = self._resource(kind)
        options = ListOptions(label_selector=label_selector)
        page = reading.list_entries(self._server, _target(resource, namespace), options)
        return ObjectList([in_version(resource, entry) for entry in page.entries], page.resource_version)

    async def watch(
        self, kind: Kind, resource_version: str, namespace: str | None = None, *, label_selector: str = ""
    ) -> AsyncIterator[WatchEvent]:
        resource = self._resource(kind)
        options = ListOptions(label_selector=label_selector, resource_version=resource_version, bookmarks=True)
        async for batch in reading.watch(self._server, _target(resource, namespace), options):
            for event in batch:
                yield WatchEvent(event.type, _event_object(resource, event))

    async def create(self, kind: Kind, body: Object, namespace: str | None = None) -> Object:
        resource = self._resource(kind)
        namespace = namespace or body.get("metadata", {}).get("namespace")
        written = writing.create(self._server, _target(resource, namespace), body, self._options())
        return in_version(resource, written.entry)

    async def update(self, kind: Kind, body: Object, *, subresource: str = "") -> Object:
        resource = self._resource(kind)
        target = _body_target(resource, body, subresource)
        return in_version(resource, writing.update(self._server, target, body, self._options()).entry)

    async def apply(
        self, kind: Kind, body: Object, *, field_manager: str, force: bool = False, subresource: str = ""
    ) -> Object:
        resource = self._resource(kind)
        options = WriteOptions(user=ADMIN, field_manager=field_manager, force=force)
        target = _body_target(resource, body, subresource)
        return in_version(resource, patching.apply(self._server, target, body, options).entry)

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str | None,
        body: Any,
        *,
        patch_type: PatchType = "application/merge-patch+json",
        subresource: str = "",
    ) -> Object:
        resource = self._resource(kind)
        target = _target(resource, namespace, name, subresource)
        written = patching.patch(self._server, target, patch_type, body, self._options())
        return in_version(resource, written.entry)

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        propagation: str = "Background",
        uid: str = "",
        grace_period_seconds: int | None = None,
    ) -> None:
        options = DeleteOptions(ADMIN, propagation, uid, grace_seconds=grace_period_seconds)
        deleting.delete(self._server, _target(self._resource(kind), namespace, name), options)

    async def bind(self, namespace: str, pod: str, node: str) -> None:
        pods.bind(self._server, namespace, pod, node, self._options())

    def _options(self) -> WriteOptions:
        return WriteOptions(user=ADMIN, field_manager=self._field_manager)

    def _resource(self, kind: Kind) -> Resource:
        resource = self._server.find(kind.group, kind.version, kind.plural)
        if resource is None:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        return resource


def _target(resource: Resource, namespace: str | None, name: str = "", subresource: str = "") -> Target:
    return Target(resource, namespace if resource.kind.namespaced else None, name, subresource)


def _body_target(resource: Resource, body: Object, subresource: str) -> Target:
    metadata = body["metadata"]
    return _target(resource, metadata.get("namespace"), metadata["name"], subresource)


def _event_object(resource: Resource, event: reading.Event) -> Object:
    if event.entry is not None:
        return in_version(resource, event.entry)
    metadata = {"resourceVersion": str(event.resource_version)}
    return {"kind": resource.kind.kind, "apiVersion": resource.kind.api_version, "metadata": metadata}
