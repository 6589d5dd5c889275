"""Crash points: whichever outside call fails, in whichever way, the next runs finish the intent as if nothing had been.

A story of small steps makes, changes and deletes one object of every kind. Each step runs once undisturbed, and then
again from the same start for every call that it makes, which is refused, loses its answer, or kills the worker.
"""

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.audit import Actor
from accounts.models import AuditEntry
from clusters import connections, kinds
from clusters.kube.errors import Unavailable
from clusters.kube.fake import Call, FakeGateway
from clusters.models import Cluster
from controlplane.reconcilers import RECONCILERS
from core import leases
from core.reconciling import reconcile_claimed
from organizations import services as organizations
from organizations.models import Department, Project, ProjectSecret
from organizations.services import ProjectInput, QuotaInput
from tests.stack.main_job import HOST, RACK, ZONE
from tests.topology.conftest import put_node
from tests.workloads.conftest import make_node
from tests.workloads.samples import MULTINODE
from topology import services as topologies
from topology.models import NetworkTopology, NodePool
from workloads import services as workloads
from workloads.document import edit
from workloads.models import Workload

LEVELS = [ZONE, RACK, HOST]
NODES = ("gpu-1", "gpu-2", "gpu-3")
SOON = timedelta(seconds=20)
ROUNDS = 12
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{21}"


class Killed(BaseException):
    """The worker's process ends here: nothing below this line of its code runs, its lease stays taken."""


@dataclass
class World:
    """One cluster behind a fake gateway, the administrator, and all rows."""

    cluster: Cluster
    actor: Actor
    gateway: FakeGateway = field(default_factory=FakeGateway)

    def run_until_quiet(self) -> None:
        """What workers and beat do, until no row is due, failing or waiting for something soon."""
        for _ in range(ROUNDS):
            self._let_time_pass()
            if not sum(self._run_due(reconciler) for reconciler in RECONCILERS[1:]):
                return
        raise AssertionError(f"not quiet after {ROUNDS} rounds: {self.rows()}")

    def _let_time_pass(self) -> None:
        """Leases of killed workers run out, backoffs and short waits end; the resync is still far."""
        now = timezone.now()
        for reconciler in RECONCILERS[1:]:
            rows = reconciler.model._default_manager.all()
            rows.exclude(lease_token=None).update(lease_expires_at=now, next_check_at=now)
            rows.filter(Q(next_check_at__lte=now + SOON) | Q(failures__gt=0)).update(next_check_at=now)

    @staticmethod
    def _run_due(reconciler: Any) -> int:
        done = 0
        for pk, taken in leases.claim_due(reconciler.model, limit=50):
            done += 1
            try:
                reconcile_claimed(reconciler, pk, taken)
            except Killed:
                continue
        return done

    def rows(self) -> list[Any]:
        """What pages would show of every row."""
        return [
            (reconciler.label, str(row), row.phase, [(c["type"], c["status"], c["reason"]) for c in row.conditions])
            for reconciler in RECONCILERS[1:]
            for row in reconciler.model._default_manager.order_by("pk")
        ]

    def objects(self) -> dict[tuple[str, str, str], Any]:
        """Every object of the cluster without what differs from run to run."""
        found = {}
        for kind in {kind.plural: kind for kind in vars(kinds).values() if isinstance(kind, kinds.Kind)}.values():
            for shown in self.gateway.list(kind) if kind != kinds.NODE else ():
                kept = {k: v for k, v in shown["metadata"].items() if k in ("labels", "annotations", "finalizers")}
                key = (kind.kind, shown["metadata"].get("namespace", ""), shown["metadata"]["name"])
                text = json.dumps({**shown, "metadata": kept}, sort_keys=True)
                found[key] = re.sub(UUID, "a random id", text)
        for name in NODES:
            found["Node", "", name] = self.gateway.object(kinds.NODE, name)["metadata"]["labels"]
        return found


@pytest.fixture
def world(cluster: Cluster, default_pool: NodePool, admin: Any, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(cluster, Actor(admin, "api"))
    for name in NODES:
        put_node(world.gateway, name, gpu="h200" if name != "gpu-3" else "l40")
        make_node(cluster, name, zone="z1", rack="r1", pool="h200" if name != "gpu-3" else "")
    monkeypatch.setattr(connections, "open_gateway", lambda _cluster: world.gateway)
    world.run_until_quiet()
    return world


# The story. Each step is one mutation by the services that pages and the API use.


def make_topology(world: World) -> None:
    topologies.create_topology(world.actor, cluster=world.cluster, name="fabric", levels=LEVELS)


def make_pool(world: World) -> None:
    settings = {"label_key": "gpu", "label_value": "h200", "network_topology": NetworkTopology.objects.get()}
    topologies.create_node_pool(world.actor, cluster=world.cluster, name="h200", settings=settings)  # type: ignore[arg-type]


def make_department(world: World) -> None:
    organizations.create_department(world.actor, cluster=world.cluster, name="research", quotas=quota(64))


def make_project(world: World) -> None:
    given = ProjectInput("assistant", quotas=quota(32))
    project = organizations.create_project(world.actor, department=Department.objects.get(name="research"), given=given)
    put_secret(world, project, "hf_" + "a" * 34)


def make_workload(world: World) -> None:
    source = edit(MULTINODE, {("spec", "annotations"): {"kai.scheduler/topology-required-placement": LEVELS[1]}})
    workloads.submit_workload(world.actor, project=Project.objects.get(), source=source, node_pool=pool())


def change_quota(world: World) -> None:
    organizations.update_project(world.actor, project=Project.objects.get(), quotas=quota(16))


def change_secret(world: World) -> None:
    put_secret(world, Project.objects.get(), "hf_" + "b" * 34)


def suspend_workload(world: World) -> None:
    workloads.suspend_workload(world.actor, workload=Workload.objects.get())


def resume_workload(world: World) -> None:
    workloads.resume_workload(world.actor, workload=Workload.objects.get())


def change_pool(world: World) -> None:
    topologies.update_node_pool(world.actor, pool=pool(), changes={"label_value": "l40"})


def delete_workload(world: World) -> None:
    workloads.delete_workload(world.actor, workload=Workload.objects.get())


def delete_secret(world: World) -> None:
    organizations.delete_secret(world.actor, secret=ProjectSecret.objects.get())


def put_secret_back(world: World) -> None:
    put_secret(world, Project.objects.get(), "hf_" + "c" * 34)


def delete_pool(world: World) -> None:
    topologies.delete_node_pool(world.actor, pool=pool())
    world.run_until_quiet()


def delete_project(world: World) -> None:
    organizations.delete_project(world.actor, project=Project.objects.get())


def delete_department(world: World) -> None:
    organizations.delete_department(world.actor, department=Department.objects.get(name="research"))


def delete_topology(world: World) -> None:
    topologies.delete_topology(world.actor, topology=NetworkTopology.objects.get())


STORY: tuple[Callable[[World], None], ...] = (
    make_topology,
    make_pool,
    make_department,
    make_project,
    make_workload,
    change_quota,
    change_secret,
    suspend_workload,
    resume_workload,
    change_pool,
    delete_workload,
    delete_secret,
    put_secret_back,
    delete_pool,
    delete_project,
    delete_department,
    delete_topology,
)


def pool() -> NodePool:
    return NodePool.objects.get(name="h200")


def quota(gpus: int) -> list[QuotaInput]:
    return [QuotaInput(pool(), {"gpu_deserved": Decimal(gpus)})]


def put_secret(world: World, project: Project, token: str) -> None:
    organizations.put_secret(world.actor, project=project, kind="hugging-face", fields={"token": token})


# Undisturbed, and then once per call and way.


@dataclass(frozen=True)
class End:
    """What a step left behind."""

    objects: dict[Any, Any]
    rows: list[Any]
    writes: Counter[Call]
    audits: Counter[tuple[str, str, str]]


@contextmanager
def undone(world: World) -> Iterator[None]:
    """What happens inside leaves no trace in the database nor in the cluster."""
    before = world.gateway
    world.gateway = copy.deepcopy(before)
    world.gateway.calls.clear()
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        world.gateway = before


def play(world: World, step: Callable[[World], None], without: int = 0) -> tuple[End, int]:
    """The end of one step and its number of calls; `without`: the call (from 1) that did not reach the cluster."""
    step(world)
    world.run_until_quiet()
    calls = list(world.gateway.calls)
    reached = [call for number, call in enumerate(calls, 1) if number != without]
    audits = Counter(AuditEntry.objects.values_list("action", "object_type", "object_name"))
    writes = Counter(call for call in reached if call.writes)
    return End(world.objects(), world.rows(), writes, audits), len(calls)


WAYS: dict[str, tuple[str, BaseException]] = {
    "refused": ("fail_at", Unavailable("connection refused")),
    "answer lost": ("lose_answer_at", Unavailable("connection reset")),
    "worker killed": ("lose_answer_at", Killed()),
}


@pytest.mark.django_db
@pytest.mark.parametrize("way", WAYS)
def test_whichever_call_fails_every_step_ends_as_if_nothing_had_been(world: World, way: str) -> None:
    method, error = WAYS[way]
    points = 0
    for step in STORY:
        with undone(world):
            undisturbed, calls = play(world, step)
        for k in range(1, calls + 1):
            with undone(world):
                getattr(world.gateway, method)(k, error)
                end, _ = play(world, step, without=k if method == "fail_at" else 0)
            where = f"{step.__name__}, call {k} of {calls}, {way}"
            assert end.objects == undisturbed.objects, where
            assert end.rows == undisturbed.rows, where
            assert end.writes == undisturbed.writes, where
            assert end.audits == undisturbed.audits, where
            points += 1
        step(world)
        world.run_until_quiet()
    print(f"{way}: {points} crash points in {len(STORY)} steps")
