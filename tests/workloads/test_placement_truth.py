"""What a preview says of a submission is what then happens to it in the simulated cluster."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from clusters.kinds import GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_TOPOLOGY, PRIORITY_CLASS
from scheduling.objects import read_priorities
from scheduling.preview import PreparedShard
from scheduling.preview_structs import Preview, Verdict
from scheduling.preview_variants import equal_answers
from scheduling.structs import Snapshot
from simulator.actors.informer import InformerSet
from simulator.actors.quantities import pod_requests
from simulator.actors.scheduler.cache import KINDS, SchedulerCache
from tests.simulator.actors.conftest import is_ready, run_scenario
from tests.simulator.actors.graphs import GPU, RACK, ZONE, frontend, worker
from workloads.manifests import Target, WorkloadSpec, graph_manifest
from workloads.placement_gangs import Rendered, Surroundings, render_gangs

DOMAINS = {ZONE: "zone", RACK: "rack"}
SUBMISSIONS = 12


async def snapshot_of(cluster: Any) -> Snapshot:
    """The cluster as its scheduler would list it now."""
    cache = SchedulerCache(informers := InformerSet(cluster.client))
    for kind in KINDS:
        for item in await cluster.objects(kind):
            informers.of(kind).store(item)
    now = max((group.created for group in cache.snapshot("", 0.0).podgroups), default=0.0)
    return cache.snapshot("", now + 3600)


async def surroundings_of(cluster: Any) -> Surroundings:
    bindings = await cluster.objects(GROVE_CLUSTER_TOPOLOGY_BINDING)
    classes = await cluster.objects(PRIORITY_CLASS)
    return Surroundings({each["metadata"]["name"]: each for each in bindings}, read_priorities(classes))


def generated(dice: random.Random, number: int) -> dict[str, Any]:
    """A graph of one or two roles, some of them over several nodes, with every kind of wish."""
    roles = dice.sample(("prefill", "decode"), dice.randrange(1, 3))
    components = [
        worker(
            role,
            dice.choice([1, 2, 4, 8]),
            dice.randrange(1, 4),
            **({"multinode": {"nodeCount": 2}} if dice.random() < 0.3 else {}),
        )
        for role in roles
    ]
    required, preferred = dice.choice([("", RACK), ("", ZONE), (RACK, ""), (ZONE, RACK), ("", "")])
    spec = WorkloadSpec(
        name=f"graph-{number}",
        namespace="team",
        owner="workloads.Workload.1",
        workload=str(number),
        document={
            "apiVersion": "nvidia.com/v1beta1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": f"graph-{number}", "namespace": "team"},
            "spec": {"backendFramework": "vllm", "components": [frontend(), *components]},
        },
        queue=dice.choice(["team", "small"]),
        topology="fabric" if required or preferred else "",
        required=required,
        preferred=preferred,
        priority_class=dice.choice(["", "train", "build-preemptible", "inference"]),
    )
    target = Target("nvidia.com/v1beta1", "fabric" if spec.topology else "", DOMAINS, takes_override=True)
    return graph_manifest(spec, target)


# Of the base gang and of the scaled ones: pods by GPUs and node. Which role's surplus pod takes its turn first depends
# on the moment at which Grove opens its gate.
Places = dict[str, Counter[tuple[float, str]]]


def promised_places(rendered: Rendered, preview: Preview) -> Places:
    found: Places = {"base": Counter(), "scaled": Counter()}
    for gang, each in zip(rendered.gangs, preview.gangs, strict=True):
        part = "scaled" if gang.waits_for else "base"
        size = {pod.key: pod.requests.gpu for pod in gang.pods}
        found[part].update((size[key], node) for key, node in each.placed.items())
    return found


def refused(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)


def is_gated(pod: dict[str, Any]) -> bool:
    """Of a scaled gang whose base does not run."""
    return bool(pod["spec"].get("schedulingGates")) and "grove.io/base-podgang" in pod["metadata"]["labels"]


async def outcome(
    cluster: Any, name: str, expected: Preview, rendered: Rendered
) -> dict[str, Counter[tuple[str, str]]]:
    """Pods of each gang by component and node, once as many run as were promised, or the scheduler has said no."""
    promised = sum(len(gang.placed) for gang in expected.gangs)

    async def settled() -> Any:
        pods = [pod for pod in await cluster.pods() if pod["metadata"]["name"].startswith(f"{name}-")]
        if len(pods) < sum(len(gang.pods) for gang in rendered.gangs):
            return None
        running = [pod for pod in pods if is_ready(pod) and not pod["metadata"].get("deletionTimestamp")]
        told = all(refused(pod) or pod["spec"].get("nodeName") or is_gated(pod) for pod in pods)
        return pods if len(running) == promised and told else None

    found: Places = {"base": Counter(), "scaled": Counter()}
    for pod in await cluster.wait_for(settled, f"{name}: {expected.verdict}, {promised} pods"):
        part = "scaled" if "grove.io/base-podgang" in pod["metadata"]["labels"] else "base"
        at = (float(pod_requests(pod["spec"]).get(GPU, 0)), pod["spec"].get("nodeName", ""))
        found[part].update([at] if at[1] else [])
    return found


@pytest.mark.parametrize(
    ("seed", "own_backend"), [(0, False), (1, False), (2, False), (3, False), (0, True), (1, True)]
)
def test_a_preview_is_what_then_happens(seed: int, *, own_backend: bool) -> None:
    """Whether KAI's podgrouper makes the pod groups or Grove itself."""
    dice, seen = random.Random(seed), Counter()

    async def scenario(cluster: Any) -> None:
        await cluster.add_binding()
        await cluster.add_queue("small", gpu={"quota": 8, "limit": 24})
        await cluster.wait_for(lambda: cluster.objects(KAI_TOPOLOGY), "Grove's topology")
        for number in range(SUBMISSIONS):
            manifest = generated(dice, number)
            snapshot = await snapshot_of(cluster)
            around = replace(await surroundings_of(cluster), own_backend=own_backend)
            rendered = render_gangs(manifest, around, now=snapshot.now)
            shard = PreparedShard(snapshot)
            expected, *others = equal_answers(shard, rendered.gangs, most=20)
            if expected.verdict in (Verdict.EVICTING, Verdict.RELEASING):
                continue
            seen[expected.verdict] += 1
            await cluster.submit(manifest)
            found = await outcome(cluster, manifest["metadata"]["name"], expected, rendered)
            assert found in [promised_places(rendered, each) for each in (expected, *others)], (number, expected)

    run_scenario(scenario, grove_kai_backend=own_backend)
    assert seen[Verdict.NOW] >= 3


def test_who_a_preview_says_has_to_go_then_goes() -> None:
    """A graph holds every healthy node beyond its queue's quota; another queue reclaims what it is entitled to."""

    async def scenario(cluster: Any) -> None:
        await cluster.add_queue("quota", gpu={"quota": 16, "overQuotaWeight": 1})
        await cluster.add_queue("greedy", gpu={"quota": 0, "overQuotaWeight": 1})
        hog = submission("hog", "greedy", worker("decode", 8, 18))
        await cluster.submit(hog)
        await cluster.running(19)

        wanted = submission("wanted", "quota", worker("decode", 8, 2))
        snapshot = await snapshot_of(cluster)
        rendered = render_gangs(wanted, await surroundings_of(cluster), now=snapshot.now)
        expected = PreparedShard(snapshot).preview(rendered.gangs)
        assert expected.verdict is Verdict.EVICTING
        gang = expected.gangs[0]
        before = {pod["metadata"]["name"] for pod in await cluster.pods()}
        await cluster.submit(wanted)

        async def runs() -> Any:
            pods = [pod for pod in await cluster.pods() if pod["metadata"]["name"].startswith("wanted-")]
            return pods if len(pods) == gang.pods and all(map(is_ready, pods)) else None

        found = Counter(pod["spec"]["nodeName"] for pod in await cluster.wait_for(runs, "wanted"))
        after = {pod["metadata"]["name"] for pod in await cluster.pods()}
        assert found == Counter(gang.placed.values())
        assert before - after == {each.pod.partition("/")[2] for each in gang.evicted}

    run_scenario(scenario)


def submission(name: str, queue: str, *components: dict[str, Any]) -> dict[str, Any]:
    """What would be applied for a graph of a frontend and these components."""
    document = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"backendFramework": "vllm", "components": [frontend(), *components]},
    }
    spec = WorkloadSpec(name, "team", "workloads.Workload.1", "1", document, queue)
    return graph_manifest(spec, Target("nvidia.com/v1beta1"))
