from collections.abc import Callable
from typing import Any

import pytest

from accounts.audit import Actor
from accounts.models import AuditEntry, User
from clusters.models import Cluster
from core.errors import Conflict, InvalidInput, NotPermitted
from tests.topology.conftest import HOST, RACK, ZONE
from topology import hooks, services
from topology.models import NetworkTopology, NodePool

Act = Callable[[User], Actor]


@pytest.fixture
def me(admin: User, actor: Act) -> Actor:
    return actor(admin)


def test_create_stores_levels_broadest_first_with_assumed_distances(me: Actor, cluster: Cluster) -> None:
    topology = services.create_topology(me, cluster=cluster, name="dc", levels=[ZONE, RACK, HOST])

    assert topology.levels == [ZONE, RACK, HOST]
    assert topology.links == [
        {"latencyMicroseconds": 500, "bandwidthGigabytesPerSecond": 40, "assumed": True},
        {"latencyMicroseconds": 200, "bandwidthGigabytesPerSecond": 100, "assumed": True},
        {"latencyMicroseconds": 50, "bandwidthGigabytesPerSecond": 200, "assumed": True},
    ]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.object_name, entry.after["levels"]) == ("create", "dc", [ZONE, RACK, HOST])


@pytest.mark.parametrize("name", ["1rack", "rack-", "-rack", "Rack", "a b", "", "a" * 64, "ra_ck", "rack\n", "räck"])
def test_trap_t13_names_that_run_ai_refuses_are_refused(me: Actor, cluster: Cluster, name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        services.create_topology(me, cluster=cluster, name=name, levels=[ZONE])

    assert [f.field for f in caught.value.faults] == ["name"]
    assert NetworkTopology.objects.count() == AuditEntry.objects.count() == 0


@pytest.mark.parametrize("name", ["a", "a" * 63, "dc-1"])
def test_trap_t13_names_at_the_edge_are_taken(me: Actor, cluster: Cluster, name: str) -> None:
    assert services.create_topology(me, cluster=cluster, name=name, levels=[ZONE]).name == name


PREFIX_253 = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])


@pytest.mark.parametrize(
    "key",
    ["k" * 63, "e.io/" + "k" * 59, "e.io/" + "k" * 63, PREFIX_253 + "/" + "k" * 62],
)
def test_trap_t12_long_label_keys_are_taken_up_to_what_kai_takes(me: Actor, cluster: Cluster, key: str) -> None:
    assert services.create_topology(me, cluster=cluster, name="dc", levels=[key]).levels == [key]


@pytest.mark.parametrize(
    "key",
    ["k" * 64, PREFIX_253 + "/" + "k" * 63, PREFIX_253 + "e/k", "a//b", "/k", "k/", "-k", "a b", "Ä", "", "X.io/k"],
)
def test_trap_t12_what_is_no_label_key_for_kai_is_refused_with_its_place(me: Actor, cluster: Cluster, key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        services.create_topology(me, cluster=cluster, name="dc", levels=[ZONE, key])

    assert [f.field for f in caught.value.faults] == ["levels[1]"]


def test_levels_are_1_to_16_unique_and_the_host_name_last(me: Actor, cluster: Cluster) -> None:
    def fields(levels: list[Any]) -> list[str]:
        with pytest.raises(InvalidInput) as caught:
            services.create_topology(me, cluster=cluster, name="dc", levels=levels)
        return [f.field for f in caught.value.faults]

    assert fields([]) == ["levels"]
    assert fields([f"x/l{i}" for i in range(17)]) == ["levels"]
    assert fields([ZONE, RACK, ZONE]) == ["levels[2]"]
    assert fields([HOST, ZONE]) == ["levels[0]"]
    assert fields([ZONE, 7]) == ["levels[1]"]
    assert fields(["a"] * 100_000) == ["levels"]
    services.create_topology(me, cluster=cluster, name="dc", levels=[f"x/l{i}" for i in range(16)])


def test_a_taken_name_is_a_conflict_per_cluster(me: Actor, topology: NetworkTopology) -> None:
    with pytest.raises(Conflict):
        services.create_topology(me, cluster=topology.cluster, name="dc-topology", levels=[ZONE])

    other = Cluster.objects.create(name="cluster-b", server="http://127.0.0.1:2", credential=b"")
    assert services.create_topology(me, cluster=other, name="dc-topology", levels=[ZONE]).cluster == other


@pytest.mark.parametrize("who", ["viewer", "researcher", "department_admin", "outsider"])
def test_only_administrators_of_the_cluster_may_write(
    who: str, request: pytest.FixtureRequest, actor: Act, topology: NetworkTopology, pool: NodePool
) -> None:
    someone = actor(request.getfixturevalue(who))
    cluster = topology.cluster
    acts: list[tuple[str, Callable[[], object]]] = [
        (
            "network-topologies:create",
            lambda: services.create_topology(someone, cluster=cluster, name="x", levels=[ZONE]),
        ),
        ("network-topologies:delete", lambda: services.delete_topology(someone, topology=topology)),
        ("network-topologies:update", lambda: services.update_links(someone, topology=topology, links=[])),
        ("nodepools:create", lambda: services.create_node_pool(someone, cluster=cluster, name="x", settings={})),
        ("nodepools:update", lambda: services.attach_topology(someone, pool=pool, topology=topology)),
        ("nodepools:delete", lambda: services.delete_node_pool(someone, pool=pool)),
    ]
    for right, act in acts:
        with pytest.raises(NotPermitted, match=right):
            act()
    pool.refresh_from_db()
    topology.refresh_from_db()
    assert AuditEntry.objects.count() == 0
    assert (pool.generation, topology.generation) == (1, 1)


def test_deletion_is_refused_while_pools_use_it_naming_them(
    me: Actor, topology: NetworkTopology, pool: NodePool, default_pool: NodePool
) -> None:
    for each in (pool, default_pool):
        services.attach_topology(me, pool=each, topology=topology)

    with pytest.raises(Conflict) as caught:
        services.delete_topology(me, topology=topology)

    assert caught.value.objects == ("default", "h200")
    assert "default, h200" in caught.value.message
    for each in (pool, default_pool):
        services.detach_topology(me, pool=NodePool.objects.get(pk=each.pk))
    assert services.delete_topology(me, topology=topology).is_being_deleted


def test_replace_makes_a_new_one_moves_the_pools_and_deletes_the_old(
    me: Actor, topology: NetworkTopology, pool: NodePool
) -> None:
    services.attach_topology(me, pool=pool, topology=topology)

    new = services.replace_topology(me, topology=topology, name="dc-2", levels=[ZONE, HOST])

    pool.refresh_from_db()
    topology.refresh_from_db()
    assert (pool.network_topology, pool.generation, new.levels) == (new, 3, [ZONE, HOST])
    assert topology.is_being_deleted
    assert sorted(AuditEntry.objects.values_list("action", "object_name")) == [
        ("create", "dc-2"), ("delete", "dc-topology"), ("update", "h200"), ("update", "h200"),
    ]  # fmt: skip


def test_replace_under_the_same_name_is_refused(me: Actor, topology: NetworkTopology) -> None:
    with pytest.raises(InvalidInput, match="name"):
        services.replace_topology(me, topology=topology, name="dc-topology", levels=[ZONE])


@pytest.mark.parametrize("bad", [0, -1, "NaN", "fast", None, 10**10])
def test_distances_must_be_positive_figures(me: Actor, topology: NetworkTopology, bad: object) -> None:
    good = {"latencyMicroseconds": "12.5", "bandwidthGigabytesPerSecond": 400}
    with pytest.raises(InvalidInput) as caught:
        services.update_links(me, topology=topology, links=[good, good, {**good, "latencyMicroseconds": bad}])

    assert [f.field for f in caught.value.faults] == ["links[2].latencyMicroseconds"]
    changed = services.update_links(me, topology=topology, links=[good, good, good])
    assert changed.links[0] == {"latencyMicroseconds": 12.5, "bandwidthGigabytesPerSecond": 400, "assumed": False}


def settings(**changes: Any) -> services.NodePoolChanges:
    return {"label_key": "node-pool", "label_value": "h100", **changes}  # type: ignore[typeddict-item]


def test_create_pool_normalises_the_runtime_and_tells_the_listeners(
    me: Actor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[NodePool] = []
    monkeypatch.setattr(hooks, "_listeners", [told.append])

    pool = services.create_node_pool(
        me, cluster=cluster, name="h100", settings=settings(min_guaranteed_runtime="5d8h40m")
    )

    assert (pool.min_guaranteed_runtime, pool.phase, told) == ("128h40m0s", "Creating", [pool])


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("1h", {}, "name"),
        ("default", {}, "name"),
        ("h100", {"label_key": ""}, "labelKey"),
        ("h100", {"label_value": ""}, "labelValue"),
        ("h100", {"label_value": "a b"}, "labelValue"),
        ("h100", {"label_value": "a" * 64}, "labelValue"),
        ("h100", {"label_key": "kai.scheduler/node-pool", "label_value": "other"}, "labelValue"),
        ("h100", {"gpu_placement_strategy": "pack"}, "gpuPlacementStrategy"),
        ("h100", {"min_guaranteed_runtime": "1 day"}, "minGuaranteedRuntime"),
    ],
)
def test_bad_pools_are_refused_naming_the_field(
    me: Actor, cluster: Cluster, name: str, change: dict[str, str], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        services.create_node_pool(me, cluster=cluster, name=name, settings=settings(**change))

    assert field in [f.field for f in caught.value.faults]
    assert NodePool.objects.count() == 0


def test_a_label_makes_one_pool_only(me: Actor, pool: NodePool) -> None:
    with pytest.raises(Conflict) as caught:
        services.create_node_pool(me, cluster=pool.cluster, name="again", settings=settings(label_value="h200"))

    assert caught.value.objects == ("h200",)


def test_update_writes_nothing_where_nothing_differs(me: Actor, pool: NodePool) -> None:
    same = services.update_node_pool(me, pool=pool, changes={"label_value": "h200", "min_guaranteed_runtime": "0s"})

    assert (same.generation, AuditEntry.objects.count()) == (1, 0)


def test_update_records_before_and_after(me: Actor, pool: NodePool, topology: NetworkTopology) -> None:
    changed = services.update_node_pool(
        me, pool=pool, changes={"network_topology": topology, "gpu_placement_strategy": "spread"}
    )

    entry = AuditEntry.objects.get()
    assert (changed.generation, changed.phase) == (2, "Updating")
    assert entry.before == {"networkTopology": None, "gpuPlacementStrategy": "binpack"}
    assert entry.after == {"networkTopology": "dc-topology", "gpuPlacementStrategy": "spread"}


def test_a_topology_of_another_cluster_cannot_be_attached(me: Actor, pool: NodePool) -> None:
    other = Cluster.objects.create(name="cluster-b", server="http://127.0.0.1:2", credential=b"")
    foreign = NetworkTopology.objects.create(cluster=other, name="x", levels=[ZONE])

    with pytest.raises(InvalidInput, match="networkTopologyId"):
        services.attach_topology(me, pool=pool, topology=foreign)


def test_row_26_the_default_pool_cannot_be_deleted_nor_get_a_label(me: Actor, default_pool: NodePool) -> None:
    with pytest.raises(Conflict, match="default"):
        services.delete_node_pool(me, pool=default_pool)
    with pytest.raises(InvalidInput, match="labelKey"):
        services.update_node_pool(me, pool=default_pool, changes={"label_key": "x", "label_value": "y"})

    default_pool.refresh_from_db()
    assert not default_pool.is_being_deleted


def test_the_default_pool_is_made_once_per_cluster(cluster: Cluster) -> None:
    first = services.ensure_default_pool(cluster)

    assert services.ensure_default_pool(cluster) == first
    assert first.is_default


def test_delete_pool_is_asked_for_once(me: Actor, pool: NodePool) -> None:
    first = services.delete_node_pool(me, pool=pool)
    services.delete_node_pool(me, pool=first)

    assert first.is_being_deleted
    assert AuditEntry.objects.filter(action="delete").count() == 1
    with pytest.raises(Conflict, match="being deleted"):
        services.update_node_pool(me, pool=first, changes={"label_value": "x"})
