"""What must hold whatever the cluster looks like."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.cycle import run_cycle
from scheduling.golden import after
from scheduling.order import JobQueue
from scheduling.resources import triple
from scheduling.session import Session
from scheduling.structs import CycleResult, SchedulerConfig, Snapshot
from tests.scheduling.build import TOPOLOGY, Cluster, node, queue, within

LEVELS = ("", "zone", "rack", "kubernetes.io/hostname")


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    """A few nodes in racks, two queues with limits and quotas, gangs that run and gangs that wait."""
    count = draw(st.integers(1, 6))
    places = [f"z{draw(st.integers(0, 1))}.r{draw(st.integers(0, 1))}" for _ in range(count)]
    nodes = [
        node(f"n{index}", draw(st.sampled_from([0, 2, 4, 8])), places[index], unschedulable=draw(st.booleans()))
        for index in range(count)
    ]
    limits = st.sampled_from([-1, 2, 4, 8])
    queues = (
        queue("d", quota=-1, limit=draw(limits)),
        queue("q", "d", quota=draw(st.integers(0, 6)), limit=draw(limits)),
        queue("p", "d", quota=draw(st.integers(0, 6)), limit=draw(limits), created=1.0),
    )
    cluster = Cluster(*nodes, queues=queues, topologies=(TOPOLOGY,))
    free = {each.name: each.allocatable.gpu for each in nodes}
    for index in range(draw(st.integers(0, 6))):
        _run(draw, cluster, f"run{index}", free)
    for index in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 5))
        required = draw(st.sampled_from(LEVELS))
        cluster.gang(
            f"new{index}",
            *[draw(st.sampled_from([0, 1, 2, 4]))] * size,
            queue=draw(st.sampled_from(["q", "p"])),
            min_member=draw(st.integers(1, size)),
            priority=draw(st.sampled_from([50, 75, 125])),
            preemptible=draw(st.booleans()),
            topology=within(required, draw(st.sampled_from(LEVELS)), "topo" if required else ""),
        )
    return cluster.snapshot()


def _run(draw: st.DrawFn, cluster: Cluster, name: str, free: dict[str, float]) -> None:
    gpu = draw(st.sampled_from([1, 2]))
    homes = [host for host, room in free.items() if room >= gpu]
    chosen = draw(st.lists(st.sampled_from(homes), max_size=3, unique=True)) if homes else []
    if not chosen:
        return
    for host in chosen:
        free[host] -= gpu
    cluster.gang(name, *[gpu] * len(chosen), on=tuple(chosen), queue=draw(st.sampled_from(["q", "p"])))


def used(snapshot: Snapshot) -> dict[str, float]:
    amounts: dict[str, float] = {}
    for pod in snapshot.pods:
        if pod.node:
            amounts[pod.node] = amounts.get(pod.node, 0.0) + pod.requests.gpu
    return amounts


def held_by_queue(snapshot: Snapshot) -> dict[str, float]:
    queue_of = {group.key: group.queue for group in snapshot.podgroups}
    parents = {each.name: each.parent for each in snapshot.queues}
    amounts = dict.fromkeys(parents, 0.0)
    for pod in snapshot.pods:
        name = queue_of[pod.podgroup] if pod.node else ""
        while name:
            amounts[name] += pod.requests.gpu
            name = parents[name]
    return amounts


def run_to_rest(snapshot: Snapshot) -> tuple[Snapshot, list[CycleResult]]:
    results = []
    for _ in range(6):
        result = run_cycle(snapshot)
        results.append(result)
        snapshot = after(snapshot, result)
        if not result.bound and not result.evicted:
            break
    return snapshot, results


@settings(max_examples=60)
@given(clusters())
def test_no_node_is_ever_given_more_than_it_has(snapshot: Snapshot) -> None:
    room = {each.name: each.allocatable.gpu for each in snapshot.nodes}

    rested, _ = run_to_rest(snapshot)

    assert all(amount <= room[name] for name, amount in used(rested).items())


@settings(max_examples=60)
@given(clusters())
def test_nothing_is_bound_to_a_cordoned_node(snapshot: Snapshot) -> None:
    cordoned = {each.name for each in snapshot.nodes if each.unschedulable}

    _, results = run_to_rest(snapshot)

    assert not any(cordoned & set(result.bound.values()) for result in results)


@settings(max_examples=60)
@given(clusters())
def test_a_waiting_gang_starts_with_its_minimum_or_not_at_all(snapshot: Snapshot) -> None:
    result = run_cycle(snapshot)
    group_of = {pod.key: pod.podgroup for pod in snapshot.pods}

    for group in snapshot.podgroups:
        started = sum(group_of[key] == group.key for key in result.bound)
        if group.name.startswith("new") and started:
            assert started >= (group.min_member or 1)


@settings(max_examples=60)
@given(clusters())
def test_no_queue_grows_beyond_its_limit(snapshot: Snapshot) -> None:
    before = held_by_queue(snapshot)

    result = run_cycle(snapshot)

    kept = msgspec.structs.replace(result, evicted=())
    for name, amount in held_by_queue(after(snapshot, kept)).items():
        limit = next(each.gpu.limit for each in snapshot.queues if each.name == name)
        assert limit == -1 or amount <= max(limit, before[name])


@settings(max_examples=60)
@given(clusters())
def test_a_required_level_holds_what_is_bound_together(snapshot: Snapshot) -> None:
    place = {each.name: each.labels for each in snapshot.nodes}
    result = run_cycle(snapshot)

    for group in snapshot.podgroups:
        level = group.topology.required
        if not level:
            continue
        homes = [
            result.bound[pod.key] for pod in snapshot.pods if pod.podgroup == group.key and pod.key in result.bound
        ]
        keys = LEVELS[1 : LEVELS.index(level) + 1]
        assert len({tuple(place[home][key] for key in keys) for home in homes}) <= 1


@settings(max_examples=60)
@given(clusters())
def test_only_preemptible_pods_are_evicted_and_only_once(snapshot: Snapshot) -> None:
    firm = {group.key for group in snapshot.podgroups if not group.preemptible}

    result = run_cycle(snapshot)

    names = [each.pod for each in result.evicted]
    assert len(names) == len(set(names))
    assert not any(each.podgroup in firm for each in result.evicted)


@settings(max_examples=40)
@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(snapshot: Snapshot, random: object) -> None:
    nodes, pods = list(snapshot.nodes), list(snapshot.pods)
    random.shuffle(nodes)
    random.shuffle(pods)
    shuffled = msgspec.structs.replace(snapshot, nodes=tuple(nodes), pods=tuple(pods))

    assert dict(run_cycle(shuffled).bound) == dict(run_cycle(snapshot).bound)


@settings(max_examples=40)
@given(clusters())
def test_victims_added_at_once_come_in_the_order_of_those_added_one_by_one(snapshot: Snapshot) -> None:
    session = Session(snapshot, SchedulerConfig())
    jobs = [job for job in session.jobs.values() if job.active]
    at_once = JobQueue(session.queues, triple(session.total), victims=True).fill(jobs)
    one_by_one = JobQueue(session.queues, triple(session.total), victims=True)
    for job in jobs:
        one_by_one.push(job)

    assert [at_once.pop() for _ in jobs] == [one_by_one.pop() for _ in jobs]


@settings(max_examples=40)
@given(clusters())
def test_a_cycle_changes_nothing_it_was_given(snapshot: Snapshot) -> None:
    before = msgspec.json.encode(snapshot)

    first, second = run_cycle(snapshot), run_cycle(snapshot)

    assert msgspec.json.encode(snapshot) == before
    assert first == second
