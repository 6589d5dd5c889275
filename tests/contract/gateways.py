"""The contract through a `Gateway`: what stands behind one, and the recorded requests that its verbs can make.

Requests that no gateway makes are the acts of somebody else, as far as they succeeded; the rest is left out.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from clusters.kinds import CONFIG_MAP, KAI_QUEUE, NAMESPACE, NODE, POD, SECRET, Kind
from clusters.kube.client import Connection, KubeGateway, Timeouts
from clusters.kube.errors import GatewayError
from clusters.kube.fake import FakeGateway
from clusters.kube.gateway import Gateway, Manifest
from tests.contract.client import APPLY, MERGE, Answer, Api, in_new_namespace
from tests.contract.differences import DIFFERENCES
from tests.contract.normal import Normaliser
from tests.contract.recordings import all_scenarios, recorded
from tests.contract.scenarios.reading import PARTIAL_LIST
from tests.contract.steps import Step, with_namespace

JSON = "application/json"
WIDGET = Kind("contract.muster.dev", "v1", "Widget", "widgets", namespaced=True)
COLLECTIONS = {
    "configmaps": CONFIG_MAP,
    "secrets": SECRET,
    "pods": POD,
    "widgets/widgets": WIDGET,
    "/api/v1/nodes": NODE,
    "/api/v1/namespaces": NAMESPACE,
    "/api/v1/namespaces/nowhere/secrets": SECRET,
    "/apis/scheduling.run.ai/v2/queues": KAI_QUEUE,
}
TIMEOUTS = Timeouts(connect=2.0, read=20.0, watch=2, watch_read=10.0)
USER_AGENT = "python-urllib3"  # who wrote where nobody says it
Recorded = Mapping[str, Any]


@dataclass
class Side:
    """A gateway, the namespace of the test, and how somebody else acts there."""

    name: str
    ns: str
    url: str
    gateway: Gateway
    act: Callable[[Step, list[Answer]], Answer]
    forget: Callable[[], object] = lambda: None
    """Give up the history; a real server does so by itself."""


def in_memory() -> Side:
    """The gateway of unit tests."""
    fake, space = FakeGateway(), "contract"
    fake.serve(WIDGET, ["v1"])
    fake.put(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    return Side("memory", space, "memory:", fake, lambda step, seen: _act(fake, space, step, seen))


@contextmanager
def over_http(api: Api) -> Iterator[Side]:
    """The gateway of the product to one of the two servers, in a new namespace."""
    in_new_namespace(api)
    connection = Connection(
        name=api.name, server=api.url, token=api.token, certificate_authority=api.authority, timeouts=TIMEOUTS
    )
    gateway = KubeGateway(connection)
    try:
        yield Side(api.name, api.ns, api.url, gateway, lambda step, seen: step.send(api, seen), api.compact)
    finally:
        gateway.close()


class Where(NamedTuple):
    """What a path of a scenario names."""

    kind: Kind
    namespace: str | None
    name: str


def where(path: str, ns: str) -> Where | None:
    """None for a path that is no object and no collection of a kind in `COLLECTIONS`."""
    for collection, kind in sorted(COLLECTIONS.items(), reverse=True):
        space = ("nowhere" if "nowhere/" in collection else ns) if kind.namespaced else None
        if path == collection:
            return Where(kind, space, "")
        name = path.removeprefix(collection + "/")
        if name != path and "/" not in name:
            return Where(kind, space, name.replace("{ns}", ns))
    return None


def is_asked(step: Step) -> bool:
    """Whether a gateway has a verb for the request."""
    found, query = where(step.path, "ns"), dict(step.query)
    if found is None or step.token is not None or callable(step.body):
        return False
    if step.method == "GET" and found.name:
        return not query and step.accept == JSON
    if step.method == "GET":
        return set(query) <= {"labelSelector"} and step.accept in (JSON, PARTIAL_LIST)
    if step.method == "DELETE":
        return bool(found.name) and not query and _is_plain_delete(step.body)
    if step.type != APPLY or not set(query) <= {"fieldManager", "force", "dryRun"}:
        return False
    return (step.body.get("metadata") or {}).get("name", "").replace("{ns}", "ns") == found.name


def _is_plain_delete(body: Any) -> bool:
    return body is None or (
        isinstance(body, dict) and body.keys() == {"preconditions"} and body["preconditions"].keys() == {"uid"}
    )


def is_act(step: Step) -> bool:
    """Whether somebody else can make the request on every side."""
    plain = set(dict(step.query)) <= {"fieldManager"} and not isinstance(step.body, bytes) and step.token is None
    known = step.method in ("POST", "PUT") or step.type == MERGE
    return plain and known and where(step.path, "ns") is not None


def beyond_memory(step: Step, answer: Recorded) -> bool:
    """What the gateway of unit tests does not know: schemas, hence defaults and list maps; wrong parameters."""
    message = str((answer["body"] or {}).get("message", ""))
    if step.method != "GET" and step.path.startswith(("widgets/", "pods", "secrets")) and answer["status"] != 404:
        return True
    if step.method == "GET":
        return int(answer["status"]) == 400
    return message.startswith(("failed to create typed patch object", "PatchOptions"))


def scenario(side: str, subject: str, name: str) -> list[tuple[Step, Recorded]]:
    """The requests of a scenario up to the first that changes something and cannot be made."""
    found: list[tuple[Step, Recorded]] = []
    for step, answer in zip(all_scenarios()[subject][name], recorded(subject)[name], strict=True):
        succeeded = int(answer["status"]) < 300
        if (is_asked(step) or (is_act(step) and succeeded)) and not (side == "memory" and beyond_memory(step, answer)):
            found.append((step, answer))
        elif succeeded and step.method != "GET" and "dryRun" not in dict(step.query):
            break
    return found if any(is_asked(step) for step, _ in found) else []


def scenarios(side: str) -> list[tuple[str, str]]:
    """Subject and name of those that ask something and that have no permitted difference."""
    different = {known for known, _ in DIFFERENCES}
    return [
        (subject, name)
        for subject, found in all_scenarios().items()
        for name in found
        if f"{subject}: {name}" not in different and scenario(side, subject, name)
    ]


def play(side: Side, steps: list[tuple[Step, Recorded]]) -> Iterator[tuple[str, Any, Any]]:
    """What the gateway answers to each request, beside what the recorded answer means to one."""
    normaliser, seen = Normaliser(side), list[Answer]()
    for step, answer in steps:
        if not is_asked(step):
            acted = side.act(step, seen)
            seen.append(acted)
            normaliser.answer(acted)
            continue
        found = _asked(side, step)
        seen.append(Answer(200, {}, found.get("object")))
        yield step.title, normaliser.value(found), _meant(step, answer)


def _asked(side: Side, step: Step) -> dict[str, Any]:
    kind, space, name = _where(step, side.ns)
    query = dict(step.query)
    try:
        if step.method == "GET" and name:
            return {"object": side.gateway.get(kind, name, space)}
        if step.method == "GET":
            items = side.gateway.list(kind, space, label_selector=query.get("labelSelector", ""))
            return {"names": [item["metadata"]["name"] for item in items]}
        if step.method == "DELETE":
            uid = (step.body or {}).get("preconditions", {}).get("uid", "")
            return {"deleted": side.gateway.delete(kind, name, space, uid=uid)}
        applied = side.gateway.apply(
            kind,
            with_namespace({**step.body, "metadata": _metadata(step.body, space)}, side.ns),
            force=query.get("force") == "true",
            dry_run=query.get("dryRun") == "All",
            manager=query["fieldManager"],
        )
    except GatewayError as error:
        return {"status": error.status, "message": error.message}
    return {"object": applied}


def _meant(step: Step, answer: Recorded) -> dict[str, Any]:
    status, body = int(answer["status"]), answer["body"]
    if step.method == "DELETE" and status in (200, 404):
        return {"deleted": status == 200}
    if step.method == "GET" and status == 404:
        return {"object": None}
    if status >= 300:
        space = _where(step, "NS").namespace or ""  # a gateway's manifests name theirs
        return {"message": body["message"].replace("patch object (/", f"patch object ({space}/"), "status": status}
    if step.method == "GET" and "items" in body:
        return {"names": [item["metadata"]["name"] for item in body["items"] or ()]}
    return {"object": body}


def _act(fake: FakeGateway, ns: str, step: Step, seen: list[Answer]) -> Answer:
    kind, space, name = _where(step, ns)
    body = with_namespace(step.body(seen) if callable(step.body) else step.body, ns)
    manager = dict(step.query).get("fieldManager", USER_AGENT)
    if step.method == "PATCH":
        return Answer(200, {}, fake.edit(kind, name, space, manager=manager, **body))
    full = {"apiVersion": kind.api_version, "kind": kind.kind, **body, "metadata": _metadata(body, space)}
    return Answer(200, {}, fake.put(kind, full, manager=manager))


def _where(step: Step, ns: str) -> Where:
    found = where(step.path, ns)
    assert found is not None, step.title
    return found


def _metadata(body: Manifest, space: str | None) -> Manifest:
    return {**body["metadata"]} | ({"namespace": space} if space else {})
