"""The gateway over a real Kubernetes HTTP API: server-side apply, paged lists, watches as raw events."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

import msgspec

from clusters.kinds import Kind
from clusters.kube import answers
from clusters.kube.errors import Gone, NamespaceMissing, NotApiServer, NotServed
from clusters.kube.gateway import FIELD_MANAGER, Manifest, Served
from clusters.kube.owning import without_others
from clusters.kube.reading import COMPRESSION, MAX_TEXT, Body, lines, read_page
from clusters.kube.transport import Connection, Content, Status, Timeouts, Transport, is_absent_object
from clusters.names import check_object_name

__all__ = ["Connection", "KubeGateway", "Page", "Timeouts", "WatchEvent"]

PAGE = 500
LIST_TRIES = 3
# An API server writes a list item by item (since 1.33), over TLS in records of 4 KiB: to read those costs twice what
# it costs to unpack them.
LISTED = Content(encoding=COMPRESSION)

T = TypeVar("T")


class _ListMeta(msgspec.Struct, gc=False, rename={"resource_version": "resourceVersion", "next": "continue"}):
    resource_version: str = ""
    next: str = ""


class ItemList(msgspec.Struct, Generic[T]):
    """A page of a list: its items in a type of the caller's choice."""

    kind: str
    metadata: _ListMeta
    items: list[T] | None = None


class _RawEvent(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page. `resource_version` is that of the whole list."""

    items: list[T]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """`ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK`, with the object still encoded. Errors are raised instead."""

    type: str
    raw: msgspec.Raw


_any_list = msgspec.json.Decoder(ItemList[dict[str, Any]])
_any_object = msgspec.json.Decoder(answers.AnyObject)
_raw_event = msgspec.json.Decoder(_RawEvent)
_encode = msgspec.json.Encoder().encode


def storable(item: T) -> T:
    """The struct without NUL characters, which are legal in JSON and which PostgreSQL cannot store."""
    content = _encode(item)
    clean = without_nul(content)
    return item if clean is content else msgspec.json.decode(clean, type=type(item))


def without_nul(content: Body) -> Body:
    """JSON with each NUL replaced; the very same bytes where there is none."""
    return content.replace(b"\\u0000", b"\\ufffd") if b"\\u0000" in content else content


class KubeGateway:
    """See `clusters.kube.gateway.Gateway`. Safe to share between threads."""

    def __init__(self, connection: Connection) -> None:
        self._transport = Transport(connection)

    def close(self) -> None:
        """Drop idle connections."""
        self._transport.close()

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> Manifest | None:
        """See `Gateway.get`."""
        try:
            path = _path(kind, namespace, name)
            return self._object(path, self._transport.request("GET", path))
        except (NotServed, NamespaceMissing) as error:
            if is_absent_object(error):
                return None
            raise

    def list(self, kind: Kind, namespace: str | None = None, *, label_selector: str = "") -> Sequence[Manifest]:
        """See `Gateway.list`. A list that expires between two pages is begun anew."""
        path = _collection(kind, namespace)
        query = {"labelSelector": label_selector} if label_selector else {}
        for attempt in range(1, LIST_TRIES + 1):
            try:
                pages = list(self.iter_pages(path, lambda page: _any_list.decode(without_nul(page)), query=query))
                break
            except Gone:
                if attempt == LIST_TRIES:
                    raise
        identity = {"apiVersion": kind.api_version, "kind": kind.kind}
        return [identity | item for page in pages for item in page.items]

    def apply(
        self,
        kind: Kind,
        manifest: Manifest,
        *,
        force: bool = False,
        dry_run: bool = False,
        manager: str = FIELD_MANAGER,
    ) -> Manifest:
        """See `Gateway.apply`."""
        metadata = manifest["metadata"]
        path = _path(kind, metadata.get("namespace"), metadata["name"])
        query = {"fieldManager": manager, "force": "true" if force else "false"}
        if dry_run:
            query["dryRun"] = "All"
        content = Content(manifest, type="application/apply-patch+yaml")
        return self._object(path, self._transport.request("PATCH", path, query, content=content))

    def own_alone(self, kind: Kind, live: Manifest, section: str) -> Manifest:
        """See `Gateway.own_alone`."""
        metadata = live["metadata"]
        path = _path(kind, metadata.get("namespace"), metadata["name"])
        entries = without_others(metadata.get("managedFields") or (), section, FIELD_MANAGER)
        known = {key: metadata[key] for key in ("uid", "resourceVersion")}
        content = Content({"metadata": {**known, "managedFields": entries}}, type="application/merge-patch+json")
        query = {"fieldManager": FIELD_MANAGER}
        return self._object(path, self._transport.request("PATCH", path, query, content=content))

    def delete(self, kind: Kind, name: str, namespace: str | None = None, *, uid: str = "") -> bool:
        """See `Gateway.delete`."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self._transport.request("DELETE", _path(kind, namespace, name), content=Content(options))
        except (NotServed, NamespaceMissing) as error:
            if is_absent_object(error):
                return False
            raise
        return True

    def served_versions(self, kind: Kind) -> Sequence[str]:
        """See `Gateway.served_versions`."""
        return tuple(self.served_resources().get(kind.group, {}).get(kind.plural, ()))

    def server_version(self) -> str:
        """See `Gateway.server_version`."""
        return str(self._asked("/version", answers.ServerVersion).git_version)

    def served_resources(self) -> Served:
        """See `Gateway.served_resources`. Two calls where discovery is aggregated (Kubernetes ≥ 1.26)."""
        found: Served = {}
        for path in answers.ROOTS:
            answer = self._asked(path, answers.Root, content=Content(accept=answers.AGGREGATED))
            if isinstance(answer, answers.Aggregated):
                answers.add_aggregated(answer, found)
                continue
            for group, version, document in answers.plain_documents(answer):
                answers.add_plain(group, version, self._asked(document, answers.PlainResources), found)
        return found

    def may(self, verb: str, group: str, resource: str) -> bool:
        """See `Gateway.may`."""
        plural, _, subresource = resource.partition("/")
        attributes = {"verb": verb, "group": group, "resource": plural, "subresource": subresource}
        return self._review("SelfSubjectAccessReview", {"resourceAttributes": attributes}).allowed

    def rules(self, namespace: str) -> Sequence[Manifest] | None:
        """See `Gateway.rules`."""
        status = self._review("SelfSubjectRulesReview", {"namespace": namespace})
        return None if status.incomplete else list(status.resource_rules or ())

    def _review(self, kind: str, spec: Manifest) -> answers.ReviewStatus:
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        path = f"/apis/authorization.k8s.io/v1/{kind.lower()}s"
        answer: answers.Review = self._asked(path, answers.Review, method="POST", content=Content(body))
        return answer.status

    def read_text(self, path: str, *, timeout: float = 5.0) -> str:
        """See `Gateway.read_text`. At most 8 MiB; what is longer is cut."""
        bare, _, query = path.partition("?")
        _check_raw_path(bare)
        content = self._transport.request(
            "GET", bare, dict(parse_qsl(query)), content=Content(accept="*/*"), read_timeout=timeout
        )
        return content[:MAX_TEXT].decode(errors="replace")

    def iter_pages(
        self,
        path: str,
        decode: Callable[[Body], "ItemList[T]"],
        *,
        query: Mapping[str, str] | None = None,
    ) -> Iterator[Page[T]]:
        """The pages of a list, 500 items each. `Gone` where the list expired between two pages.

        The items may hold NUL characters: to look for them in every byte costs half as much as to decode it, so
        whoever stores an item asks `storable`.
        """
        parameters: dict[str, Any] = {**(query or {}), "limit": PAGE}
        while True:
            answer = self._page(path, parameters, decode)
            yield Page(answer.items or [], answer.metadata.resource_version)
            if not answer.metadata.next:
                return
            parameters["continue"] = answer.metadata.next
            del answer  # it may hold the page's text, which need not stay while the next one is read

    def _page(self, path: str, query: Mapping[str, Any], decode: Callable[[Body], "ItemList[T]"]) -> "ItemList[T]":
        content = self._transport.request("GET", path, query, content=LISTED, read=read_page)
        answer = self._decoded(path, content, decode)
        if not answer.kind.endswith("List") or not answer.metadata.resource_version:
            raise self._unreadable(path, f"a list was asked for, and a {answer.kind[:40]} of no version came")
        return answer

    def watch(
        self, path: str, resource_version: str, *, query: Mapping[str, str] | None = None
    ) -> Iterator[WatchEvent]:
        """Events after `resource_version` until the server ends the stream; `query` as in `iter_pages`.

        Raises `Gone` for 410, as an HTTP status and as an ERROR event alike; `Unavailable` when nothing came for
        longer than the watch was asked to last (a frozen stream). Objects may hold NUL characters, as in `iter_pages`.
        """
        times = self._transport.connection.timeouts
        parameters = {
            **(query or {}),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": times.watch,
        }
        with self._transport.stream(path, parameters, read_timeout=times.watch_read) as chunks:
            for line in lines(chunks):
                event = self._decoded(path, line, _raw_event.decode)
                if event.type == "ERROR":
                    status = self._decoded(path, bytes(event.object), msgspec.json.Decoder(Status).decode)
                    raise self._transport.error(status.code or 500, bytes(event.object), path)
                yield WatchEvent(event.type, event.object)

    def _decoded(self, path: str, content: Body, decode: Callable[[Body], T]) -> T:
        """Decoded; an answer that is no JSON, or not in the shape that was asked for, is the API server's fault."""
        try:
            return decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._unreadable(path, str(error)) from error

    def _unreadable(self, path: str, why: str) -> NotApiServer:
        message = f"The API server's answer is not readable: {why[:300]}"
        return NotApiServer(message, cluster=self._transport.connection.name, target=path)

    def _asked(self, path: str, shape: Any, *, method: str = "GET", content: Content | None = None) -> Any:
        """The answer, in the shape that an API server gives it."""
        answer = self._transport.request(method, path, content=content)
        return self._decoded(path, answer, lambda text: msgspec.json.decode(text, type=shape))

    def _object(self, path: str, content: Body) -> Manifest:
        name = self._decoded(path, content, _any_object.decode).metadata.name
        if name != path.rpartition("/")[2]:
            raise self._unreadable(path, f"it is of the object {name[:80]!r}")
        decoded: Manifest = msgspec.json.decode(content)
        return decoded


def _path(kind: Kind, namespace: str | None, name: str) -> str:
    check_object_name(name)
    if kind.namespaced:
        check_object_name(namespace or "", field="namespace")
    return kind.path(namespace, name)


def _collection(kind: Kind, namespace: str | None) -> str:
    if namespace is not None and kind.namespaced:
        check_object_name(namespace, field="namespace")
    return kind.path(namespace)


def _check_raw_path(path: str) -> None:
    """Raw paths are built by us from checked names; this is the second fence."""
    if not path.startswith("/") or "//" in path or any(part in (".", "..") for part in path.split("/")):
        raise NotServed(f"{path!r} is not a path of an API server", target=path)
