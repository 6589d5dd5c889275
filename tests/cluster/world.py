"""Muster's own reconciles and streams in the process of a test, on a cluster that answers over HTTP.

What takes minutes with every process of `up` takes seconds so; the rows are the test's database.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.audit import Actor
from accounts.models import User
from clusters.connections import open_gateway
from clusters.credentials import Credential
from clusters.kube.client import KubeGateway
from clusters.kubeconfig import ClusterAccess
from clusters.management.commands.watch import find_interests
from clusters.models import Cluster
from clusters.rbac import ACCOUNT, NAMESPACE, rbac_manifest
from clusters.services import register_cluster
from clusters.watcher import store
from clusters.watcher.cluster_watch import ClusterWatch
from controlplane.reconcilers import RECONCILERS
from core import leases
from core.conditions import find
from core.reconciling import Reconciler, reconcile_claimed
from organizations.models import Department
from organizations.services import create_department
from tests.cluster import platform
from tests.contract.client import Api

WATCHER = "the watcher of the tests"
ZONE, RACK = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack"
QUEUES = "/apis/scheduling.run.ai/v2/queues"
GRAPHS = "/apis/nvidia.com/v1beta1/dynamographdeployments"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MUSTER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
QUIET_SECONDS = 60.0
SOON = timedelta(seconds=20)


@dataclass
class World:
    """One registered cluster, its watch, and who acts."""

    cluster: Cluster
    actor: Actor
    watch: ClusterWatch | None = field(default=None)

    @property
    def gateway(self) -> KubeGateway:
        """What the reconciles use."""
        return open_gateway(Cluster.objects.get(pk=self.cluster.pk))

    def settle(self, done: Callable[[], Any], what: str, seconds: float = QUIET_SECONDS) -> Any:
        """Let streams and reconciles run until `done()` is true; its value."""
        deadline = time.monotonic() + seconds
        while True:
            self.run_due()
            if found := done():
                return found
            assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}: {self.rows()}"
            time.sleep(0.05)

    def run_due(self) -> None:
        """One look of the watcher and of every reconcile that waits for something soon or has failed."""
        if self.watch is not None:
            with suppress(store.LeaseLost):  # the cluster's row is gone
                self.watch.flush()
                self.watch.heartbeat()
        now = timezone.now()
        for reconciler in RECONCILERS:
            rows = self._rows(reconciler)
            rows.filter(Q(next_check_at__lte=now + SOON) | Q(failures__gt=0)).update(next_check_at=now)
            for pk, taken in leases.claim_due(reconciler.model, limit=500, scope=self._scope(reconciler)):
                reconcile_claimed(reconciler, pk, taken)

    def run_until_quiet(self) -> None:
        """Until no row has failed, is being deleted or waits for something soon."""
        self.settle(lambda: not any(self._waiting()), "nothing to be under way")

    def _waiting(self) -> Iterator[bool]:
        for reconciler in RECONCILERS[1:]:
            yield (
                self._rows(reconciler)
                .filter(
                    Q(next_check_at__lte=timezone.now() + SOON)
                    | Q(failures__gt=0)
                    | Q(deletion_requested_at__isnull=False)
                )
                .exists()
            )

    def run_all(self) -> None:
        """One resync: every row is looked at once."""
        for reconciler in RECONCILERS:
            self._rows(reconciler).update(next_check_at=timezone.now())
        self.run_due()

    def rows(self) -> list[Any]:
        """How every row is, for messages."""
        return [
            (reconciler.label, str(row), row.phase, [(c["type"], c["status"], c["message"]) for c in row.conditions])
            for reconciler in RECONCILERS
            for row in self._rows(reconciler).order_by("pk")
        ]

    def _rows(self, reconciler: Reconciler) -> QuerySet[Any]:
        return reconciler.model._default_manager.filter(**self._scope(reconciler))

    def _scope(self, reconciler: Reconciler) -> dict[str, Any]:
        return {reconciler.cluster_lookup: self.cluster.pk}


@contextmanager
def connected(access: ClusterAccess, admin: User, name: str = "real") -> Iterator[World]:
    """Muster with a cluster registered, watching it."""
    actor = Actor(admin, "api")
    world = World(register_cluster(actor, name=name, access=access), actor)
    assert store.claim(world.cluster.pk, WATCHER)
    world.watch = ClusterWatch(world.cluster, WATCHER, find_interests())
    world.watch.start_reading()
    try:
        yield world
    finally:
        world.watch.stop()


def department(world: World, name: str) -> Department:
    """A new one; not reconciled yet."""
    return create_department(world.actor, cluster=world.cluster, name=name)


def synced(row: Any) -> dict[str, Any]:
    """The row's condition `Synced` now; empty where it has none."""
    row.refresh_from_db()
    return find(row.conditions, "Synced") or {}


def graphs_in(namespace: str) -> str:
    """The path of a namespace's graphs."""
    return f"/apis/nvidia.com/v1beta1/namespaces/{namespace}/dynamographdeployments"


def queue_names(api: Api) -> list[str]:
    """What queues the server has."""
    return sorted(item["metadata"]["name"] for item in api.get(QUEUES).body["items"])


def account(api: Api) -> ClusterAccess:
    """What the printed manifest makes, with a token of it."""
    for document in yaml.safe_load_all(rbac_manifest()):
        api.apply(_path(document), document)
    path = "/api/v1/namespaces/muster-system/serviceaccounts/muster/token"
    token = api.post(path, {"spec": {}}).body["status"]["token"]
    return ClusterAccess(api.url, api.authority, Credential(token=token))


def _path(document: dict[str, Any]) -> str:
    plural, name = f"{document['kind'].lower()}s", document["metadata"]["name"]
    if document["kind"] == "Namespace":
        return f"/api/v1/namespaces/{name}"
    if document["kind"].startswith("Cluster"):
        return f"{RBAC}/{plural}/{name}"
    return f"/api/v1/namespaces/{document['metadata']['namespace']}/{plural}/{name}"


def put_nodes(api: Api) -> None:
    """Three nodes that KWOK plays on a real cluster, with 8 GPUs each, two of the kind h200."""
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
    for name, gpu in (("gpu-1", "h200"), ("gpu-2", "h200"), ("gpu-3", "l40")):
        labels = {"gpu": gpu, ZONE: "z1", RACK: "r1", "kubernetes.io/hostname": name}
        body = {
            "metadata": {"name": name, "labels": labels, "annotations": {platform.MANAGED: "fake"}},
            "status": {"capacity": amounts, "allocatable": amounts},
        }
        assert api.post("/api/v1/nodes", body).status == 201
        assert api.merge(f"/api/v1/nodes/{name}/status", {"status": body["status"]}).status == 200


def audited(log: Path, user: str = MUSTER) -> Iterator[dict[str, Any]]:
    """The requests of one user in an API server's audit log, in order; "": of everybody."""
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if user in ("", event["user"]["username"]):
            yield event


def is_refused(event: dict[str, Any]) -> bool:
    """Whether a permission lacked. 403 is the answer to other things too: a proxy to a loopback address."""
    decision: str = event.get("annotations", {}).get("authorization.k8s.io/decision", "")
    return decision == "forbid"


def used(events: Sequence[dict[str, Any]]) -> set[str]:
    """The permissions that these requests needed, `verb resource.group`. To apply what is not there is to create it."""
    found = set()
    for event in events:
        about = event.get("objectRef")
        if is_refused(event) or about is None or about.get("apiGroup") == "authorization.k8s.io":
            continue  # versions, discovery and reviews of one's own rights: every account may
        resource = about["resource"] + (f"/{about['subresource']}" if "subresource" in about else "")
        resource += f".{about['apiGroup']}" if about.get("apiGroup") else ""
        found.add(f"{event['verb']} {resource}")
        if event["verb"] == "patch" and event.get("responseStatus", {}).get("code") == 201:
            found.add(f"create {resource}")
    return found
