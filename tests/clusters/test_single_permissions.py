"""Each single permission taken away: the cluster's row names it, what needs it says so, the rest goes on.

All of them on a real API server; some on the simulated one, which enforces RBAC too.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

from clusters.kube.errors import Forbidden
from clusters.rbac import Permission, needed_permissions, without
from clusters.watcher.observed import OBSERVED
from clusters.watcher.pending import Pending
from clusters.watcher.stream import Stream
from clusters.wording import condition_text
from controlplane import health
from controlplane.reconcilers import RECONCILERS
from core.conditions import find
from tests.cluster.world import RBAC, World, account, connected, put_nodes
from tests.contract import servers
from tests.contract.client import Api, until
from tests.faults.test_crash_points import STORY

SAMPLE = ("list nodes", "patch queues.scheduling.run.ai", "get secrets", "create topologies.kai.scheduler")
WRITES = ("get", "create", "patch")
# What each resource is needed for: the rows whose reconcile must then fail, and no other.
QUEUES = {"Department research", "Project assistant"}
NEEDED: dict[tuple[str, ...], dict[str, set[str]]] = {
    ("list",): {"nodes": {"NodePool default", "NodePool h200"}, "queues": QUEUES | {"Department default"}},
    ("patch",): {"nodes": {"NodePool h200"}},
    WRITES: {
        "topologies": {"NetworkTopology fabric"},
        "schedulingshards": {"NodePool h200"},
        "queues": QUEUES,
        "secrets": {"Project assistant"},
        "dynamographdeployments": {"Workload qwen"},
    },
    ("get",): {"namespaces": {"Project assistant"}, "queues": {"Department default"}},
}
OURS = (
    ("/apis/kai.scheduler/v1alpha1/topologies/", "fabric"),
    ("/apis/grove.io/v1alpha1/clustertopologybindings/", "fabric"),
    ("/apis/kai.scheduler/v1/schedulingshards/", "h200"),
    ("/apis/scheduling.run.ai/v2/queues/", "assistant-h200"),
    ("/apis/scheduling.run.ai/v2/queues/", "research-h200"),
    ("/api/v1/namespaces/runai-assistant/secrets/", "hf-token"),
    ("/api/v1/namespaces/runai-assistant/secrets/", "hf-token-secret"),
)


@pytest.fixture(params=["simulator", pytest.param("real", marks=pytest.mark.cluster)])
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    if request.param == "simulator":
        with servers.simulator() as api:
            yield api
    else:
        with servers.real() as (api, _server):
            yield api


@contextmanager
def taken_away(api: Api, world: World, taken: Permission) -> Iterator[None]:
    """The printed role without one permission."""
    grant(api, [one for one in needed_permissions() if one != taken])
    until(lambda: not may(world, taken))
    yield
    grant(api, needed_permissions())
    until(lambda: may(world, taken))


def grant(api: Api, permissions: Sequence[Permission]) -> None:
    rules = [{"apiGroups": [one.group], "resources": [one.resource], "verbs": [one.verb]} for one in permissions]
    assert api.merge(f"{RBAC}/clusterroles/muster", {"rules": rules}).status == 200


def may(world: World, permission: Permission) -> bool:
    """A real server learns of a changed role a moment later."""
    return world.gateway.may(permission.verb, permission.group, permission.resource)


@pytest.mark.long
def test_each_permission_that_is_missing_is_named_and_stops_only_what_needs_it(api: Api, db: None, admin: Any) -> None:
    put_nodes(api)
    with connected(account(api), admin) as world:
        world.settle(lambda: world.cluster.node_set.count() == 3, "the nodes to be read")
        for step in STORY[:5]:
            step(world)  # type: ignore[arg-type]  # it has what the steps use
            world.run_until_quiet()
        assert failing(world) == {}

        for taken in [one for one in needed_permissions() if api.name == "real" or str(one) in SAMPLE]:
            with taken_away(api, world, taken):
                if taken.verb in WRITES:
                    somebody_deletes_all(api)
                stops_what_needs_it(world, taken)
            world.run_all()
            world.run_until_quiet()
            assert (failing(world), permitted(world)["status"]) == ({}, "True"), taken


def somebody_deletes_all(api: Api) -> None:
    """So that everything is read and written anew."""
    for path, name in OURS:
        api.delete(path + name)
        api.await_status(path + name, 404)
    for name in ("gpu-1", "gpu-2"):
        api.merge(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"kai.scheduler/node-pool": None}}})
    graphs = "/apis/nvidia.com/v1beta1/namespaces/runai-assistant/dynamographdeployments"
    api.delete(graphs)


def stops_what_needs_it(world: World, taken: Permission) -> None:
    world.run_all()
    world.run_all()  # a project waits for its department's queue

    condition = permitted(world)
    assert condition["arguments"]["missing"] == str(taken)
    assert str(without(str(taken))) in condition_text(condition)
    part = {part.name: part for part in health.parts()}["rights in real"]
    assert str(taken) in part.message
    assert not part.required

    found = failing(world)
    assert set(found) == expected(taken), (str(taken), found)
    said = f'cannot {taken.verb} resource "{taken.resource}"'
    assert all(said in message or "waits for its parent" in message for message in found.values()), found
    assert unread(world) == ({taken.resource} if taken.verb == "list" else set()) & {kind.name for kind in OBSERVED}
    if taken.verb == "watch":
        (kind,) = [kind for kind in OBSERVED if kind.name == taken.resource]
        with pytest.raises(Forbidden, match=f'cannot watch resource "{taken.resource}"'):
            stream_of(world, kind).watch_once()


def permitted(world: World) -> Any:
    world.cluster.refresh_from_db()
    return find(world.cluster.conditions, "Permitted")


def expected(taken: Permission) -> set[str]:
    return {row for verbs, rows in NEEDED.items() if taken.verb in verbs for row in rows.get(taken.resource, set())}


def failing(world: World) -> dict[str, str]:
    """Rows that are not as they should be, and what they say."""
    found = {}
    for reconciler in RECONCILERS[1:]:
        for row in reconciler.model._default_manager.all():
            wrong = [
                c["message"]
                for c in row.conditions
                if c["status"] == "False" and c["type"] in ("Accepted", "Synced", "QueuesReady", "SecretsReady")
            ]
            if wrong:
                found[f"{type(row).__name__} {row}"] = "; ".join(wrong)
    return found


def unread(world: World) -> set[str]:
    """The kinds that cannot be listed."""
    found = set()
    for kind in OBSERVED:
        try:
            stream_of(world, kind).relist()
        except Forbidden:
            found.add(kind.name)
    return found


def stream_of(world: World, kind: Any) -> Stream:
    return Stream(world.gateway, kind, Pending({}), Event())
