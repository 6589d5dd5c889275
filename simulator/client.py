"""The client that every actor uses: the verbs of the Kubernetes API, over HTTP or in process.

`simulator.api.inprocess.InProcessClient` and `simulator.actors.http.HttpClient` both satisfy `KubeClient`.
Objects are plain dicts and belong to the server's store: callers never mutate what they were given.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from clusters.kinds import Kind

Object = dict[str, Any]
PatchType = Literal[
    "application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json"
]


class ObjectList(NamedTuple):
    """A complete list at one resourceVersion (pages already joined)."""

    items: list[Object]
    resource_version: str


class WatchEvent(NamedTuple):
    """`ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK`. A 410 is raised as `KubeError`, never yielded."""

    type: str
    object: Object


@dataclass
class KubeError(Exception):
    """A refusal by the API server: HTTP status, `Status.reason` and message. 404 on `get` is not an error."""

    code: int
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.code} {self.reason}: {self.message}"


class KubeClient(Protocol):
    """What an actor may do. Every method raises `KubeError` on refusal and OSError when unreachable."""

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None: ...

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        label_selector: str = "",
    ) -> ObjectList: ...

    def watch(
        self, kind: Kind, resource_version: str, namespace: str | None = None, *, label_selector: str = ""
    ) -> AsyncIterator[WatchEvent]: ...

    async def create(self, kind: Kind, body: Object, namespace: str | None = None) -> Object: ...

    async def update(self, kind: Kind, body: Object, *, subresource: str = "") -> Object: ...

    async def apply(
        self, kind: Kind, body: Object, *, field_manager: str, force: bool = False, subresource: str = ""
    ) -> Object: ...

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str | None,
        body: Any,
        *,
        patch_type: PatchType = "application/merge-patch+json",
        subresource: str = "",
    ) -> Object: ...

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        propagation: str = "Background",
        uid: str = "",
        grace_period_seconds: int | None = None,
    ) -> None: ...

    async def bind(self, namespace: str, pod: str, node: str) -> None:
        """POST pods/binding."""
        ...
