"""Random sequences of operations on a handful of objects, for both servers to answer."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from tests.contract.client import Answer, Api, in_new_namespace
from tests.contract.normal import Normaliser
from tests.contract.steps import config, widget

Verb = Literal[
    "create", "update", "apply", "merge", "json", "strategic", "delete", "get", "list", "collection", "status"
]
COLLECTOR_SECONDS = 60.0
PRECONDITION = re.compile(r"(?<=in the precondition )\(\d+\)")
VERSIONS = ("none", "current", "stale", "wrong")
PATHS = {"config": "configmaps", "widget": "widgets/widgets"}


@dataclass(frozen=True)
class Operation:
    """One request. `version` says which resourceVersion goes along: the newest one seen, an older one, none."""

    verb: Verb
    kind: Literal["config", "widget"]
    name: str
    body: Any = None
    manager: str = "one"
    version: str = "none"
    options: tuple[tuple[str, str], ...] = ()

    @property
    def orphans(self) -> bool:
        """Whether it leaves what the object owned. Its body is what counts: a dry run in the query is not heeded."""
        return self.verb == "delete" and (self.body or {}).get("propagationPolicy") == "Orphan"

    @property
    def path(self) -> str:
        return f"{PATHS[self.kind]}/{self.name}"


@dataclass
class Memory:
    """The versions that a server gave, per object."""

    versions: dict[tuple[str, str], list[str]]

    def version(self, operation: Operation) -> str:
        seen = self.versions.get((operation.kind, operation.name)) or ["1"]
        return {"none": "", "current": seen[-1], "stale": seen[0], "wrong": "1"}[operation.version]

    def note(self, operation: Operation, answer: Answer) -> None:
        metadata = answer.body.get("metadata") if isinstance(answer.body, dict) else None
        if metadata and metadata.get("name") == operation.name and metadata.get("resourceVersion"):
            self.versions.setdefault((operation.kind, operation.name), []).append(metadata["resourceVersion"])


def send(api: Api, operation: Operation, memory: Memory) -> Answer:
    """The server's answer."""
    query = dict(operation.options)
    version = memory.version(operation)
    answer = _SENDERS[operation.verb](api, operation, version, query)
    memory.note(operation, answer)
    return answer


def _with_version(body: Any, version: str) -> Any:
    return body | {"metadata": body["metadata"] | ({"resourceVersion": version} if version else {})}


def _delete(api: Api, operation: Operation, version: str, query: dict[str, str]) -> Answer:
    body = {"preconditions": {"resourceVersion": version}} if version else {}
    return api.delete(operation.path, body | (operation.body or {}), **query)


def _patched(api: Api, operation: Operation, version: str, query: dict[str, str]) -> Answer:
    query = {"fieldManager": operation.manager, **query}
    body = _with_version({"metadata": {}, **operation.body}, version) if version else operation.body
    path = operation.path + ("/status" if operation.verb == "status" else "")
    return (api.strategic if operation.verb == "strategic" else api.merge)(path, body, **query)


_SENDERS: dict[str, Any] = {
    "create": lambda api, one, version, query: api.post(PATHS[one.kind], one.body, fieldManager=one.manager, **query),
    "update": lambda api, one, version, query: api.put(
        one.path, _with_version(one.body, version), fieldManager=one.manager, **query
    ),
    "apply": lambda api, one, version, query: api.apply(
        one.path, _with_version(one.body, version), one.manager, **query
    ),
    "json": lambda api, one, version, query: api.json_patch(one.path, one.body, fieldManager=one.manager, **query),
    "get": lambda api, one, version, query: api.get(one.path),
    "list": lambda api, one, version, query: api.get(PATHS[one.kind], **query),
    "collection": lambda api, one, version, query: api.delete(PATHS[one.kind], **query),
    "delete": _delete,
    "merge": _patched,
    "strategic": _patched,
    "status": _patched,
}

_names = st.sampled_from(["a", "b"])
_managers = st.sampled_from(["one", "two"])
_kinds = st.sampled_from(["config", "widget"])
_words = st.sampled_from(["1", "2", "three"])
_labels = st.none() | st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["web", "db"]), max_size=2)
_held = st.sampled_from([None, None, None, [], ["x.io/hold"], ["x.io/hold", "y.io/hold"]])
_data = st.dictionaries(st.sampled_from(["x", "y", "z"]), _words, max_size=3)
_parts = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(["p", "q"])}, optional={"size": st.integers(1, 3)}),
    max_size=2,
    unique_by=lambda part: part["name"],
)
_spec = st.fixed_dictionaries(
    {"colour": st.sampled_from(["red", "green", "pink"])},
    optional={
        "replicas": st.integers(-1, 3),
        "tags": st.lists(st.sampled_from(["s", "t"]), max_size=2, unique=True),
        "names": st.lists(st.sampled_from(["n", "m"]), min_size=1, max_size=2),
        "parts": _parts,
        "limits": st.dictionaries(st.sampled_from(["cpu", "memory"]), _words, max_size=2),
        "free": st.dictionaries(st.sampled_from(["k", "l"]), st.integers(0, 2) | _data, max_size=2),
        "surplus": st.just(1),
    },
)


@st.composite
def _objects(draw: st.DrawFn, kind: str, name: str) -> dict[str, Any]:
    body = config(name, **draw(_data)) if kind == "config" else widget(name, **draw(_spec))
    metadata: dict[str, Any] = {"name": name}
    for field, values in (("labels", _labels), ("finalizers", _held)):
        value = draw(values)
        if value is not None:
            metadata[field] = value
    return body | {"metadata": metadata}


_config_patches = st.fixed_dictionaries({}, optional={
    "data": st.none() | st.dictionaries(st.sampled_from(["x", "y", "z"]), st.none() | _words, max_size=2),
    "metadata": st.fixed_dictionaries({}, optional={"labels": _labels, "finalizers": _held}),
})  # fmt: skip
_widget_patches = st.fixed_dictionaries({}, optional={
    "spec": st.fixed_dictionaries({}, optional={
        "colour": st.sampled_from(["blue", "pink", None]),
        "replicas": st.none() | st.integers(-1, 3),
        "parts": st.none() | _parts,
        "free": st.none() | st.fixed_dictionaries({}, optional={"k": st.none() | st.integers(0, 2)}),
    }),
    "metadata": st.fixed_dictionaries({}, optional={"labels": _labels, "finalizers": _held}),
})  # fmt: skip
_json_patches = st.lists(
    st.one_of(
        st.fixed_dictionaries({"op": st.just("add"), "path": st.sampled_from(["/data/x", "/data/y"]), "value": _words}),
        st.fixed_dictionaries({"op": st.just("remove"), "path": st.sampled_from(["/data/x", "/metadata/finalizers"])}),
        st.fixed_dictionaries({"op": st.just("test"), "path": st.just("/data/x"), "value": _words}),
        st.fixed_dictionaries({"op": st.just("replace"), "path": st.just("/data"), "value": _data}),
    ),
    min_size=1,
    max_size=2,
)
_selectors = st.sampled_from([(), (("labelSelector", "app=web"),), (("labelSelector", "tier"),)])
_dry = st.sampled_from([(), (), (), (("dryRun", "All"),)])
_force = st.sampled_from([(), (("force", "true"),), (("force", "true"), ("dryRun", "All"))])
_propagation = st.sampled_from([None, {"propagationPolicy": "Background"}, {"propagationPolicy": "Orphan"}])
_verbs = st.sampled_from(
    ["create"] * 3 + ["apply"] * 6 + ["update"] * 4 + ["merge"] * 4
    + ["json", "strategic", "status", "status", "delete", "delete", "get", "list", "collection"]
)  # fmt: skip


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    """One operation."""
    verb = draw(_verbs)
    kind = {"json": "config", "strategic": "config", "status": "widget"}.get(verb) or draw(_kinds)
    name, manager = draw(_names), draw(_managers)
    version = draw(st.sampled_from(VERSIONS)) if verb in ("update", "apply", "merge", "delete") else "none"
    body: Any = None
    options: tuple[tuple[str, str], ...] = draw(_dry)
    if verb in ("create", "update", "apply"):
        body = draw(_objects(kind, name))
        options = draw(_force) if verb == "apply" else options
    elif verb in ("merge", "strategic"):
        body = draw(_config_patches if kind == "config" else _widget_patches)
    elif verb == "status":
        body = {"status": draw(st.dictionaries(st.sampled_from(["phase", "selector"]), _words, max_size=2))}
    elif verb == "json":
        body = draw(_json_patches)
    elif verb == "delete":
        body = draw(_propagation)
    elif verb in ("list", "collection"):
        options = draw(_selectors) or (("labelSelector", "app"),)
    return Operation(verb, kind, name, body, manager, version, options)


sequences = st.lists(operations(), min_size=8, max_size=25)


def play(api: Api, sequence: list[Operation]) -> list[Any]:
    """The normalised answers and, last, the end state of both kinds."""
    in_new_namespace(api)
    normaliser, memory = Normaliser(api), Memory({})
    found: list[Any] = []
    for operation in sequence:
        answer = send(api, operation, memory)
        found.append(_plain(normaliser.answer(answer)))
        if operation.orphans and answer.status == 200:
            _await_collector(api, operation)
    for path in PATHS.values():
        listed = api.get(path, fieldSelector="metadata.name!=kube-root-ca.crt")
        found.append(_plain(normaliser.answer(listed)))
    api.delete(f"/api/v1/namespaces/{api.ns}")
    return found


def _await_collector(api: Api, operation: Operation) -> None:
    """Until the garbage collector has taken its finalizer off: it works behind the requests, on both servers."""

    def is_done(answer: Answer) -> bool:
        return "orphan" not in ((answer.body.get("metadata") or {}).get("finalizers") or [])

    api.await_answer(operation.path, is_done, COLLECTOR_SECONDS)


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    """With causes in one order, since Go walks its maps in any, and without the versions that a refusal tells."""
    body = answer["body"]
    if not isinstance(body, dict) or "message" not in body:
        return answer
    causes = sorted((body.get("details") or {}).get("causes") or [], key=str)
    words = sorted(re.split(r", |\[|\]", PRECONDITION.sub("(RV)", body["message"])))
    told = {"message": words} | ({"details": body["details"] | {"causes": causes}} if causes else {})
    return answer | {"body": body | told}
