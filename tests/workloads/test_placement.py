"""The preview of a submission, from rows: verdict, nodes, who goes, alternatives, distance, names, age."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from clusters.models import Cluster, ClusterObject, Pod
from core.errors import InvalidInput
from organizations.models import Quota
from tests.conftest import make_user
from tests.workloads.conftest import RACKS, make_node
from tests.workloads.samples import DISAGG
from workloads import document as documents
from workloads.editing import changes_of, fields_of
from workloads.placement_alternatives import _edited, full_preview
from workloads.placement_words import headline
from workloads.services import read_draft

pytestmark = pytest.mark.django_db

UNLIMITED = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def add_object(
    cluster: Cluster, group: str, plural: str, name: str, spec: Any, namespace: str = "", **more: Any
) -> None:
    metadata = {"name": name, "uid": f"{plural}-{name}", "creationTimestamp": "2026-11-29T10:00:00Z"}
    if namespace:
        metadata["namespace"] = namespace
    ClusterObject.objects.create(
        cluster=cluster,
        uid=f"{plural}-{namespace}-{name}",
        name=name,
        namespace=namespace,
        group=group,
        plural=plural,
        resource_version="1",
        created_at=timezone.now(),
        manifest={"metadata": metadata, **({"spec": spec} if spec else {}), **more},
    )


def add_queue(cluster: Cluster, name: str, parent: str = "", quota: float = 0, limit: float = -1) -> None:
    gpu = {"quota": quota, "limit": limit, "overQuotaWeight": 1}
    resources = {"gpu": gpu, "cpu": UNLIMITED, "memory": UNLIMITED}
    spec = {"resources": resources, **({"parentQueue": parent} if parent else {})}
    add_object(cluster, "scheduling.run.ai", "queues", name, spec)


@pytest.fixture
def observed(cluster: Any, quota: Any, topology: Any, nodes: Any) -> Cluster:
    """Eight nodes of 8 GPUs, the project's queue and its department's, a topology, KAI's priority classes."""
    add_queue(cluster, "research", quota=64)
    add_queue(cluster, "assistant", "research", quota=32)
    add_queue(cluster, "others", "research", quota=32)
    levels = [{"nodeLabel": label} for label in RACKS]
    add_object(cluster, "kai.scheduler", "topologies", "topology-1", {"levels": levels})
    for name, value in (("train", 50), ("inference", 125)):
        add_object(cluster, "scheduling.k8s.io", "priorityclasses", name, None, value=value)
    topology.links = [
        {"latencyMicroseconds": 500, "bandwidthGigabytesPerSecond": 40, "assumed": True},
        {"latencyMicroseconds": 200, "bandwidthGigabytesPerSecond": 100, "assumed": True},
        {"latencyMicroseconds": 50, "bandwidthGigabytesPerSecond": 200, "assumed": False},
    ]
    topology.save(update_fields=["links"])
    return cluster


def occupy(cluster: Cluster, node: str, gpus: int, *, namespace: str = "runai-others", queue: str = "others") -> None:
    """A running gang of one pod, of somebody else."""
    name = f"hold-{node}-{gpus}"
    spec = {"queue": queue, "minMember": 1, "priorityClassName": "train"}
    add_object(cluster, "scheduling.run.ai", "podgroups", name, spec, namespace)
    Pod.objects.create(
        cluster=cluster,
        uid=name,
        name=name,
        namespace=namespace,
        pod_group=name,
        node_name=node,
        phase="Running",
        gpus=gpus,
        queue=queue,
        resource_version="1",
        created_at=timezone.now(),
    )


def preview_of(project: Any, user: Any, source: str = "", **changes: str) -> dict[str, Any]:
    text = source or DISAGG.replace("runai-project-a", "runai-assistant")
    for old, new in changes.items():
        text = text.replace(old.replace("_", " "), new)
    return full_preview(user, read_draft(project=project, source=text).submission)


def graph(prefill: int, decode: int, *, replicas: int = 1, required: str = "", preferred: str = "") -> str:
    """Prefill and decode of so many GPUs a pod."""
    annotations = {"topology": "topology-1" if required or preferred else "", "topology-required-placement": required}
    annotations["topology-preferred-placement"] = preferred
    lines = "".join(f'\n    kai.scheduler/{key}: "{value}"' for key, value in annotations.items() if value)
    roles = "".join(
        f"""
  - name: {name}
    type: {name}
    replicas: {replicas}
    podTemplate:
      spec:
        containers:
        - name: main
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0
          args: [--model, Qwen/Qwen3-0.6B]
          resources: {{limits: {{nvidia.com/gpu: "{gpus}"}}}}"""
        for name, gpus in (("prefill", prefill), ("decode", decode))
    )
    return f"""apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: chat
  namespace: runai-assistant
  annotations: {{}}
spec:
  annotations:{lines or " {}"}
  backendFramework: vllm
  components:{roles}
"""


def test_a_graph_that_fits_shows_nodes_level_distance_and_quota(observed: Any, project: Any, admin: Any) -> None:
    found = preview_of(project, admin, graph(8, 8, required=RACKS[1]))

    assert found["verdict"] == "now"
    assert [(each["node"], each["gpus"]) for each in found["nodes"]] == [("z1-r1-n1", 8), ("z1-r1-n2", 8)]
    level = found["gangs"][0]["levels"][0]
    assert (level["reached"], level["domain"], level["equal"], level["kept"]) == (RACKS[1], "z1.z1-r1", 4, True)
    distance = found["distance"]
    assert (distance["level"], distance["latencyMicroseconds"], distance["assumed"]) == (RACKS[1], 200.0, True)
    # 28 layers × 2 × 8 heads × 128 × 2 bytes = 114,688 bytes a token; 4,000 tokens at 100 GB/s, and 0.2 ms.
    assert (distance["bytes"], distance["milliseconds"]) == (458_752_000, 4.788)
    queue = next(each for each in found["queues"] if each["name"] == "assistant")
    assert (queue["before"], queue["after"], queue["deserved"]) == (0.0, 16.0, 32.0)
    assert found["alternatives"] == []
    assert [(each["level"], each["gpus"]) for each in found["roomLeft"]] == [
        ("", 48.0),
        (RACKS[0], 32.0),
        (RACKS[1], 16.0),
        (RACKS[2], 8.0),
    ]


ALL_NODES = tuple(f"z{z}-r{r}-n{n}" for z in (1, 2) for r in (1, 2) for n in (1, 2))


def test_looser_placement_is_offered_when_it_runs(observed: Any, project: Any, admin: Any) -> None:
    for node in ALL_NODES[::2]:
        occupy(observed, node, 4)

    found = preview_of(project, admin, graph(8, 8, required=RACKS[1]))

    assert found["verdict"] in ("waiting", "evicting")
    offered = {each["change"]: each for each in found["alternatives"]}
    assert offered["preferred"]["level"] == offered["broader"]["level"] == RACKS[0]
    assert offered["broader"]["after"] == RACKS[0]
    assert preview_of(project, admin, graph(8, 8, preferred=RACKS[1]))["verdict"] == "now"
    assert preview_of(project, admin, graph(8, 8, required=RACKS[0], preferred=RACKS[1]))["verdict"] == "now"


def test_a_smaller_role_is_offered_when_it_runs(observed: Any, project: Any, admin: Any) -> None:
    for node in ALL_NODES:
        occupy(observed, node, 4)

    found = preview_of(project, admin, graph(4, 8, required=RACKS[1]))

    offered = {(each["change"], each["role"]): each for each in found["alternatives"]}
    assert set(offered) == {("gpus", "decode")}
    assert (offered["gpus", "decode"]["field"], offered["gpus", "decode"]["value"]) == ("role-1-gpus", "4")
    assert preview_of(project, admin, graph(4, 4, required=RACKS[1]))["verdict"] == "now"
    assert preview_of(project, admin, graph(4, 5, required=RACKS[1]))["verdict"] != "now"


def test_another_pool_is_offered_only_where_the_required_level_can_be_kept(
    observed: Any, project: Any, admin: Any, h200: Any
) -> None:
    for node in ALL_NODES:
        occupy(observed, node, 8)
    Quota.objects.create(cluster=observed, project=project, node_pool=h200, queue_name="assistant-h200")
    labels = {"kai.scheduler/node-pool": "h200"}
    resources = {"gpu": UNLIMITED, "cpu": UNLIMITED, "memory": UNLIMITED}
    add_object(observed, "scheduling.run.ai", "queues", "assistant-h200", {"resources": resources})
    row = ClusterObject.objects.get(name="assistant-h200")
    row.manifest["metadata"]["labels"] = labels
    row.save(update_fields=["manifest"])
    for name in ("h0", "h1"):
        row = make_node(observed, name, zone="z9", rack="r9", pool="h200")
        row.labels |= labels
        row.save(update_fields=["labels"])

    free = preview_of(project, admin, graph(8, 8, preferred=RACKS[1]))
    bound = preview_of(project, admin, graph(8, 8, required=RACKS[1]))

    assert "h200" in {each["after"] for each in free["alternatives"]}
    assert "h200" not in {each["after"] for each in bound["alternatives"]}


def test_a_pod_larger_than_any_node_never_runs_and_the_scheduler_says_why(
    observed: Any, project: Any, admin: Any
) -> None:
    found = preview_of(project, admin, graph(16, 1))

    assert found["verdict"] == "never"
    assert any("topped at 8" in reason for reason in found["gangs"][0]["reasons"])
    assert {(each["change"], each["after"]) for each in found["alternatives"]} == {("gpus", "8")}


def test_names_of_other_projects_stay_hidden_and_their_counts_do_not(observed: Any, project: Any, admin: Any) -> None:
    from accounts.permissions import RESEARCHER

    for index, node in enumerate(ALL_NODES):
        occupy(observed, node, 8, namespace="runai-others" if index else "runai-assistant")
    researcher = make_user("somebody", RESEARCHER, "project", project.pk, project.cluster)

    found = preview_of(project, researcher, graph(8, 8))

    victims = [victim for gang in found["gangs"] for victim in gang["evicted"]]
    assert found["verdict"] == "evicting"
    assert len(victims) == 2
    assert {(victim["project"], victim["name"], victim["gpus"], victim["pods"]) for victim in victims} == {
        (None, None, 8.0, 1)
    }


def test_who_is_in_the_way_has_the_name_of_the_workload(observed: Any, project: Any, admin: Any) -> None:
    for node in ALL_NODES:
        occupy(observed, node, 8, namespace="runai-assistant")
    Pod.objects.filter(cluster=observed).update(graph="assistant-chat")

    found = preview_of(project, admin, graph(8, 8))

    assert found["verdict"] == "evicting"
    assert {victim["name"] for gang in found["gangs"] for victim in gang["evicted"]} == {"assistant-chat"}


def test_the_answer_says_how_old_it_is_and_what_it_cannot_know(observed: Any, project: Any, admin: Any) -> None:
    at = timezone.now() - dt.timedelta(seconds=40)
    stream = {"listedAt": at.isoformat(), "eventAt": at.isoformat(), "error": "", "served": True}
    observed.streams = dict.fromkeys(("nodes", "pods", "queues", "podgroups", "topologies"), stream)
    observed.watcher_until = timezone.now() + dt.timedelta(seconds=30)
    observed.save()
    project.refresh_from_db()

    found = preview_of(project, admin, graph(1, 1))

    assert 40 <= found["ageSeconds"] < 60
    assert found["unknown"] == ["otherPods", "schedulerFlags"]


def test_without_a_queue_nothing_is_promised(observed: Any, project: Any, quota: Any, admin: Any) -> None:
    quota.delete()

    assert preview_of(project, admin, graph(1, 1))["reason"] == "NoQueue"


def test_without_nodes_nothing_is_promised(cluster: Any, quota: Any, topology: Any, project: Any, admin: Any) -> None:
    assert preview_of(project, admin, graph(1, 1))["reason"] == "NoNodes"


def test_more_pods_than_a_request_has_time_for_are_said(observed: Any, project: Any, admin: Any) -> None:
    found = preview_of(project, admin, graph(1, 1, replicas=1001))

    assert (found["verdict"], found["reason"]) == ("unknown", "TooManyPods")
    assert "more pods" in headline(found)


def test_a_role_without_replicas_is_said_to_keep_everything_from_running(
    observed: Any, project: Any, admin: Any
) -> None:
    found = preview_of(project, admin, graph(1, 1).replace("replicas: 1", "replicas: 0", 1))

    assert (found["verdict"], found["reason"], found["alternatives"]) == ("unknown", "NoReplicas", [])
    assert headline(found).startswith("Nothing of it would run. spec.components[0].replicas: with 0 replicas of ")


def test_a_duration_that_blinds_the_scheduler_is_said(observed: Any, project: Any, admin: Any) -> None:
    add_object(observed, "scheduling.run.ai", "queues", "bad", {"preemptMinRuntime": "1d"})

    found = preview_of(project, admin, graph(1, 1))

    assert (found["verdict"], found["reason"]) == ("unknown", "SchedulerBlind")
    assert "1d" in found["message"]


@pytest.mark.parametrize(
    "odd",
    [
        ("containers:", "containers: 7 #"),
        ("podTemplate:", "podTemplate: [] #"),
        ("- name: main", "- name: other"),
        ("args: [--model, Qwen/Qwen3-0.6B]", "args: 5"),
        ('nvidia.com/gpu: "8"', "nvidia.com/gpu: many"),
        ("replicas: 1", "minAvailable: 0"),
    ],
)
def test_an_odd_document_has_an_answer_or_a_fault_and_never_an_error(
    observed: Any, project: Any, admin: Any, odd: tuple[str, str]
) -> None:
    text = graph(8, 8).replace(*odd)
    if odd[1].endswith("#"):
        text = text.split(odd[1])[0] + odd[1].removesuffix(" #") + "\n"
    try:
        found = preview_of(project, admin, text)
    except InvalidInput:
        return
    assert found["verdict"] in ("unknown", "now", "never", "waiting")


EMPTY_ANNOTATIONS = graph(4, 8).replace("annotations: {}", "annotations:")


@pytest.mark.parametrize(
    "source",
    [DISAGG, graph(4, 8, required=RACKS[1]), graph(4, 8), EMPTY_ANNOTATIONS],
)
def test_an_alternative_is_the_document_that_the_form_would_make(source: str) -> None:
    document = documents.load(source)
    fields = fields_of(document)
    roles = tuple(replace(role, replicas="3", gpus="2") if int(role.gpus or 0) else role for role in fields.roles)
    wanted = replace(fields, required="", preferred=RACKS[0], topology="topology-1", preemptibility="preemptible")
    edits = changes_of(document, replace(wanted, roles=roles, node_pool="h200"))

    assert _edited(document, edits) == documents.load(documents.edit(source, edits))
