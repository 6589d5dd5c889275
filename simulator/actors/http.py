"""`KubeClient` over HTTP against any API server: the simulated one or a real kube-apiserver."""

import base64
import contextlib
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import aiohttp
import yaml

from clusters.kinds import POD, Kind
from simulator.client import KubeError, Object, ObjectList, PatchType, WatchEvent

PAGE = 500
CONNECTIONS = 64
WATCH_S = 290
CONNECT_TIMEOUT_S = 10
REQUEST_TIMEOUT_S = 60


class HttpClient:
    """Use as an async context manager. `authorization` is a header value, `tls` a client context or None for http."""

    def __init__(self, server: str, *, authorization: str = "", tls: ssl.SSLContext | None = None) -> None:
        self._server = server.rstrip("/")
        self._headers = {"Authorization": authorization} if authorization else {}
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    @classmethod
    def from_kubeconfig(cls, path: Path) -> "HttpClient":
        """The current context of a kubeconfig with inline or file credentials. Raises ValueError when incomplete."""
        config = yaml.safe_load(path.read_text())
        context = _named(config, "contexts", config.get("current-context"), "context")
        cluster = _named(config, "clusters", context["cluster"], "cluster")
        user = _named(config, "users", context.get("user"), "user") if context.get("user") else {}
        authorization = f"Bearer {user['token']}" if user.get("token") else ""
        tls = _tls(cluster, user, path.parent) if cluster["server"].startswith("https") else None
        return cls(cluster["server"], authorization=authorization, tls=tls)

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S)
        connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=self._tls or True)
        self._session = aiohttp.ClientSession(headers=self._headers, timeout=timeout, connector=connector)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        try:
            return await self._call("GET", kind.path(namespace, name))
        except KubeError as error:
            if error.code == 404:
                return None
            raise

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        label_selector: str = "",
    ) -> ObjectList:
        query = {"limit": str(PAGE), **_selected(label_selector)}
        items: list[Object] = []
        while True:
            page = await self._call("GET", kind.path(namespace), query=query)
            items.extend(page.get("items") or ())
            query["continue"] = page["metadata"].get("continue") or ""
            if not query["continue"]:
                break
        typed = [{"apiVersion": kind.api_version, "kind": kind.kind, **item} for item in items]
        return ObjectList(typed, str(page["metadata"]["resourceVersion"]))

    async def watch(
        self, kind: Kind, resource_version: str, namespace: str | None = None, *, label_selector: str = ""
    ) -> AsyncIterator[WatchEvent]:
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(WATCH_S),
            **_selected(label_selector),
        }
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=WATCH_S + 30)
        url = self._server + kind.path(namespace)
        with _connection_errors(f"watch {kind.plural}"):
            async with self._open().get(url, params=query, timeout=timeout) as response:
                if response.status != 200:
                    raise _refusal(response.status, await response.read())
                async for line in _lines(response.content):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise _refusal(event["object"].get("code", 500), json.dumps(event["object"]).encode())
                    yield WatchEvent(event["type"], event["object"])

    async def create(self, kind: Kind, body: Object, namespace: str | None = None) -> Object:
        namespace = namespace or body["metadata"].get("namespace")
        return await self._call("POST", kind.path(namespace), body=body)

    async def update(self, kind: Kind, body: Object, *, subresource: str = "") -> Object:
        return await self._call("PUT", _path(kind, body["metadata"], subresource), body=body)

    async def apply(
        self, kind: Kind, body: Object, *, field_manager: str, force: bool = False, subresource: str = ""
    ) -> Object:
        query = {"fieldManager": field_manager, "force": "true" if force else "false"}
        return await self._call(
            "PATCH",
            _path(kind, body["metadata"], subresource),
            body=body,
            query=query,
            content_type="application/apply-patch+yaml",
        )

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
        metadata = {"name": name, "namespace": namespace}
        return await self._call("PATCH", _path(kind, metadata, subresource), body=body, content_type=patch_type)

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
        body: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        if uid:
            body["preconditions"] = {"uid": uid}
        if grace_period_seconds is not None:
            body["gracePeriodSeconds"] = grace_period_seconds
        await self._call("DELETE", kind.path(namespace, name), body=body)

    async def bind(self, namespace: str, pod: str, node: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod, "namespace": namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._call("POST", f"{POD.path(namespace, pod)}/binding", body=body)

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": content_type} if data is not None else {}
        with _connection_errors(f"{method} {path}"):
            async with self._open().request(
                method, self._server + path, data=data, headers=headers, params=query
            ) as response:
                answer = await response.read()
                if response.status >= 400:
                    raise _refusal(response.status, answer)
            found: Object = json.loads(answer)
        return found

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("HttpClient is used outside of `async with`")
        return self._session


@contextlib.contextmanager
def _connection_errors(what: str) -> Iterator[None]:
    """What breaks on the way, a torn answer included, is an OSError."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, json.JSONDecodeError) as error:
        raise ConnectionError(f"{what}: {error!r}") from error


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Lines of any length."""
    rest = b""
    async for chunk in stream.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line


def _path(kind: Kind, metadata: Mapping[str, Any], subresource: str) -> str:
    path = kind.path(metadata.get("namespace"), metadata["name"])
    return f"{path}/{subresource}" if subresource else path


def _selected(label_selector: str) -> dict[str, str]:
    return {"labelSelector": label_selector} if label_selector else {}


def _refusal(code: int, answer: bytes) -> KubeError:
    """The server's Status; an aggregated 404 of a group that is not installed is plain text."""
    try:
        status = json.loads(answer)
    except ValueError:
        return KubeError(code, "", answer.decode(errors="replace").strip())
    return KubeError(code, status.get("reason", ""), status.get("message", ""))


def _named(config: Mapping[str, Any], part: str, name: str | None, entry: str) -> Object:
    for item in config.get(part) or ():
        if item.get("name") == name:
            found: Object = item[entry]
            return found
    raise ValueError(f"kubeconfig: {part} has no entry named {name!r}")


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path) -> ssl.SSLContext:
    authority = _inline_or_file(cluster, "certificate-authority", folder)
    context = ssl.create_default_context(cadata=authority or None)
    certificate = _inline_or_file(user, "client-certificate", folder)
    key = _inline_or_file(user, "client-key", folder)
    if certificate and key:
        _load_client_certificate(context, certificate, key)
    return context


def _load_client_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """The ssl module reads certificates from files only."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("client.crt", "client.key")]
        for path, text in zip(paths, (certificate, key), strict=True):
            path.write_text(text)
        context.load_cert_chain(certfile=str(paths[0]), keyfile=str(paths[1]))


def _inline_or_file(holder: Mapping[str, Any], field: str, folder: Path) -> str:
    if holder.get(f"{field}-data"):
        inline: str = holder[f"{field}-data"]
        return base64.b64decode(inline).decode()
    if holder.get(field):
        file: str = holder[field]
        return (folder / file).read_text()
    return ""
