"""How a scenario is written: a list of steps, each one request. `last` and `answer(n)` stand for earlier answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.contract.client import APPLY, JSON_PATCH, MERGE, STRATEGIC, Answer, Api

Body = Any | Callable[[list[Answer]], Any]


@dataclass(frozen=True)
class Step:
    """One request. A body that is a function is given the answers so far."""

    method: str
    path: str
    body: Body = None
    query: tuple[tuple[str, str], ...] = ()
    type: str = "application/json"
    accept: str = "application/json"
    token: str | None = None

    def send(self, api: Api, seen: list[Answer]) -> Answer:
        body = with_namespace(self.body(seen) if callable(self.body) else self.body, api.ns)
        query = {key: value.replace("{ns}", api.ns) for key, value in self.query}
        return api.call(self.method, self.path, body, query, type=self.type, accept=self.accept, token=self.token)

    @property
    def title(self) -> str:
        """As the recording names it."""
        query = "&".join(f"{key}={value}" for key, value in self.query)
        kind = self.type.rpartition("/")[2] if self.method == "PATCH" else ""
        return " ".join(filter(None, (self.method, self.path + (f"?{query}" if query else ""), kind)))


def with_namespace(value: Any, namespace: str) -> Any:
    """A body with the namespace in the place of `{ns}`."""
    if isinstance(value, str):
        return value.replace("{ns}", namespace)
    if isinstance(value, dict):
        return {with_namespace(key, namespace): with_namespace(item, namespace) for key, item in value.items()}
    if isinstance(value, list):
        return [with_namespace(item, namespace) for item in value]
    return value


def _query(query: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((key, str(value)) for key, value in query.items())


def get(path: str, accept: str = "application/json", token: str | None = None, **query: Any) -> Step:
    return Step("GET", path, None, _query(query), accept=accept, token=token)


def post(path: str, body: Body, type: str = "application/json", token: str | None = None, **query: Any) -> Step:
    return Step("POST", path, body, _query(query), type, token=token)


def put(path: str, body: Body, **query: Any) -> Step:
    return Step("PUT", path, body, _query(query))


def apply(path: str, body: Body, manager: str = "a", **query: Any) -> Step:
    return Step("PATCH", path, body, _query({"fieldManager": manager, **query}), APPLY)


def merge(path: str, body: Body, **query: Any) -> Step:
    return Step("PATCH", path, body, _query(query), MERGE)


def jsonp(path: str, *operations: Any, **query: Any) -> Step:
    return Step("PATCH", path, list(operations), _query(query), JSON_PATCH)


def strategic(path: str, body: Body, **query: Any) -> Step:
    return Step("PATCH", path, body, _query(query), STRATEGIC)


def patch(path: str, body: Body, type: str, **query: Any) -> Step:
    return Step("PATCH", path, body, _query(query), type)


def delete(path: str, body: Body = None, **query: Any) -> Step:
    return Step("DELETE", path, body, _query(query))


def config(name: str = "a", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def labelled(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}


def widget(name: str = "w", **spec: Any) -> dict[str, Any]:
    spec = {"colour": "red", **spec}
    return {"apiVersion": "contract.muster.dev/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "x"}]
    full = {"containers": containers, "schedulerName": "nobody", "automountServiceAccountToken": False, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": full}
