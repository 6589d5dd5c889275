"""Pod affinity and anti-affinity, by hand."""

import msgspec

from scheduling.cycle import run_cycle
from scheduling.structs import Pod, PodTerm, Requirement, Snapshot
from tests.scheduling.build import Cluster, node

HOST = "kubernetes.io/hostname"
WEB = (Requirement("app", "In", ("web",)),)


def pod_like(app: str, **terms: tuple[PodTerm, ...]) -> dict[str, object]:
    return {"labels": {"app": app}, **terms}


def two_racks() -> Cluster:
    return Cluster(node("n0", 8, "z.r0"), node("n1", 8, "z.r0"), node("n2", 8, "z.r1"))


def reason(snapshot: Snapshot, gang: str) -> str:
    return run_cycle(snapshot).conditions[f"default/{gang}"].message


def test_pods_that_avoid_their_own_kind_spread_over_hosts() -> None:
    cluster = two_racks().gang("g", 1.0, 1.0, 1.0, pod=pod_like("web", anti_affinity=(PodTerm(HOST, WEB),)))

    assert sorted(run_cycle(cluster.snapshot()).bound.values()) == ["n0", "n1", "n2"]


def test_more_of_them_than_hosts_do_not_start() -> None:
    cluster = two_racks().gang("g", *[1.0] * 4, pod=pod_like("web", anti_affinity=(PodTerm(HOST, WEB),)))

    result = run_cycle(cluster.snapshot())

    assert result.bound == {}
    assert "3 node(s) didn't match pod anti-affinity rules" in result.conditions["default/g"].message


def test_a_running_pod_keeps_others_out_of_its_rack() -> None:
    away = pod_like("db", anti_affinity=(PodTerm("rack", WEB),))
    cluster = two_racks().gang("db", 1.0, on=("n0",), pod=away).gang("g", 1.0, pod=pod_like("web"))

    assert run_cycle(cluster.snapshot()).bound == {"default/g-0": "n2"}


def test_where_every_rack_is_kept_free_the_pod_waits() -> None:
    away = pod_like("db", anti_affinity=(PodTerm("zone", WEB),))
    cluster = two_racks().gang("db", 1.0, on=("n0",), pod=away).gang("g", 1.0, pod=pod_like("web"))

    assert "3 node(s) didn't satisfy existing pods anti-affinity rules" in reason(cluster.snapshot(), "g")


def test_a_pod_goes_near_the_kind_it_wants() -> None:
    cluster = two_racks().gang("web", 1.0, on=("n2",), pod=pod_like("web"))
    cluster.gang("g", 1.0, pod=pod_like("log", pod_affinity=(PodTerm("rack", WEB),)))

    assert run_cycle(cluster.snapshot()).bound == {"default/g-0": "n2"}


def test_without_that_kind_it_waits() -> None:
    cluster = two_racks().gang("g", 1.0, pod=pod_like("log", pod_affinity=(PodTerm("rack", WEB),)))

    assert "3 node(s) didn't match pod affinity rules" in reason(cluster.snapshot(), "g")


def test_the_first_of_a_kind_that_wants_its_own_starts_and_the_rest_follow() -> None:
    cluster = two_racks().gang("g", 5.0, 5.0, pod=pod_like("web", pod_affinity=(PodTerm("rack", WEB),)))

    assert sorted(run_cycle(cluster.snapshot()).bound.values()) == ["n0", "n1"]


def test_terms_look_at_their_own_namespace_unless_they_name_others() -> None:
    other = Pod("x", namespace="other", node="n0", phase="Running", labels={"app": "web"})
    near_home = PodTerm("rack", WEB)
    near_other = PodTerm("rack", WEB, ("other",))
    for term, expected in ((near_home, {}), (near_other, {"default/g-0": "n0"})):
        cluster = two_racks().gang("g", 1.0, pod=pod_like("log", pod_affinity=(term,)))
        snapshot = cluster.snapshot()
        snapshot = msgspec.structs.replace(snapshot, pods=(*snapshot.pods, other))
        assert run_cycle(snapshot).bound == expected


def test_a_node_without_the_label_is_no_neighbourhood() -> None:
    avoiding = pod_like("web", anti_affinity=(PodTerm("rack", WEB),))
    cluster = Cluster(node("n0", 8), node("n1", 8)).gang("g", 1.0, 1.0, pod=avoiding)

    assert set(run_cycle(cluster.snapshot()).bound.values()) == {"n0"}
