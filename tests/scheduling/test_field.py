"""Cases from the field: what they compare, how they are redacted, and that `scheduling.replay` reads them."""

import gzip
import json
import random
from pathlib import Path

import msgspec
import pytest

from scheduling.field import Place, Question, Seen, answer, misses, plain
from scheduling.golden import Replay, read_cases
from scheduling.preview_structs import Gang, Verdict
from scheduling.redaction import redact
from scheduling.replay import main
from scheduling.structs import (
    PodTerm,
    Requirement,
    SchedulerConfig,
    Snapshot,
    Taint,
    Toleration,
)
from tests.scheduling.build import Cluster, node, queue, within

DATA = Path(__file__).parent / "data"


def question(snapshot: Snapshot) -> Question:
    """What waits in a snapshot, asked of what is left without it."""
    waiting = [group for group in snapshot.podgroups if any(_waits(pod, group.key) for pod in snapshot.pods)]
    keys = {group.key for group in waiting}
    gangs = tuple(Gang(group, tuple(pod for pod in snapshot.pods if pod.podgroup == group.key)) for group in waiting)
    rest = msgspec.structs.replace(
        snapshot,
        podgroups=tuple(group for group in snapshot.podgroups if group.key not in keys),
        pods=tuple(pod for pod in snapshot.pods if pod.podgroup not in keys),
    )
    return Question(rest, SchedulerConfig(), gangs)


def _waits(pod, key: str) -> bool:
    return pod.podgroup == key and not pod.node


def two_racks() -> Question:
    nodes = [node(f"acme-{index}", 8.0, f"secret-zone.secret-rack-{index // 2}") for index in range(4)]
    cluster = Cluster(*nodes, queues=(queue("acme-queue"),))
    cluster.gang("old", 6.0, queue="acme-queue", on=("acme-0",))
    cluster.gang("new", 2.0, 2.0, queue="acme-queue", topology=within("rack"))
    return question(cluster.snapshot())


def test_the_engine_packs_so_a_scheduler_that_spreads_is_a_miss_of_nodes():
    expected = answer(two_racks())
    packed = Seen((Place("acme-0", (2.0, 1000.0, 2.0**30, 0.0, 0), 1),))
    where = {place.node for each in expected.expected for place in each.places}

    assert expected.verdict is Verdict.NOW
    assert where == {"acme-0", "acme-1"}
    assert [each.pods for each in expected.expected] == [2] * len(expected.expected)
    asked = expected.expected[0].places[0].asked
    spread = Seen((Place("acme-2", asked, 1), Place("acme-3", asked, 1)))
    assert set(misses(expected.expected, spread)) == {"nodes"}
    assert set(misses(expected.expected, Seen())) == {"verdict", "nodes"}
    assert "verdict" in misses(expected.expected, packed)
    assert misses(expected.expected, expected.expected[-1]) == {}
    one_evicted = msgspec.structs.replace(expected.expected[0], victims=1)
    assert set(misses(expected.expected, one_evicted)) == {"victims"}


def recorded_questions() -> list[Question]:
    dice = random.Random(7)
    cases = [case for case in read_cases(DATA / "scheduling-replay.jsonl.xz") if case["family"] in "abcdefhkt"]
    return [question(Replay(case["input"]).snapshot) for case in dice.sample(cases, 60)]


def test_a_redacted_case_is_answered_as_the_case_itself():
    asked = 0
    for each in recorded_questions():
        if not each.gangs:
            continue
        asked += 1
        expected = answer(each)
        for seen in expected.expected:
            told, told_seen = redact(each, seen)
            found = answer(told)
            assert told_seen in found.expected
            assert found.verdict is expected.verdict
            assert len(found.expected) == len(expected.expected)
    assert asked > 40


def canaried() -> tuple[Question, list[str]]:
    """A case with a name of its own kind in every place where one can stand."""
    base = two_racks()
    canary = iter(f"canary{number}x" for number in range(1, 200))
    planted: list[str] = []

    def name(prefix: str = "") -> str:
        planted.append(next(canary))
        return prefix + planted[-1]

    labelled = [
        msgspec.structs.replace(
            each,
            labels={**each.labels, name("who.example/"): name(), "pool.example/tier": (tier := name())},
            taints=(Taint(key := name("taint.example/"), "NoSchedule", value := name()),),
        )
        for each in base.snapshot.nodes
    ]
    gang = base.gangs[0]
    pods = tuple(
        msgspec.structs.replace(
            pod,
            name=name(),
            namespace="canaryspace",
            podgroup="canaryspace/canarygang",
            subgroup=name(),
            uid=name(),
            node_selector={"pool.example/tier": tier},
            tolerations=(Toleration(key, "Equal", value, "NoSchedule"),),
            affinity=((Requirement("pool.example/tier", "NotIn", (name(),)), Requirement("n", "Gt", ("3",))),),
            labels={"app.example/team": name(), "unread": name()},
            anti_affinity=(PodTerm("rack", (Requirement("app.example/team", "In", (name(),)),), (name(),)),),
            gpu_groups=(name(),),
        )
        for pod in gang.pods
    )
    group = msgspec.structs.replace(gang.group, name="canarygang", namespace="canaryspace", uid=name())
    snapshot = msgspec.structs.replace(base.snapshot, nodes=tuple(labelled))
    others = ["canaryspace", "canarygang", "acme", "secret-", "old", "who.example", "taint.example", "app.example"]
    return Question(snapshot, base.config, (Gang(group, pods),)), [*planted, *others]


def test_a_redacted_case_holds_no_name_of_the_cluster():
    case, planted = canaried()
    told, seen = redact(case, Seen((Place("acme-1", (2.0, 0.0, 0.0, 0.0, 0), 2),)))

    text = json.dumps(plain(told)) + json.dumps(plain(seen))

    assert len(planted) > 30
    assert [name for name in planted if name in text] == []
    assert '"rack"' in text
    assert '"values": ["3"]' in text


def test_one_name_has_one_pseudonym_and_names_keep_their_order():
    told, seen = redact(two_racks(), Seen((Place("acme-3", (2.0, 0.0, 0.0, 0.0, 0), 1),)))

    assert [each.name for each in told.snapshot.nodes] == ["node-1", "node-2", "node-3", "node-4"]
    assert [each.labels["kubernetes.io/hostname"] for each in told.snapshot.nodes] == [
        each.name for each in told.snapshot.nodes
    ]
    assert [each.labels["rack"] for each in told.snapshot.nodes] == ["value-1", "value-1", "value-2", "value-2"]
    assert told.gangs[0].group.queue == told.snapshot.queues[0].name == "queue-1"
    assert told.gangs[0].group.topology.required == "rack"
    assert seen.places[0].node == "node-4"


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_replay_reads_a_case_and_shows_the_miss(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str):
    case, expected = two_racks(), answer(two_racks()).expected[0]
    asked = expected.places[0].asked
    other = Seen((Place("acme-2", asked, 1), Place("acme-3", asked, 1)))
    for seen, code, last in (
        (expected, 0, "1 of 1 cases agree in everything; every bar holds\n"),
        (other, 1, "0 of 1 cases agree in everything; nodes in field: 0 of 1, below 100.0%\n"),
    ):
        line = json.dumps(
            {"id": "f1", "family": "field", "via": "field", "input": plain(case), "result": plain(seen)}
        ).encode()
        path = tmp_path / f"case{suffix}"
        path.write_bytes(gzip.compress(line) if suffix.endswith("gz") else line)

        assert main([str(path), "--verbose"]) == code
        assert capsys.readouterr().out.endswith(last)


def test_replay_says_what_is_wrong_with_a_damaged_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "case.jsonl"
    path.write_text('{"id": "f1", "family": "field", "via": "field", "input": {"snapshot": 1}, "result": {}}')

    assert main([str(path)]) == 2
    assert "f1 is not a case from the field: Expected `object`, got `int`" in capsys.readouterr().out
