from organizations.queue_findings import QueueFault, find_faults
from organizations.queue_names import makes_cycle, parent_cycles, queue_name


def test_names_are_the_owner_on_the_default_pool_and_owner_and_pool_elsewhere() -> None:
    assert queue_name("project", "assistant", "default", ()) == "assistant"
    assert queue_name("project", "assistant", "h200", ()) == "assistant-h200"


def test_a_taken_name_gets_a_suffix_that_depends_on_what_it_names_only() -> None:
    first = queue_name("project", "research", "default", {"research"})

    assert first == queue_name("project", "research", "default", {"research", "other"})
    assert first.startswith("research-")
    assert len(first) == len("research-") + 8
    assert first != queue_name("project", "research", "h200", {"research-h200"})
    assert queue_name("project", "research", "default", {"research", first}) not in {"research", first}


def test_names_have_at_most_63_characters_and_stay_apart() -> None:
    names = {queue_name("project", "a" * 40, "b" * 62 + str(n), ()) for n in range(3)}

    assert len(names) == 3
    assert all(len(name) <= 63 for name in names)


def test_trap_33_cycles_of_parents_are_found_and_named_once() -> None:
    parents = {"a": "b", "b": "a", "self": "self", "leaf": "top", "top": "", "into": "a", "orphan": "gone"}

    assert parent_cycles(parents) == (("a", "b"), ("self",))
    assert makes_cycle("top", "leaf", parents)
    assert makes_cycle("x", "x", {})
    assert not makes_cycle("new", "leaf", parents)


def queue(name: str, **spec: object) -> dict:
    full = {k: {"quota": 0, "limit": -1, "overQuotaWeight": 1} for k in ("gpu", "cpu", "memory")}
    return {"metadata": {"name": name}, "spec": {"resources": full, **spec}}


def test_traps_33_and_34_faults_of_foreign_queues_are_named() -> None:
    found = find_faults(
        [
            queue("a", parentQueue="b"),
            queue("b", parentQueue="a"),
            queue("slow", preemptMinRuntime="1d"),
            queue("good", reclaimMinRuntime="1h30m"),
            queue("lost", parentQueue="nowhere"),
            queue("odd", resources={"gpu": {"quota": -7, "limit": -1}, "cpu": {"limit": -1}, "memory": None}),
            {"metadata": {"name": "empty"}},
        ]
    )

    assert [(f.fault, f.queues, f.value) for f in found] == [
        (QueueFault.PARENT_CYCLE, ("a", "b"), ""),
        (QueueFault.BAD_DURATION, ("slow",), "preemptMinRuntime: 1d"),
        (QueueFault.MISSING_PARENT, ("lost",), "nowhere"),
        (QueueFault.NO_LIMIT, ("empty",), "gpu"),
        (QueueFault.NO_LIMIT, ("empty",), "cpu"),
        (QueueFault.NO_LIMIT, ("empty",), "memory"),
        (QueueFault.BELOW_UNLIMITED, ("odd",), "gpu.quota: -7"),
        (QueueFault.NO_LIMIT, ("odd",), "memory"),
    ]
