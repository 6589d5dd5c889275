"""What the engine says of a workload as it starts, held against what the simulated scheduler then does."""

import gzip
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.utils import timezone

from clusters.kinds import KAI_TOPOLOGY, NODE, PRIORITY_CLASS
from clusters.models import Cluster, ClusterObject, Node, Pod
from scheduling.replay import main as replay
from scheduling.structs import SchedulerConfig
from simulator.actors.scheduler import loop as scheduler_loop
from tests.simulator.actors.conftest import manifest
from tests.workloads.agreeing import Live, living
from tests.workloads.simulated import HOST, RACK, ZONE, four_nodes, furnish, graph_of, judged, queue, submit
from tests.workloads.test_diagnosis import graph
from tests.workloads.waiting import QUEUES, SPACE
from topology.models import NodePool
from workloads import agreement, tasks
from workloads.agreement_case import DROPPED, KEPT, TOO_LARGE
from workloads.models import Agreement, Prediction, Workload
from workloads.services import delete_workload, resume_workload, submit_workload, suspend_workload


@pytest.fixture
def live(cluster: Cluster, project: Any, quota: Any, topology: Any) -> Any:
    """Two racks of two nodes of 8 GPUs, mirrored, and nothing on them."""
    with living(cluster) as found:
        queues = [queue(name, **options) for name, options in QUEUES.items()]
        found.run(furnish(found.cluster, four_nodes(), queues, SPACE))
        levels = {"levels": [{"nodeLabel": key} for key in (ZONE, RACK, HOST)]}
        found.run(found.cluster.client.create(KAI_TOPOLOGY, manifest(KAI_TOPOLOGY, "topology-1", levels)))
        for name, value in (("train", 50), ("build-preemptible", 75)):
            found.run(found.cluster.client.create(PRIORITY_CLASS, {**manifest(PRIORITY_CLASS, name), "value": value}))
        found.mirror()
        yield found


@pytest.fixture
def start(live: Live, project: Any, admin: Any, actor: Any) -> Any:
    """Submit a workload, predict, let the scheduler decide, mirror and compare; the prediction."""

    def begin(source: str) -> tuple[Workload, Prediction]:
        workload = submit_workload(actor(admin), project=project, source=source)
        prediction = agreement.predict(workload.pk, now=timezone.now())
        assert prediction is not None
        return workload, prediction

    return begin


def decide(live: Live, workload: Workload, pods: int) -> None:
    """The cluster makes the pods and its scheduler speaks of each."""
    live.run(submit(live.cluster, graph_of(workload)))
    live.run(judged(live.cluster, SPACE, pods))
    live.mirror()


def compared(prediction: Prediction) -> Prediction:
    agreement.compare(prediction.pk, now=timezone.now())
    prediction.refresh_from_db()
    return prediction


def test_a_placement_that_comes_as_foretold_is_right(live: Live, start: Any):
    workload, prediction = start(graph(2, 8, RACK))
    assert (prediction.verdict, prediction.outcome, prediction.pods, prediction.pods_expected) == ("now", "open", 2, 2)
    assert compared(prediction).outcome == Agreement.OPEN

    decide(live, workload, 2)

    assert compared(prediction).outcome == Agreement.RIGHT
    assert (prediction.reasons, prediction.pods_placed, prediction.scheduler_version) == ([], 2, "v0.17.0")
    assert (prediction.evidence, prediction.case) == (None, None)
    assert len(prediction.engine_version) == 12
    assert prediction.age_seconds is not None
    assert prediction.age_seconds < 60


def test_a_gang_that_waits_as_foretold_is_right(live: Live, start: Any):
    workload, prediction = start(graph(3, 8, RACK))
    assert (prediction.verdict, prediction.pods_expected) == ("never", 0)

    decide(live, workload, 3)

    assert compared(prediction).outcome == Agreement.RIGHT
    assert prediction.pods_placed == 0


def spread_config(shard: Any, staleness: float) -> SchedulerConfig:
    """A scheduler that spreads although nothing in the cluster says so: what its command line could say."""
    return SchedulerConfig(gpu_placement="spread", cpu_placement="spread", staleness_grace=staleness)


@pytest.fixture
def wrong(live: Live, start: Any, monkeypatch: pytest.MonkeyPatch) -> Prediction:
    """A prediction that a scheduler with other settings made wrong: it avoids the node that is used already."""
    return spread_out(live, start, monkeypatch)


def spread_out(live: Live, start: Any, monkeypatch: pytest.MonkeyPatch) -> Prediction:
    NodePool.objects.update(network_topology=None)
    first, _ = start(graph(1, 2).replace("qwen", "first"))
    decide(live, first, 1)
    monkeypatch.setattr(scheduler_loop, "shard_config", spread_config)
    workload, prediction = start(graph(1, 2))
    decide(live, workload, 2)
    return compared(prediction)


def test_a_scheduler_that_decides_otherwise_makes_it_wrong_and_the_case_replays(
    wrong: Prediction, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert (wrong.outcome, wrong.reasons, wrong.case_state) == (Agreement.WRONG, ["nodes"], KEPT)
    assert wrong.evidence is None
    path = tmp_path / "case.jsonl.gz"
    path.write_bytes(bytes(wrong.case))

    assert replay([str(path), "--verbose"]) == 1
    told = capsys.readouterr().out
    assert "pods per node: recorded {'node-2': 1}, got {'node-1': 1}" in told
    assert "0 of 1 cases agree in everything; nodes in field: 0 of 1" in told


def test_a_case_names_nothing_of_the_cluster(wrong: Prediction):
    text = gzip.decompress(bytes(wrong.case)).decode()
    names = {
        SPACE,
        "assistant",
        "research",
        "qwen",
        "decode",
        "vllm",
        "Qwen",
        "image",
        "env",
        "annotations",
        "z1",
        "r0",
    }
    for model in (Node, Pod, ClusterObject):
        names |= set(model.objects.values_list("name", flat=True)) | set(model.objects.values_list("uid", flat=True))

    assert [name for name in sorted(names) if f'"{name}"' in text or (len(name) > 2 and name in text)] == []
    assert RACK in text
    assert json.loads(text)["scheduler"] == "v0.17.0"


def test_a_case_that_is_too_large_is_not_kept_and_said_so(live: Live, start: Any, monkeypatch: Any, settings: Any):
    settings.PREDICTION_CASE_KIB = 0

    prediction = spread_out(live, start, monkeypatch)

    assert prediction.outcome == Agreement.WRONG
    assert (prediction.case, prediction.case_state) == (None, TOO_LARGE)


def test_only_the_newest_cases_of_a_cluster_are_kept(wrong: Prediction, settings: Any):
    settings.PREDICTION_CASES = 2
    for days in (1, 2, 3):
        Prediction.objects.create(
            cluster=wrong.cluster,
            workload_name="old",
            generation=1,
            predicted_at=wrong.predicted_at - timedelta(days=days),
            outcome=Agreement.WRONG,
            case=b"x",
            case_state=KEPT,
        )

    assert agreement.forget_old_cases(wrong.cluster_id) == 2
    rows = Prediction.objects.exclude(case_state="").order_by("-predicted_at").values_list("case_state", flat=True)
    assert list(rows) == [KEPT, KEPT, DROPPED, DROPPED]
    assert set(Prediction.objects.filter(case_state=DROPPED).values_list("case", flat=True)) == {None}


async def cordon(live: Live, name: str) -> None:
    await live.cluster.client.patch(NODE, name, None, {"spec": {"unschedulable": True}})


def test_a_shard_that_changed_in_between_is_not_compared(live: Live, start: Any):
    workload, prediction = start(graph(2, 8))
    live.run(cordon(live, "n3"))
    decide(live, workload, 2)

    assert compared(prediction).outcome == Agreement.NOT_COMPARABLE
    assert prediction.reasons == ["changed:nodes"]


def test_another_workload_in_between_is_a_change(live: Live, start: Any):
    workload, prediction = start(graph(2, 4))
    other, later = start(graph(1, 4).replace("qwen", "other"))
    decide(live, workload, 2)
    decide(live, other, 3)

    assert compared(prediction).reasons == ["changed:gangs,pods"]
    assert compared(later).reasons == ["changed:gangs,pods"]


def test_who_has_to_go_for_it_is_no_change(live: Live, start: Any):
    """A gang fills every node; another one of a higher priority evicts all of it, and its owner makes it anew."""
    hog, first = start(graph(4, 8).replace("qwen", "hog"))
    decide(live, hog, 4)
    assert compared(first).outcome == Agreement.RIGHT
    labelled = graph(2, 8).replace("annotations: {}", "labels: {priorityClassName: build-preemptible}")
    urgent, prediction = start(labelled)
    assert prediction.verdict == "evicting"

    live.run(submit(live.cluster, graph_of(urgent)))

    async def bound() -> Any:
        pods = [pod for pod in await live.cluster.pods(SPACE) if pod["metadata"]["name"].startswith("qwen-")]
        return len(pods) == 2 and all(pod["spec"].get("nodeName") for pod in pods)

    live.run(live.cluster.wait_for(bound, "the urgent gang"))
    live.mirror()
    assert compared(prediction).outcome == Agreement.RIGHT


def test_what_was_deleted_edited_or_never_decided_is_not_compared(
    live: Live, start: Any, admin: Any, actor: Any, settings: Any
):
    gone, of_gone = start(graph(1, 1))
    delete_workload(actor(admin), workload=gone)
    assert compared(of_gone).reasons == ["deleted"]

    held, of_held = start(graph(1, 1).replace("qwen", "held"))
    suspend_workload(actor(admin), workload=held)
    assert compared(of_held).reasons == ["edited"]

    _slow, of_slow = start(graph(1, 1).replace("qwen", "slow"))
    settings.PREDICTION_WAIT_SECONDS = 60
    agreement.compare(of_slow.pk, now=of_slow.predicted_at + timedelta(seconds=59))
    assert Prediction.objects.get(pk=of_slow.pk).outcome == Agreement.OPEN
    agreement.compare(of_slow.pk, now=of_slow.predicted_at + timedelta(seconds=61))
    assert Prediction.objects.get(pk=of_slow.pk).reasons == ["waited"]


def test_what_is_foretold_after_the_scheduler_spoke_is_not_compared(live: Live, project: Any, admin: Any, actor: Any):
    workload = submit_workload(actor(admin), project=project, source=graph(1, 1))
    decide(live, workload, 1)

    prediction = agreement.predict(workload.pk, now=timezone.now())

    assert prediction is not None
    assert (prediction.outcome, prediction.reasons) == (Agreement.NOT_COMPARABLE, ["tooLate"])


def test_another_version_of_the_scheduler_is_not_compared(live: Live, start: Any, cluster: Cluster):
    workload, prediction = start(graph(1, 1))
    decide(live, workload, 1)
    Cluster.objects.filter(pk=cluster.pk).update(components=[])

    assert compared(prediction).reasons == ["schedulerChanged"]


def test_a_cluster_that_is_not_heard_is_not_spoken_of(
    live: Live, cluster: Cluster, project: Any, admin: Any, actor: Any
):
    streams = Cluster.objects.get(pk=cluster.pk).streams
    Cluster.objects.filter(pk=cluster.pk).update(streams={**streams, "pods": {"error": "Forbidden"}})
    workload = submit_workload(actor(admin), project=project, source=graph(1, 1))

    prediction = agreement.predict(workload.pk, now=timezone.now())

    assert prediction is not None
    assert prediction.reasons == ["stale"]


def test_pods_that_the_operators_made_otherwise_are_not_compared(live: Live, start: Any):
    workload, prediction = start(graph(2, 2))
    document = msgspec.json.decode(msgspec.json.encode(graph_of(workload)))
    container = document["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]
    container["resources"]["limits"]["nvidia.com/gpu"] = "1"
    live.run(submit(live.cluster, document))
    live.run(judged(live.cluster, SPACE, 2))
    live.mirror()

    assert compared(prediction).reasons == ["otherPods"]


def test_each_start_is_foretold_once(live: Live, start: Any, admin: Any, actor: Any):
    workload, _first = start(graph(1, 1))

    assert agreement.predict(workload.pk, now=timezone.now()) is None
    suspend_workload(actor(admin), workload=workload)
    assert agreement.predict(workload.pk, now=timezone.now()) is None
    workload.refresh_from_db()
    resume_workload(actor(admin), workload=workload)
    assert agreement.predict(workload.pk, now=timezone.now()) is not None
    assert Prediction.objects.count() == 2


def test_many_starts_at_once_are_counted_but_not_compared(live: Live, start: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(agreement, "MOST_OPEN", 1)
    start(graph(1, 1))

    _workload, second = start(graph(1, 1).replace("qwen", "second"))

    assert second.reasons == ["busy"]
    assert second.evidence is None


def test_a_graph_of_more_pods_than_are_looked_into_is_counted_but_not_compared(
    live: Live, start: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(agreement, "MOST_PODS", 0)

    _workload, prediction = start(graph(1, 1))

    assert (prediction.outcome, prediction.reasons) == (Agreement.NOT_COMPARABLE, ["tooManyPods"])
    assert prediction.evidence is None


def test_no_prediction_is_made_where_they_are_switched_off(
    live: Live, project: Any, admin: Any, actor: Any, settings: Any
):
    settings.PREDICTION_DAYS = 0
    workload = submit_workload(actor(admin), project=project, source=graph(1, 1))

    assert agreement.predict(workload.pk, now=timezone.now()) is None


def test_a_lost_hint_is_made_up_by_the_tick_and_old_rows_go(live: Live, start: Any, settings: Any):
    workload, prediction = start(graph(1, 1))
    decide(live, workload, 1)
    Prediction.objects.create(
        cluster=prediction.cluster,
        workload_name="old",
        generation=1,
        predicted_at=timezone.now() - timedelta(days=settings.PREDICTION_DAYS + 1),
        outcome=Agreement.RIGHT,
    )

    assert tasks.compare_open() == 1
    assert list(Prediction.objects.values_list("outcome", flat=True)) == [Agreement.RIGHT]


def test_a_round_without_open_predictions_costs_two_queries(db: None, django_assert_num_queries: Any):
    with django_assert_num_queries(2):
        assert tasks.compare_open() == 0


def test_a_start_costs_a_few_queries_and_comparing_it_a_few_more(
    live: Live, project: Any, admin: Any, actor: Any, django_assert_max_num_queries: Any
):
    workload = submit_workload(actor(admin), project=project, source=graph(2, 4))
    with django_assert_max_num_queries(30):
        prediction = agreement.predict(workload.pk, now=timezone.now())
    assert prediction is not None
    with django_assert_max_num_queries(4):
        assert agreement.compare(prediction.pk, now=timezone.now()) is None

    decide(live, workload, 2)

    with django_assert_max_num_queries(20):
        assert agreement.compare(prediction.pk, now=timezone.now()) == Agreement.RIGHT
