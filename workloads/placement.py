"""Where a submission would land, in numbers and codes: one answer for the page, the API and dry runs.

It reads the database only. Names of projects that the viewer does not see are left out; counts stay.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import msgspec
from django.utils import timezone

from accounts.models import User
from clusters.kinds import GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_POD_GROUP, PRIORITY_CLASS, Kind
from clusters.models import Cluster, ClusterObject
from clusters.snapshot import Shard
from core.errors import InvalidInput
from core.moments import rfc3339
from organizations.models import Project, Quota
from scheduling.objects import read_priorities
from scheduling.preview import PreparedShard
from scheduling.preview_structs import GangPreview, LevelReached, Preview, QueueAfter
from scheduling.preview_variants import equal_answers
from scheduling.structs import Eviction, Resources, Snapshot
from topology.hooks import reads_all_work
from topology.impact_names import workloads_of
from workloads import observed
from workloads.agreement_tally import agreement_json
from workloads.checks import Submission, check_submission
from workloads.graph import Graph
from workloads.models import Workload
from workloads.placement_distance import distance_of
from workloads.placement_gangs import Rendered, Surroundings, render_gangs
from workloads.placement_model import model_of
from workloads.placement_room import room_left
from workloads.placement_shards import prepared_shard
from workloads.reconcile.preview import submission_manifest

Json = dict[str, Any]

UNKNOWN = "unknown"
# Checks after which the operators would make nothing that can be placed, and the reason that is told then.
UNRENDERED = {"Field": "NotRendered", "NoReplicas": "NoReplicas"}
# Of more the engine's answer would take longer than a request may.
MOST_PODS = 2000


@dataclass(frozen=True, slots=True)
class Names:
    """What the viewer may read: project by namespace, and by queue the project or department it is the quota of;
    and the workload of each gang that a preview speaks of, whether the viewer may know it or not."""

    projects: Mapping[str, str]
    queues: Mapping[str, str]
    workloads: Mapping[str, str]
    sees_all: bool = False
    """Whether namespaces of no project may be told, too."""


def placement_preview(user: User, submission: Submission, *, now: datetime | None = None) -> Json:
    """What the cluster would make of a submission now. `verdict` is now, evicting, releasing, waiting or never, and
    unknown with a `reason` where it cannot be said; alternatives come from `placement_alternatives`."""
    now = now or timezone.now()
    cluster = submission.project.cluster
    pool = submission.pool.shard
    base: Json = {"nodePool": submission.pool.name, "workload": submission.graph.name}
    base["agreement"] = agreement_json(cluster)
    refused = _not_rendered(submission)
    if refused:
        return base | {"verdict": UNKNOWN} | refused
    try:
        rendered = render(submission, surroundings_of(cluster), now=now)
    except InvalidInput as error:
        return base | {"verdict": UNKNOWN, "reason": "NotRendered", "message": error.faults[0].message}
    if rendered is None:
        return base | {"verdict": UNKNOWN, "reason": "NoQueue"}
    shard, prepared = prepared_shard(cluster, pool, now=now)
    if submission.workload is not None:
        shard = _without_own(shard, submission.workload)
        prepared = PreparedShard(shard.snapshot, shard.config)
    base |= _sources(shard, now)
    if not shard.snapshot.nodes:
        return base | {"verdict": UNKNOWN, "reason": "NoNodes"}
    if shard.unreadable:
        return base | {"verdict": UNKNOWN, "reason": "SchedulerBlind", "message": shard.unreadable[0]}
    answers = equal_answers(prepared, rendered.gangs)
    names = names_for(user, cluster, gangs_in_the_way(answers[0]))
    view = _View(submission, rendered, shard.snapshot, names)
    return base | view.answer(answers[0]) | {"equalAnswers": len(answers)}


def _without_own(shard: Shard, workload: Workload) -> Shard:
    """The shard as if the workload that is edited had ended: its pods are made anew."""
    space = workload.project.namespace
    own = {f"{space}/{name}" for name in observed.pods_of(workload).values_list("pod_group", flat=True) if name}
    groups = tuple(group for group in shard.snapshot.podgroups if group.key not in own)
    pods = tuple(pod for pod in shard.snapshot.pods if pod.podgroup not in own)
    return replace(shard, snapshot=msgspec.structs.replace(shard.snapshot, podgroups=groups, pods=pods))


def _not_rendered(submission: Submission) -> Json:
    """Why a submission is not rendered at all: fields of another type, which rendering relies on, a role without
    replicas, or its size."""
    odd = next((each for each in check_submission(submission) if each.code in UNRENDERED), None)
    if odd is not None:
        return {"reason": UNRENDERED[odd.code], "message": f"{odd.field}: {odd.message}"}
    return {"reason": "TooManyPods"} if submission.graph.pods > MOST_PODS else {}


def render(submission: Submission, around: Surroundings, *, now: datetime) -> Rendered | None:
    """The gangs of a submission; None where its project has no queue on the pool. Raises `InvalidInput`."""
    manifest = submission_manifest(submission)
    return None if manifest is None else render_gangs(manifest, around, now=now.timestamp())


def surroundings_of(cluster: Cluster) -> Surroundings:
    """What the operators look up, from observed rows. 3 queries."""
    bindings = {row["metadata"]["name"]: row for row in _manifests(cluster, GROVE_CLUSTER_TOPOLOGY_BINDING)}
    return Surroundings(bindings, read_priorities(_manifests(cluster, PRIORITY_CLASS)), has_own_backend(cluster))


def has_own_backend(cluster: Cluster) -> bool:
    """Whether Grove makes the pod groups itself: its newest one then has the name of its PodGang, where the podgrouper
    says `pg-<gang>-<uid>` (reference kai-scheduler.md §3). A cluster without any is taken to use the podgrouper."""
    owner = "manifest__metadata__ownerReferences__0"
    groups = ClusterObject.objects.filter(
        cluster=cluster, group=KAI_POD_GROUP.group, plural=KAI_POD_GROUP.plural, **{f"{owner}__kind": "PodGang"}
    )
    newest = groups.order_by("-created_at", "-pk").values_list("name", f"{owner}__name").first()
    return newest is not None and newest[0] == newest[1]


def gangs_in_the_way(preview: Preview) -> set[str]:
    """Keys of the running gangs that would have to go, or whose end makes room."""
    evicted = {each.podgroup for gang in preview.gangs for each in gang.evicted}
    return evicted.union(*(keys for gang in preview.gangs for keys in gang.room_after))


def names_for(user: User, cluster: Cluster, gangs: Collection[str]) -> Names:
    """The names that the viewer may read in this cluster. 4 queries."""
    projects = dict(Project.objects.visible_to(user).filter(cluster=cluster).values_list("namespace", "name"))
    owned = Quota.objects.filter(cluster=cluster, project__isnull=False, project__namespace__in=list(projects))
    queues = dict(owned.values_list("queue_name", "project__name"))
    return Names(projects, queues, workloads_of(cluster, gangs), reads_all_work(user, cluster.pk))


def _manifests(cluster: Cluster, kind: Kind) -> list[Json]:
    rows = ClusterObject.objects.filter(cluster=cluster, group=kind.group, plural=kind.plural)
    return list(rows.values_list("manifest", flat=True))


def _sources(shard: Shard, now: datetime) -> Json:
    """How old the data is, and what it cannot tell."""
    at = shard.observed_at
    return {
        "observedAt": rfc3339(at, "microseconds"),
        "ageSeconds": max(int((now - at).total_seconds()), 0) if at else None,
        "unknown": list(shard.unknown),
    }


@dataclass(frozen=True, slots=True)
class _View:
    """Turns the engine's answer into what may be shown."""

    submission: Submission
    rendered: Rendered
    snapshot: Snapshot
    names: Names

    def answer(self, preview: Preview) -> Json:
        placed = {key: node for gang in preview.gangs for key, node in gang.placed.items()}
        return {
            "verdict": preview.verdict.value,
            "gangs": [self._gang(gang) for gang in preview.gangs],
            "levels": list(self.submission.levels),
            "nodes": self._nodes(placed),
            "distance": self._distance(placed),
            "roomLeft": self._room(preview),
            "queues": [self._queue(queue) for queue in preview.queues],
        }

    def _gang(self, gang: GangPreview) -> Json:
        given = next(each for each in self.rendered.gangs if each.group.key == gang.key)
        wanted = Counter(self.rendered.components[pod.key] for pod in given.pods)
        found = Counter(self.rendered.components[key] for key in gang.placed)
        return {
            "name": given.group.name,
            "verdict": gang.verdict.value,
            "pods": gang.pods,
            "placed": len(gang.placed),
            "gpus": sum(pod.requests.gpu for pod in given.pods),
            "components": [{"name": n, "pods": count, "placed": found[n]} for n, count in wanted.items()],
            "levels": [_level(level) for level in gang.levels],
            "reasons": list(dict.fromkeys(reason.message for reason in gang.reasons)),
            "evicted": self._victims(gang.evicted),
            "roomAfter": [[self._holder(key) for key in each] for each in gang.room_after],
            "waitsFor": gang.waits_for.rpartition("/")[2],
        }

    def _victims(self, evictions: Iterable[Eviction]) -> list[Json]:
        """Who goes, by pod group; `moved` counts those that get another place at once."""
        by_group: dict[str, list[Eviction]] = {}
        for each in evictions:
            by_group.setdefault(each.podgroup, []).append(each)
        return [
            self._holder(key)
            | {
                "pods": len(found),
                "moved": sum(bool(each.moved_to) for each in found),
                "action": found[0].action,
            }
            for key, found in by_group.items()
        ]

    def _holder(self, key: str) -> Json:
        """A running gang, by its workload's name where the viewer sees its project."""
        namespace, _, group = key.partition("/")
        held = sum(pod.requests.gpu for pod in self.snapshot.pods if pod.podgroup == key and pod.node)
        project = self.names.projects.get(namespace) or (namespace if self.names.sees_all else None)
        return {"project": project, "name": self.names.workloads.get(key, group) if project else None, "gpus": held}

    def _nodes(self, placed: Mapping[str, str]) -> list[Json]:
        """The nodes used, in the order of their domains, with what would stand on each."""
        gpus = {pod.key: pod.requests.gpu for gang in self.rendered.gangs for pod in gang.pods}
        labels = {node.name: node.labels for node in self.snapshot.nodes}
        on: dict[str, list[str]] = {}
        for key, node in placed.items():
            on.setdefault(node, []).append(key)
        found = []
        for node, keys in on.items():
            counts = Counter(self.rendered.components[key] for key in keys)
            found.append(
                {
                    "node": node,
                    "domains": [labels[node].get(level, "") for level in self.submission.levels],
                    "components": [{"name": name, "pods": count} for name, count in sorted(counts.items())],
                    "gpus": sum(gpus[key] for key in keys),
                }
            )
        return sorted(found, key=lambda each: (each["domains"], each["node"]))

    def _room(self, preview: Preview) -> list[Json]:
        """The most free GPUs of one domain afterwards, level by level."""
        gpus = {pod.key: pod.requests.gpu for gang in self.rendered.gangs for pod in gang.pods}
        placed: dict[str, float] = {}
        for gang in preview.gangs:
            for key, node in gang.placed.items():
                placed[node] = placed.get(node, 0.0) + gpus[key]
        gone = frozenset(each.pod for gang in preview.gangs for each in gang.evicted if not each.moved_to)
        return [asdict(each) for each in room_left(self.snapshot, self.submission.levels, placed, gone)]

    def _distance(self, placed: Mapping[str, str]) -> Json | None:
        """The farthest prefill and decode; None for a graph without both, or where one has no place."""
        topology, graph = self.submission.pool.network_topology, self.submission.graph
        if topology is None:
            return None
        used = set(placed.values())
        found = distance_of(
            self._on(graph, "prefill", placed),
            self._on(graph, "decode", placed),
            {node.name: node.labels for node in self.snapshot.nodes if node.name in used},
            topology.levels,
            topology.links,
            model_of(self.submission.document),
        )
        return {_camel(key): value for key, value in asdict(found).items()} if found else None

    def _on(self, graph: Graph, role: str, placed: Mapping[str, str]) -> Sequence[str]:
        names = {component.name for component in graph.components if component.role == role}
        return [node for key, node in placed.items() if self.rendered.components[key] in names]

    def _queue(self, queue: QueueAfter) -> Json:
        """GPUs of a queue; other resources are told by the checks."""
        of = {
            "deserved": queue.deserved,
            "limit": queue.limit,
            "fairShare": queue.fair_share,
            "before": queue.before,
            "after": queue.after,
        }
        return {"name": queue.name, "project": self.names.queues.get(queue.name), **_gpus(of)}


def _gpus(amounts: Mapping[str, Resources]) -> dict[str, float]:
    return {name: amount.gpu for name, amount in amounts.items()}


def _level(level: LevelReached) -> Json:
    return {
        "subgroup": level.subgroup,
        "topology": level.topology,
        "required": level.required,
        "preferred": level.preferred,
        "reached": level.reached,
        "domain": level.domain,
        "equal": level.equal,
        "kept": level.kept,
    }


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)
