"""Why a workload waits, told of a simulated cluster: one fixture per cause, combinations, people and pages."""

from typing import Any

import pytest
from django.urls import reverse

from clusters.models import Cluster, ClusterObject, Node
from organizations.models import Quota
from scheduling.diagnosis_structs import Cause, Code, Diagnosis
from simulator.actors.kubelet.nodes import UNHEALTHY_GPUS
from tests.workloads.conftest import make_node
from tests.workloads.simulated import (
    RACK,
    four_nodes,
    node,
)
from tests.workloads.waiting import QUEUES
from workloads.diagnosis import GroupDiagnosis, WorkloadDiagnosis
from workloads.diagnosis_sentences import CAUSES
from workloads.diagnosis_telling import tell, told_to
from workloads.words import reason_sentence, reason_short

GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: qwen
  annotations: {topology}
spec:
  backendFramework: vllm
  components:
    - name: decode
      type: decode
      replicas: {replicas}
      minAvailable: {replicas}
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1
              command: [python3, -m, dynamo.vllm]
              args: [--model, Qwen/Qwen3-0.6B]
              resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""


def graph(replicas: int = 2, gpus: int = 8, required: str = "") -> str:
    topology = "{}"
    if required:
        topology = f'{{kai.scheduler/topology: topology-1, kai.scheduler/topology-required-placement: "{required}"}}'
    return GRAPH.format(replicas=replicas, gpus=gpus, topology=topology)


TAINT = {"key": "dedicated", "value": "others", "effect": "NoSchedule"}


def unready(name: str, place: str) -> dict[str, Any]:
    made = node(name, place)
    made["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    return made


def broken(name: str, place: str) -> dict[str, Any]:
    """Eight GPUs, of which four cannot be allocated."""
    made = node(name, place)
    made["metadata"]["annotations"] = {UNHEALTHY_GPUS: "4"}
    return made


def held_by_others(host: str, gpus: int) -> dict[str, Any]:
    """A pod of another namespace that stands on a node already."""
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"cpu": "1"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"secret-{host}", "namespace": "elsewhere"},
        "spec": {"nodeName": host, "containers": [{"name": "main", "image": "x", "resources": resources}]},
    }


def codes(told: dict[str, Any]) -> list[str]:
    return [cause["code"] for cause in told["causes"]]


def test_a_rack_too_small_is_told_with_its_numbers_and_ways_out(waits: Any, admin: Any) -> None:
    told = told_to(admin, waits(graph(replicas=3, required=RACK), pods=3))
    assert codes(told) == ["LevelTooSmall"]
    assert told["verdict"] == (
        "It asks for 24 GPUs inside one rack. The largest rack of the pool, r0, has 16: 8 short. It can never start as"
        " written, however many GPUs become free."
    )
    texts = [step["text"] for remedy in told["remedies"] for step in remedy["steps"]]
    assert "Prefer one rack instead of requiring it" in texts
    assert "2 instead of 3 pods in role decode (8 GPUs each)" in texts


def test_a_rack_that_another_project_holds_is_full_for_now(waits: Any, admin: Any, viewer_of: Any) -> None:
    held = [held_by_others("n0", 8), held_by_others("n2", 8)]
    workload = waits(graph(required=RACK), others=held)
    told = told_to(admin, workload)
    assert codes(told) == ["LevelFull"]
    cause = told["causes"][0]
    assert (cause["permanent"], cause["numbers"]["asked"], cause["numbers"]["free"]) == (False, 16, 8)
    assert [(row["name"], row["usable"], row["free"]) for row in cause["domains"]] == [("r0", 16, 8), ("r1", 16, 8)]
    assert [(holder["amount"], holder["project"]) for holder in cause["holders"]] == [(8, "elsewhere")]

    seen = told_to(viewer_of(workload.project), workload)
    assert [holder["name"] for holder in seen["causes"][0]["holders"]] == ["another project"]
    assert seen["causes"][0]["startsWhen"] == ["another project"]
    assert "secret-n0" not in str(seen)
    assert "secret-n2" not in str(seen)
    assert seen["causes"][0]["numbers"] == cause["numbers"], "counts stay"


def test_queues_of_others_are_named_to_those_who_may_see_them(submit: Any, admin: Any, viewer_of: Any) -> None:
    """Queues in a circle stop everybody, and so stand in everybody's diagnosis."""
    workload = submit(graph())
    circle = Cause(Code.SCHEDULER_HANGS, True, {"queues": "assistant, secret-x, secret-y"})
    diagnosis = WorkloadDiagnosis("waits", groups=(GroupDiagnosis("space/group", Diagnosis((circle,))),))
    assert tell(admin, workload, diagnosis)["causes"][0]["names"]["queues"] == "assistant, secret-x, secret-y"
    seen = tell(viewer_of(workload.project), workload, diagnosis)
    assert seen["causes"][0]["names"]["queues"] == "assistant, others that you may not see"
    assert "secret-" not in str(seen)


def test_field_report_24_the_other_pool_is_told_and_offered_as_soon_as_it_has_room(
    waits: Any, admin: Any, h200: Any, quota: Any
) -> None:
    workload = waits(graph(), nodes=[node("n0", "z1.r0")], others=[held_by_others("n0", 8)])
    Quota.objects.create(cluster=h200.cluster, project=workload.project, node_pool=h200, queue_name="assistant-h200")
    made = ClusterObject.objects.get(plural="queues", name="assistant")
    labels = {"kai.scheduler/node-pool": "h200"}
    spec = {key: value for key, value in made.manifest["spec"].items() if key != "parentQueue"}
    for group, plural, body in (
        (made.group, "queues", {"metadata": {"name": "assistant-h200", "labels": labels}, "spec": spec}),
        ("kai.scheduler", "schedulingshards", {"metadata": {"name": "h200"}, "spec": {"partitionLabelValue": "h200"}}),
    ):
        ClusterObject.objects.create(
            cluster=h200.cluster, uid=f"uid-{plural}", name=body["metadata"]["name"], created_at=made.created_at,
            manifest=body, group=group, plural=plural, resource_version="1",
        )  # fmt: skip
    places = [make_node(h200.cluster, name, zone="z9", rack="r9", pool="h200") for name in ("h0", "h1")]
    Node.objects.filter(node_pool="h200").update(labels=labels)
    Node.objects.filter(pk=places[1].pk).update(cordoned=True)
    Cluster.objects.update(nodes_version=0, objects_version=0)

    told = told_to(admin, workload)

    assert told["otherPools"] == [
        {"pool": "h200", "fits": False, "text": "Nodes that are cordoned: 1, with 8 GPUs. With them it would run."}
    ]
    assert "OtherPool" not in str(told["remedies"])
    Node.objects.filter(pk=places[1].pk).update(cordoned=False)
    told = told_to(admin, workload)
    assert told["otherPools"] == [{"pool": "h200", "fits": True, "text": "Then 2 pods run on h0, h1."}]
    assert "Run it in node pool h200" in [step["text"] for each in told["remedies"] for step in each["steps"]]


def test_a_limit_and_cordoned_nodes_are_both_named_and_one_remedy_does_both(waits: Any, admin: Any) -> None:
    nodes = [{**each, "spec": {"unschedulable": True}} for each in four_nodes()]
    queues = {"research": {}, "assistant": {"parent": "research", "limit": 8}}
    told = told_to(admin, waits(graph(), nodes=nodes, queues=queues))
    assert codes(told) == ["OverLimit", "NodesCordoned"]
    assert [step["act"] for step in told["remedies"][0]["steps"]] == ["RaiseLimit", "Uncordon"]
    assert told["remedies"][0]["steps"][0]["text"] == "Raise the limit of queue assistant from 8 to 16 GPUs"
    assert "/projects/" in told["remedies"][0]["steps"][0]["url"]
    assert any("has reached the allowable limit of GPUs. Limit is 8 GPUs" in word for word in told["schedulerWords"])


def test_work_that_is_not_preemptible_over_the_department_s_quota(waits: Any, admin: Any) -> None:
    source = graph().replace("annotations: {}", "labels: {kai.scheduler/preemptibility: non-preemptible}")
    queues = {"research": {"quota": 8}, "assistant": {"parent": "research", "quota": 32}}
    told = told_to(admin, waits(source, queues=queues))
    assert codes(told) == ["NonPreemptibleOverQuota"]
    assert told["causes"][0]["names"]["queue"] == "research"
    acts = {step["act"] for remedy in told["remedies"] for step in remedy["steps"]}
    assert acts >= {"MakePreemptible", "RaiseQuota", "FewerPods"}


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ([node(f"n{n}", f"z1.r{n // 2}", gpus=4) for n in range(4)], "PodTooLarge"),
        ([node(f"n{n}", f"z1.r{n // 2}", taints=[TAINT]) for n in range(4)], "NodesTainted"),
        ([unready(f"n{n}", f"z1.r{n // 2}") for n in range(4)], "NodesNotReady"),
        ([node("n0", "z1.r0", gpus=8)], "PoolTooSmall"),
        ([broken(f"n{n}", f"z1.r{n // 2}") for n in range(4)], "DevicesUnhealthy"),
    ],
)
def test_field_report_17_what_is_wrong_with_the_nodes_is_named(waits: Any, admin: Any, nodes: Any, code: str) -> None:
    told = told_to(admin, waits(graph(), nodes=nodes))
    assert codes(told) == [code]
    assert told["remedies"]


def test_field_report_37_nodes_without_the_rack_label_are_outside(waits: Any, admin: Any) -> None:
    told = told_to(admin, waits(graph(required=RACK), nodes=[node(f"n{n}", "z1.") for n in range(4)]))
    assert codes(told) == ["NodesUnlabelled"]
    assert {each["note"] for each in told["causes"][0]["nodes"]} == {RACK}


def test_a_topology_that_is_gone_from_the_cluster(waits: Any, admin: Any) -> None:
    told = told_to(admin, waits(graph(required=RACK), topology=False))
    assert codes(told) == ["TopologyMissing"]


def test_field_report_23_the_operator_refuses_a_queue_that_does_not_exist(waits: Any, admin: Any) -> None:
    workload = waits(graph(), queues={"other": {}}, pods=0, refused=True)
    told = told_to(admin, workload)
    assert codes(told) == ["QueueRefused"]
    assert told["causes"][0]["names"]["queue"] == "assistant"


MULTINODE = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: qwen
spec:
  backendFramework: sglang
  components:
    - name: decode
      type: decode
      replicas: 2
      minAvailable: 1
      multinode: {nodeCount: 2}
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.6.1
              command: [python3, -m, dynamo.sglang]
              args: [--model-path, Qwen/Qwen3-32B, --tp-size, "16"]
              resources: {limits: {nvidia.com/gpu: 8}}
"""


def test_field_report_31_gated_replicas_are_said_to_be_and_what_their_base_waits_for(waits: Any, admin: Any) -> None:
    told = told_to(admin, waits(MULTINODE, nodes=[node("n0", "z1.r0")], pods=2))
    assert codes(told)[0] == "PoolTooSmall"
    assert "PodsGated" in codes(told)
    gated = next(cause for cause in told["causes"] if cause["code"] == "PodsGated")
    assert "Grove holds them back" in gated["text"]


def test_nothing_is_named_where_the_cluster_is_not_heard(waits: Any, admin: Any, cluster: Cluster) -> None:
    workload = waits(graph(required=RACK, replicas=3), pods=3)
    Cluster.objects.filter(pk=cluster.pk).update(watcher_until=None)
    workload.refresh_from_db()
    workload.cluster.refresh_from_db()
    told = told_to(admin, workload)
    assert (told["state"], told["causes"], told["remedies"]) == ("unknown", [], [])


def test_page_part_and_api_tell_the_same(waits: Any, admin: Any, client_of: Any, outsider: Any) -> None:
    workload = waits(graph(replicas=3, required=RACK), pods=3)
    client = client_of(admin)
    page = client.get(reverse("workloads:detail", args=[workload.pk])).content.decode()
    part = client.get(reverse("workloads:why", args=[workload.pk])).content.decode()
    told = client.get(f"/api/v1/workloads/{workload.pk}/diagnosis").json()
    assert "It asks for 24 GPUs inside one rack." in page
    assert all(sentence in page and sentence in part for sentence in ("Prefer one rack instead of requiring it", "r0"))
    assert codes(told) == ["LevelTooSmall"]
    assert client_of(outsider).get(f"/api/v1/workloads/{workload.pk}/diagnosis").status_code == 404
    assert client_of(outsider).get(reverse("workloads:why", args=[workload.pk])).status_code == 404


def test_on_a_large_cluster_the_page_does_not_wait_for_it(waits: Any, admin: Any, client_of: Any) -> None:
    nodes = [node(f"n{index}", f"z1.r{index // 2}") for index in range(70)]
    workload = waits(graph(replicas=3, required=RACK), nodes=nodes, pods=3)
    client, part = client_of(admin), reverse("workloads:why", args=[workload.pk])
    page = client.get(reverse("workloads:detail", args=[workload.pk]))
    assert "told" not in page.context
    assert f'hx-get="{part}"' in page.content.decode()
    assert "It asks for 24 GPUs inside one rack." in client.get(part).content.decode()


def test_field_report_20_a_queue_with_children_is_named_in_the_list_too(waits: Any, admin: Any) -> None:
    """The scheduler itself says nothing of it but that it is unable to."""
    queues = {**QUEUES, "child": {"parent": "assistant"}}
    workload = waits(graph(), queues=queues)
    assert codes(told_to(admin, workload)) == ["QueueNotLeaf"]
    assert reason_short(workload.waiting_reason) == "Queue has queues below it"
    assert "only a queue without any can run work" in reason_sentence(workload.waiting_reason)


def test_no_title_is_longer_than_the_list_has_room_for() -> None:
    assert [title for title, _sentence in CAUSES.values() if len(str(title)) > 32] == []
