"""Plain requests to an API server, with nothing between a test and the bytes."""

import itertools
import json
import re
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import urllib3

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

PREFIXES = {
    "apps": "apps/v1",
    "batch": "batch/v1",
    "leases": "coordination.k8s.io/v1",
    "widgets": "contract.muster.dev/v1",
    "grove": "grove.io/v1alpha1",
    "kaigroups": "scheduling.run.ai/v2alpha2",
    "dynamo": "nvidia.com/v1beta1",
    "rbac": "rbac.authorization.k8s.io/v1",
}


@dataclass(frozen=True)
class Answer:
    """Status, headers and body: parsed where it is JSON."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def message(self) -> str:
        return str(self.body.get("message", "")) if isinstance(self.body, dict) else str(self.body)

    @property
    def reason(self) -> str:
        return str(self.body.get("reason", "")) if isinstance(self.body, dict) else ""

    @property
    def code(self) -> tuple[int, str]:
        """Status and reason."""
        return self.status, self.reason

    @property
    def meta(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["metadata"]
        return found

    @property
    def warnings(self) -> list[str]:
        """The texts of the Warning headers."""
        found = re.findall(r'299 - "((?:[^"\\]|\\.)*)"', self.headers.get("Warning", ""))
        return [re.sub(r"\\(.)", r"\1", text) for text in found]


_numbers = itertools.count(1)


class Api:
    """One server. Short paths are below the namespace `ns`: `pods/a`, `apps/deployments/a`; `/…` is taken as it is."""

    def __init__(self, name: str, url: str, token: str, authority: str = "") -> None:
        self.name, self.url, self.token = name, url.rstrip("/"), token
        self.authority = Path(authority).read_text() if authority else ""
        options: dict[str, Any] = {"ca_certs": authority} if authority else {}
        self._pool = urllib3.PoolManager(
            maxsize=8, retries=False, timeout=urllib3.Timeout(connect=5.0, read=30.0), **options
        )
        self.ns = "default"
        self.kubeconfig: Path | None = None  # the administrator's
        self.kubectl = ""  # one that the server supports
        self.compact: Callable[[], object] = lambda: None  # forget the history now; a real server does so by itself

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        *,
        type: str = "application/json",
        accept: str = "application/json",
        token: str | None = None,
    ) -> Answer:
        """One request; `token=""` sends none."""
        url = self.where(path) + (f"?{urlencode(query)}" if query else "")
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        headers = {"Accept": accept} | ({"Content-Type": type} if data is not None else {}) | self._identity(token)
        answer = self._pool.request(method, url, body=data, headers=headers)
        return Answer(answer.status, answer.headers, _parsed(answer.data))

    def where(self, path: str) -> str:
        """The URL of a path."""
        if path.startswith("/"):
            return self.url + path.replace("{ns}", self.ns)
        first, _, rest = path.partition("/")
        if first in PREFIXES:
            return f"{self.url}/apis/{PREFIXES[first]}/namespaces/{self.ns}/{rest}"
        return f"{self.url}/api/v1/namespaces/{self.ns}/{path}"

    def get(self, path: str, **query: Any) -> Answer:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Any, **query: Any) -> Answer:
        return self.call("POST", path, body, query)

    def put(self, path: str, body: Any, **query: Any) -> Answer:
        return self.call("PUT", path, body, query)

    def apply(self, path: str, body: Any, manager: str = "a", **query: Any) -> Answer:
        """Server-side apply."""
        return self.call("PATCH", path, body, {"fieldManager": manager, **query}, type=APPLY)

    def merge(self, path: str, body: Any, **query: Any) -> Answer:
        return self.call("PATCH", path, body, query, type=MERGE)

    def json_patch(self, path: str, body: Any, **query: Any) -> Answer:
        return self.call("PATCH", path, body, query, type=JSON_PATCH)

    def strategic(self, path: str, body: Any, **query: Any) -> Answer:
        return self.call("PATCH", path, body, query, type=STRATEGIC)

    def delete(self, path: str, body: Any = None, **query: Any) -> Answer:
        return self.call("DELETE", path, body, query)

    def watch(self, path: str, seconds: float = 5, **query: Any) -> Generator[dict[str, Any], None, None]:
        """Events until the server ends the watch, or nothing comes for this long."""
        full = {"watch": "true", "timeoutSeconds": "20", **query}
        answer = self._pool.request(
            "GET",
            f"{self.where(path)}?{urlencode(full)}",
            headers=self._identity(None),
            preload_content=False,
            timeout=urllib3.Timeout(connect=5.0, read=seconds),
        )
        if answer.status != 200:
            raise AssertionError(f"{answer.status}: {answer.read()!r}")
        rest = b""
        try:
            for chunk in answer.stream(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (json.loads(line) for line in lines if line)
        except urllib3.exceptions.ReadTimeoutError:
            return
        finally:
            answer.close()

    def await_status(self, path: str, status: int, seconds: float = 20) -> Answer:
        """GET until the answer has this status."""
        return self.await_answer(path, lambda answer: answer.status == status, seconds)

    def await_answer(self, path: str, enough: Callable[[Answer], object], seconds: float = 20) -> Answer:
        """GET until the answer is as wanted."""
        return until(lambda: self.get(path), enough, seconds)

    def _identity(self, token: str | None) -> dict[str, str]:
        chosen = self.token if token is None else token
        return {"Authorization": f"Bearer {chosen}"} if chosen else {}


T = TypeVar("T")


def until(ask: Callable[[], T], enough: Callable[[T], object] = bool, seconds: float = 20) -> T:
    """Ask until the answer is as wanted; the answer."""
    deadline = time.monotonic() + seconds
    while not enough(found := ask()):
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s, and still: {found}"
        time.sleep(0.05)
    return found


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace")


def in_new_namespace(api: Api) -> Api:
    """The same server, in a new namespace that has its default service account."""
    api.ns = f"c{next(_numbers)}-{uuid.uuid4().hex[:8]}"
    assert api.post("/api/v1/namespaces", {"metadata": {"name": api.ns}}).status == 201
    api.await_status("serviceaccounts/default", 200)
    return api
