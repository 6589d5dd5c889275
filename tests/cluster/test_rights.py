"""Least privilege, proved: on a real server, everything that Muster does, as the account that it prints. The server's
audit log is the witness for what the role must hold. `MUSTER_WRITE_RIGHTS=1` writes it to rights.txt anew."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusters import live
from clusters.kubeconfig import read_kubeconfig
from clusters.models import ClusterObject, Pod
from clusters.rbac import needed_permissions
from metrics.tasks import scrape
from tests.cluster import platform
from tests.cluster.running import RealCluster
from tests.cluster.world import World, audited, connected, is_refused, put_nodes, used
from tests.contract import servers
from tests.contract.client import Api
from tests.faults.test_crash_points import STORY

RIGHTS = Path(__file__).with_name("rights.txt")
EXPORTER = {
    "metadata": {"name": "exporter", "namespace": "default", "labels": {"app": "nvidia-dcgm-exporter"}},
    "spec": {
        "nodeName": "gpu-1",
        "containers": [{"name": "main", "image": "x", "ports": [{"name": "metrics", "containerPort": 9400}]}],
    },
}


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Api, RealCluster]]:
    """A server of its own: its audit log tells of this story alone."""
    with servers.real() as (api, cluster):
        put_nodes(api)
        yield api, cluster


@pytest.fixture
def world(served: tuple[Api, RealCluster], db: None, admin: Any) -> Iterator[World]:
    kubeconfig = platform.register_account(served[1])
    with connected(read_kubeconfig(kubeconfig.read_text()), admin) as world:
        world.settle(lambda: world.cluster.node_set.count() == 3, "the nodes to be read")
        yield world


def test_the_printed_role_holds_exactly_what_was_used(served: tuple[Api, RealCluster], world: World) -> None:
    everything(served[0], served[1].audit_log, world)

    events = list(audited(served[1].audit_log))
    refused = [event["requestURI"] for event in events if is_refused(event)]
    found = used(events)
    if os.environ.get("MUSTER_WRITE_RIGHTS") == "1":
        RIGHTS.write_text("".join(f"{line}\n" for line in sorted(found)))

    assert refused == []
    assert found == {str(permission) for permission in needed_permissions()}
    assert RIGHTS.read_text().split("\n")[:-1] == sorted(found)


def everything(api: Api, log: Path, world: World) -> None:
    """One object of every kind made, changed and deleted, all streams, metrics, a log."""
    world.run_until_quiet()
    for step in STORY:
        step(world)  # type: ignore[arg-type]  # it has what the steps use
        world.run_until_quiet()
    left = ClusterObject.objects.exclude(owner="").values_list("plural", "name")
    # What stays is of the department that every cluster has.
    world.settle(lambda: list(left.all()) == [("queues", "default")], "all to be gone")
    assert api.post("/api/v1/namespaces/default/pods", EXPORTER).status == 201
    world.settle(lambda: exporter_asked(api, log, world), "the exporter to be asked")
    live.read_log(Pod(cluster=world.cluster, namespace="default", name="exporter"), 10)


def exporter_asked(api: Api, log: Path, world: World) -> bool:
    if api.get("/api/v1/namespaces/default/pods/exporter").body["status"].get("phase") != "Running":
        return False
    scrape(str(world.cluster.pk))
    return any(event.get("objectRef", {}).get("subresource") == "proxy" for event in audited(log))
