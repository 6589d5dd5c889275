"""Field report 7: the scheduler's message, the table of quotas and the dashboard tell the same numbers of a reclaim."""

import re
from typing import Any

import msgspec
import pytest

from clusters import wire
from clusters.kinds import EVENT, KAI_POD_GROUP, KAI_QUEUE, NODE, POD
from clusters.models import ClusterEvent, Node, Pod
from clusters.watcher.rows import event_row, node_row, pod_row
from organizations.models import Department, Project, Quota
from organizations.quota_rows import store_usage
from organizations.rendering import queue_of
from tests.simulator.actors.graphs import pod

# The empty fleet: 18 nodes of 8 GPUs.
ALL, DESERVED, ASKED = 144, 104, 16
USES = re.compile(r"^(\S+) uses <GPU: ([\d.]+), .*> with a quota of <GPU: ([\d.]+), ", re.MULTILINE)


@pytest.fixture
def quotas(cluster: Any, default_pool: Any) -> dict[str, Quota]:
    """Two departments side by side, each with a project: the borrower deserves 104 GPUs, the lender 40."""
    made = {}
    for name, gpus in (("borrower", DESERVED), ("lender", ALL - DESERVED)):
        department = Department.objects.create(cluster=cluster, name=f"{name}s", phase="Ready")
        project = Project.objects.create(
            cluster=cluster, department=department, name=name, namespace=f"runai-{name}", phase="Ready"
        )
        for owner in ({"department": department}, {"project": project}):
            [(kind, row)] = owner.items()
            made[row.name] = Quota.objects.create(
                cluster=cluster, node_pool=default_pool, queue_name=row.name, gpu_deserved=gpus, **{kind: row}
            )
            made[row.name].refresh_from_db()
    return made


def test_field_report_7_message_table_and_dashboard_tell_the_same_numbers(
    play: Any, quotas: dict[str, Quota], cluster: Any, admin: Any, client_of: Any
) -> None:
    parents = {"borrower": "borrowers", "lender": "lenders"}
    manifests = [queue_of(quota, parents.get(name, "")) for name, quota in quotas.items()]
    seen: dict[str, Any] = {}

    async def scenario(sim: Any) -> None:
        for manifest in manifests:
            await sim.client.create(KAI_QUEUE, manifest)
        for number in range(ALL // 8):
            await sim.client.create(POD, pod(f"low-{number}", 8, "borrower"), "team")
        await sim.running(ALL // 8)

        async def told() -> Any:
            queues = {q["metadata"]["name"]: q for q in await sim.objects(KAI_QUEUE)}
            held = (queues["borrower"].get("status") or {}).get("allocated", {}).get("nvidia.com/gpu")
            return list(queues.values()) if held == str(ALL) else None

        seen["queues"] = await sim.wait_for(told, "the queues to tell what is held")
        seen["nodes"], seen["pods"] = await sim.objects(NODE), await sim.pods()
        await sim.client.create(POD, pod("claim", ASKED // 2, "lender"), "team")

        async def evicted() -> Any:
            return [e for e in await sim.objects(EVENT, "team") if e["reason"] == "Evict"]

        seen["events"] = await sim.wait_for(evicted, "a pod to be reclaimed")

    play(scenario)
    mirror(cluster, seen)
    store_usage(cluster, seen["queues"])
    for quota in quotas.values():
        quota.refresh_from_db()

    [event] = ClusterEvent.objects.filter(reason="Evict", involved_kind=KAI_POD_GROUP.kind)
    message = {name: (float(uses), float(quota)) for name, uses, quota in USES.findall(event.message)}
    table = {name: row(client_of(admin), quotas[name]) for name in message}
    # The hierarchies part at the top: KAI tells of the departments there.
    assert message == {"borrowers": (ALL, DESERVED), "lenders": (0, ALL - DESERVED)}
    assert table == message
    tile = next(t for t in client_of(admin).get("/").context["tiles"] if t.label == "Allocated")
    assert tile.value == ALL


def row(client: Any, quota: Quota) -> tuple[float, float]:
    """What the department's page shows: held, deserved."""
    gpu = client.get(f"/departments/{quota.department_id}/").context["matrix"][0].lines[0]
    return float(gpu.held), float(gpu.deserved)


def mirror(cluster: Any, seen: dict[str, Any]) -> None:
    """The observed rows, as the watcher reads them."""
    for kind, model, struct, read in (
        ("nodes", Node, wire.NodeObject, node_row),
        ("pods", Pod, wire.PodObject, pod_row),
        ("events", ClusterEvent, wire.EventObject, event_row),
    ):
        rows = [read(msgspec.convert(item, struct)) for item in seen[kind]]
        for each in rows:
            each.cluster_id = cluster.pk
        model.objects.bulk_create(rows)
