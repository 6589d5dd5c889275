"""KAI's three validating webhooks, with the texts recorded from v0.17 (`golden/webhooks.jsonl`)."""

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from clusters.operators.objects import mapping_of
from simulator.api.go_types import GoType, Slice, Struct, read
from simulator.api.store import CollectionName
from simulator.api.webhooks import Denied, Webhook
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

QUEUES: CollectionName = ("scheduling.run.ai", "queues")
POD_GROUPS: CollectionName = ("scheduling.run.ai", "podgroups")
TOPOLOGIES: CollectionName = ("kai.scheduler", "topologies")


_RESOURCE: GoType = Struct("v2", "QueueResource", dict.fromkeys(("quota", "overQuotaWeight", "limit"), "float64"))
_QUEUE = Struct(
    "v2",
    "Queue",
    {
        "spec": Struct(
            "v2",
            "QueueSpec",
            {
                "displayName": "string",
                "parentQueue": "string",
                "priority": "int",
                "resources": Struct("v2", "QueueResources", dict.fromkeys(("cpu", "gpu", "memory"), _RESOURCE)),
                "preemptMinRuntime": "v1.Duration",
                "reclaimMinRuntime": "v1.Duration",
            },
        ),
        "status": Struct("v2", "QueueStatus", {"childQueues": Slice("string")}),
    },
)
_CONSTRAINT: GoType = Struct(
    "v2alpha2",
    "TopologyConstraint",
    dict.fromkeys(("topology", "requiredTopologyLevel", "preferredTopologyLevel"), "string"),
)
_SUBGROUP = Struct(
    "v2alpha2",
    "SubGroup",
    {
        "name": "string",
        "parent": "string",
        "minMember": "int32",
        "minSubGroup": "int32",
        "topologyConstraint": _CONSTRAINT,
    },
)
_POD_GROUP = Struct(
    "v2alpha2",
    "PodGroup",
    {
        "spec": Struct(
            "v2alpha2",
            "PodGroupSpec",
            {
                "minMember": "int32",
                "minSubGroup": "int32",
                "queue": "string",
                "priorityClassName": "string",
                "markUnschedulable": "bool",
                "schedulingBackoff": "int32",
                "preemptionDelay": "v1.Duration",
                "stalenessGracePeriod": "v1.Duration",
                "topologyConstraint": _CONSTRAINT,
                "subGroups": Slice(_SUBGROUP),
            },
        ),
        "status": Struct("v2alpha2", "PodGroupStatus"),
    },
)
_LEVEL = Struct("v1alpha1", "TopologyLevel", {"nodeLabel": "string", "alias": "string"})
_TOPOLOGY = Struct("v1alpha1", "Topology", {"spec": Struct("v1alpha1", "TopologySpec", {"levels": Slice(_LEVEL)})})


def topology(server: "Server", new: Object, old: Object | None) -> list[str]:
    levels = (new.get("spec") or {}).get("levels") or []
    aliases = [level["alias"] for level in levels if level.get("alias")]
    labels = {level.get("nodeLabel", "") for level in levels}
    duplicated = sorted(alias for alias, count in Counter(aliases).items() if count > 1)
    conflicting = sorted(set(aliases) & labels)
    problems = []
    if duplicated:
        problems.append(f"aliases must be unique within the topology; duplicated: {_go_list(duplicated)}")
    if conflicting:
        problems.append(f"an alias must not equal a nodeLabel; conflicting: {_go_list(conflicting)}")
    if problems:
        raise Denied("invalid topology aliases: " + "; ".join(problems))
    return []


def queue(server: "Server", new: Object, old: Object | None) -> list[str]:
    spec = new.get("spec") or {}
    if spec.get("resources") is None:
        raise Denied("resources must be specified")
    return _quota_warnings(server, new, old) if server.quota_validation else []


def delete_queue(server: "Server", old: Object) -> None:
    children = (old.get("status") or {}).get("childQueues") or []
    if children:
        name = old["metadata"]["name"]
        raise Denied(f"cannot delete queue {name}: it has child queues {_go_list(children)}")


def pod_group(server: "Server", new: Object, old: Object | None) -> list[str]:
    spec = new.get("spec") or {}
    least, groups = spec.get("minMember"), spec.get("minSubGroup")
    if least is not None and groups is not None:
        raise Denied(
            f"minMember and minSubGroup are mutually exclusive: set minMember ({least}) to schedule a fixed number "
            "of pods, or set minSubGroup to require a minimum number of child SubGroups, but not both"
        )
    subgroups = spec.get("subGroups") or []
    _check_tree(subgroups)
    refused, warned = _subgroup_problems(subgroups)
    children = sum(not item.get("parent") for item in subgroups)
    if groups is not None and groups > children:
        warned.append(f"minSubGroup ({groups}) exceeds the number of direct child SubGroups ({children})")
    if old is not None:
        middle = [text for text in refused if "mid-level" in text]
        refused = [text for text in refused if text not in middle]
        warned += middle
    if refused:
        raise Denied("\n".join(refused))
    return warned


def _check_tree(subgroups: list[Object]) -> None:
    parents: dict[str, str] = {}
    for item in subgroups:
        name = item.get("name", "")
        if name in parents:
            raise Denied(f"duplicate subgroup name {name}")
        parents[name] = str(item.get("parent") or "").lower()
    for name, parent in parents.items():
        if parent and parent not in parents:
            raise Denied(f"parent {parent} of {name} was not found")
    for name, parent in parents.items():
        seen, current = {name}, parent
        while current:
            if current in seen:
                raise Denied("cycle detected in subgroups")
            seen.add(current)
            current = parents[current]


def _subgroup_problems(subgroups: list[Object]) -> tuple[list[str], list[str]]:
    """What is refused (in part only on create), and what is only warned of."""
    children = Counter(str(item["parent"]).lower() for item in subgroups if item.get("parent"))
    refused: list[str] = []
    warned: list[str] = []
    for item in subgroups:
        name, least, groups = item.get("name", ""), item.get("minMember"), item.get("minSubGroup")
        below = children.get(name, 0)
        if below and least is not None:
            refused.append(
                f'subgroup "{name}": minMember cannot be set on a mid-level SubGroup (has child SubGroups); '
                "use minSubGroup instead"
            )
        if below and groups is not None and groups > below:
            text = f"minSubGroup ({groups}) exceeds the number of direct child SubGroups ({below})"
            warned.append(f'subgroup "{name}": {text}')
        if not below and groups is not None:
            refused.append(f'subgroup "{name}": minSubGroup cannot be set on a leaf SubGroup (no child SubGroups)')
        if not below and least is None:
            refused.append(f"subgroup {name}: minMember is required")
    return refused, warned


def _quota_warnings(server: "Server", new: Object, old: Object | None) -> list[str]:
    """`--enable-quota-validation`: the parent must exist; quotas above it are warned of, -1 counted as -1."""
    spec = new["spec"]
    queues = server.store.collection(QUEUES).entries
    warnings: list[str] = []
    parent = spec.get("parentQueue")
    if parent:
        found = queues.get(("", parent))
        if found is None:
            raise Denied(f'Queue.scheduling.run.ai "{parent}" not found', 404)
        own, limit = _gpu_quota(new), _gpu_quota(found.object)
        if own > limit:
            warnings.append(f"child queue GPU quota ({own:.2f}) exceeds parent queue {parent} GPU quota ({limit:.2f})")
    name = new["metadata"]["name"]
    children = [
        entry.object for entry in queues.values() if mapping_of(entry.object.get("spec")).get("parentQueue") == name
    ]
    total, own = sum(map(_gpu_quota, children)), _gpu_quota(new)
    if children and old is not None and total > own:
        warnings.append(f"total children GPU quota ({total:.2f}) exceeds parent GPU quota ({own:.2f})")
    return warnings


def _gpu_quota(body: Object) -> float:
    resources = mapping_of(mapping_of(body.get("spec")).get("resources"))
    quota = mapping_of(resources.get("gpu")).get("quota")
    return float(quota) if isinstance(quota, int | float) else 0.0


def _go_list(items: list[str]) -> str:
    return "[" + " ".join(items) + "]"


WEBHOOKS: dict[CollectionName, Webhook] = {
    TOPOLOGIES: Webhook(
        "topo.run.ai",
        "admission.kai-scheduler.svc",
        "/validate-kai-scheduler-v1alpha1-topology",
        topology,
        partial(read, _TOPOLOGY),
    ),
    QUEUES: Webhook(
        "queue.run.ai",
        "queue-controller.kai-scheduler.svc",
        "/validate-scheduling-run-ai-v2-queue",
        queue,
        partial(read, _QUEUE),
        delete_queue,
    ),
    POD_GROUPS: Webhook(
        "pg.run.ai",
        "podgroup-controller.kai-scheduler.svc",
        "/validate-scheduling-run-ai-v2alpha2-podgroup",
        pod_group,
        partial(read, _POD_GROUP),
    ),
}
