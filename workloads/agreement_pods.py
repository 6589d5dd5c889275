"""A workload's pods as the watcher saw them, beside those that were foreseen: decided or not, and where they stand."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusters.models import Pod as PodRow
from clusters.snapshot_rows import POD_COLUMNS, pod_of
from scheduling.field import Asked, Seen, asked_of, seen_of
from scheduling.preview_structs import Gang
from scheduling.structs import FINISHED, Pod
from workloads.models import Workload
from workloads.observed import groups_of

UNSCHEDULABLE = "Unschedulable"


@dataclass(frozen=True, slots=True)
class OwnPods:
    """Every living pod of a workload, by clique, and the keys of its pods and pod groups."""

    by_clique: Mapping[str, Sequence[tuple[Pod, bool]]]
    """Each with whether the scheduler has refused it."""
    keys: frozenset[str]
    groups: frozenset[str]

    @property
    def told(self) -> int:
        """Of how many of them the scheduler has spoken."""
        return sum(bool(refused or pod.node) for pods in self.by_clique.values() for pod, refused in pods)


def own_pods(workload: Workload) -> OwnPods:
    """The rows of its pods and pod groups. 2 queries."""
    space = workload.project.namespace
    rows = PodRow.objects.filter(cluster=workload.cluster_id, namespace=space, graph=workload.name)
    by_clique: dict[str, list[tuple[Pod, bool]]] = {}
    keys, groups = set(), set()
    for *columns, reason in rows.values_list(*POD_COLUMNS, "reason"):
        pod = pod_of(*columns)
        keys.add(pod.key)
        groups |= {pod.podgroup} - {""}
        if pod.phase not in FINISHED and not pod.releasing:
            refused = not pod.node and not pod.gated and reason == UNSCHEDULABLE
            by_clique.setdefault(clique_of(pod), []).append((pod, refused))
    labelled = {f"{space}/{each['metadata']['name']}" for each in groups_of(workload, ())}
    return OwnPods(by_clique, frozenset(keys), frozenset(groups | labelled))


def clique_of(pod: Pod) -> str:
    """The PodClique of a pod: its subgroup, and where the pod grouper gave it none, what its name begins with."""
    return pod.subgroup or pod.name.rpartition("-")[0]


def decided(gangs: Sequence[Gang], own: OwnPods) -> bool:
    """Whether every pod that was foreseen is there and has a node or the scheduler's refusal."""
    wanted = Counter(clique_of(pod) for gang in gangs for pod in gang.pods)
    found = {clique: own.by_clique.get(clique, ()) for clique in wanted}
    there = all(len(found[clique]) >= number for clique, number in wanted.items())
    return there and all(refused or pod.node for pods in found.values() for pod, refused in pods)


def are_others(gangs: Sequence[Gang], own: OwnPods) -> bool:
    """Whether the operators made other pods than were foreseen: more of them, or such as ask for something else."""
    wanted: dict[str, Counter[Asked]] = {}
    for gang in gangs:
        for pod in gang.pods:
            wanted.setdefault(clique_of(pod), Counter())[asked_of(pod)] += 1
    return any(
        counts != Counter(asked_of(pod) for pod, _ in own.by_clique.get(clique, ()))
        for clique, counts in wanted.items()
    )


def seen_places(gangs: Sequence[Gang], own: OwnPods, victims: int) -> Seen:
    """Where the pods of these gangs stand."""
    cliques = {clique_of(pod) for gang in gangs for pod in gang.pods}
    pods = (pod for clique in cliques for pod, _ in own.by_clique.get(clique, ()))
    return seen_of(((pod, pod.node) for pod in pods), victims)
