"""Situations on a simulated cluster, made by hand: what was broken, what it must be told as, and its undoing."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from accounts.models import User
from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, KAI_POD_GROUP, KAI_QUEUE, NAMESPACE, NODE, POD, Kind
from tests.simulator.actors.conftest import manifest
from tests.workloads.simulated import RACK, four_nodes, graph_of, node
from tests.workloads.stage import SPACE, Stage, grouped, judged, open_stage
from tests.workloads.test_diagnosis import graph
from tests.workloads.waiting import QUEUES
from workloads.models import Workload

Act = Callable[[Stage], None]
Document = dict[str, Any]
ELSEWHERE = "elsewhere"
POOL = "kai.scheduler/node-pool"
NO_SCHEDULER = frozenset({"scheduler"})


def nothing(stage: Stage) -> None:
    """Nothing more."""


def verdict(stage: Stage) -> None:
    """Until the scheduler has judged every pod."""
    stage.wait("verdicts", judged)


def pods_grouped(stage: Stage) -> None:
    """Until every pod is marked with its pod group."""
    stage.wait("pod groups", grouped)


def written_back(stage: Stage) -> None:
    """The graph is what Muster would have written, without a trace of the change."""
    document = graph_of(stage.workload)

    async def replaced() -> None:
        live = await stage.cluster.client.get(DYNAMO_GRAPH_DEPLOYMENT, document["metadata"]["name"], SPACE)
        metadata = {**live["metadata"], **document["metadata"]}
        await stage.cluster.client.update(DYNAMO_GRAPH_DEPLOYMENT, {**live, **document, "metadata": metadata})

    stage.run(replaced())
    stage.repairs = True


@dataclass(frozen=True)
class Situation:
    """One situation. `document` is what somebody else made of the graph; `before` is done before the graph is written,
    `after` then; with `seen` it stands. `pods` run after `mend`. `options` are those of the actors; `idle` actors do
    not act at first; `components`: the cluster's row is reconciled too. `pool` is another one than the default."""

    codes: tuple[str, ...]
    mend: Act
    source: str = field(default_factory=graph)
    nodes: Callable[[], list[Document]] = four_nodes
    queues: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: QUEUES)
    topology: bool = True
    without: tuple[str, ...] = ()
    idle: frozenset[str] = frozenset()
    document: Callable[[Document], object] | None = None
    before: Act = nothing
    after: Act = nothing
    seen: Act = verdict
    pods: int = 2
    components: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    pool: str = ""

    @contextmanager
    def staged(self, workload: Workload, viewer: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
        """The stage as the situation leaves it, observed."""
        with open_stage(workload, viewer, monkeypatch, without=self.without, **self.options) as stage:
            stage.furnish(self.nodes(), self.queues, topology=self.topology)
            stage.act(but=self.idle)
            self.before(stage)
            if not self.components:
                stage.observe()
            stage.write(self.document)
            self.after(stage)
            self.seen(stage)
            stage.observe(components=self.components)
            yield stage


def patch(stage: Stage, kind: Kind, name: str, body: Document) -> None:
    """Merge into an object; a namespaced one is the workload's."""
    stage.run(stage.cluster.client.patch(kind, name, SPACE if kind.namespaced else None, body))


def patch_all(stage: Stage, kind: Kind, body: Document) -> None:
    """Merge into every object of a kind."""
    for each in stage.run(stage.cluster.objects(kind, SPACE if kind.namespaced else None)):
        patch(stage, kind, each["metadata"]["name"], body)


def create(stage: Stage, kind: Kind, body: Document) -> None:
    """Create an object; a namespaced one where it says itself."""
    stage.run(stage.cluster.client.create(kind, body, body["metadata"].get("namespace")))


def delete(stage: Stage, kind: Kind, name: str, namespace: str | None = None) -> None:
    """Delete an object."""
    stage.run(stage.cluster.client.delete(kind, name, namespace))


def add_nodes(stage: Stage, *bodies: Document) -> None:
    """Nodes with their status."""
    for body in bodies:
        status = body.pop("status")
        create(stage, NODE, body)
        name = body["metadata"]["name"]
        stage.run(stage.cluster.client.patch(NODE, name, None, {"status": status}, subresource="status"))


def groups_of(stage: Stage) -> list[Document]:
    """The workload's pod groups."""
    return list(stage.run(stage.cluster.objects(KAI_POD_GROUP, SPACE)))


def standing(host: str, gpus: int) -> Document:
    """A pod of another namespace and without a queue that has its node."""
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"cpu": "1"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"holds-{host}", "namespace": ELSEWHERE},
        "spec": {"nodeName": host, "containers": [{"name": "main", "image": "x", "resources": resources}]},
    }


def held(**gpus: int) -> Act:
    """So many GPUs of each node are held by others."""

    def act(stage: Stage) -> None:
        create(stage, NAMESPACE, manifest(NAMESPACE, ELSEWHERE))
        for host, count in gpus.items():
            create(stage, POD, standing(host, count))

    return act


def freed(*hosts: str) -> Act:
    """What others hold on these nodes ends."""

    def act(stage: Stage) -> None:
        for host in hosts:
            delete(stage, POD, f"holds-{host}", ELSEWHERE)

    return act


def scheduled_pod(name: str, gpus: int, queue: str, **spec: Any) -> Document:
    """A pod of another namespace for KAI's scheduler, in a queue."""
    container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    labels = {"kai.scheduler/queue": queue, **spec.pop("labels", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": ELSEWHERE, "labels": labels},
        "spec": {"schedulerName": "kai-scheduler", "containers": [container], **spec},
    }


def fault(which: str, **parameters: Any) -> Act:
    """A fault of the simulator's switchboard goes on."""
    return lambda stage: stage.api.call(stage.api.server.faults.switch_on, which, parameters)


def healed(stage: Stage) -> None:
    """All faults go off."""
    stage.api.heal()


def healed_and_written(stage: Stage) -> None:
    """All faults go off, and the workload is reconciled once more."""
    stage.api.heal()
    stage.reconcile()


def quickly(stage: Stage) -> None:
    """What took its time takes none from now on."""
    stage.cluster.options = replace(stage.cluster.options, readiness_s=0.02, termination_s=0.02)
    stage.act()


def all_act(stage: Stage) -> None:
    """Every actor acts."""
    stage.act()


def queue_patched(name: str, body: Document) -> Act:
    """A queue is changed."""
    return lambda stage: patch(stage, KAI_QUEUE, name, body)


def nodes_patched(body: Document) -> Act:
    """Every node is changed."""
    return lambda stage: patch_all(stage, NODE, body)


def groups_patched(body: Document) -> Act:
    """The workload's pod groups are changed."""
    return lambda stage: patch_all(stage, KAI_POD_GROUP, body)


def then(*acts: Act) -> Act:
    """One act after the other."""

    def act(stage: Stage) -> None:
        for each in acts:
            each(stage)

    return act


def annotated(**annotations: str) -> Callable[[Document], object]:
    """The graph with these annotations of KAI's instead of Muster's own placement ones."""

    def change(document: Document) -> None:
        prefix = "kai.scheduler/topology"
        own = document["spec"].get("annotations") or {}
        kept = {key: value for key, value in own.items() if not key.startswith(prefix)}
        more = {f"{prefix}{key and '-' + key.replace('_', '-')}": value for key, value in _named(annotations)}
        document["spec"]["annotations"] = {**kept, **more}

    return change


def _named(annotations: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    places = {"topology": "", "required": "required-placement", "preferred": "preferred-placement"}
    for key, value in annotations.items():
        yield places[key], value


def one_rack(count: int, **more: Any) -> Callable[[], list[Document]]:
    """So many nodes, two to a rack."""
    return lambda: [node(f"n{index}", f"z1.r{index // 2}", **more) for index in range(count)]


def racked(replicas: int, gpus: int = 8) -> str:
    """A graph that requires one rack."""
    return graph(replicas=replicas, gpus=gpus, required=RACK)


def scaled(component: int, replicas: int) -> Callable[[Document], object]:
    """One component of the graph has so many replicas."""
    return lambda document: document["spec"]["components"][component].update(replicas=replicas)


def of_role(name: str, gpus: int) -> str:
    """One more component of one pod."""
    return f"""\
    - name: {name}
      type: {name}
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1
              command: [python3, -m, dynamo.vllm]
              args: [--model, Qwen/Qwen3-0.6B]
              resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""
