"""Queues that others made in a cluster, as departments and projects of Muster: which can be taken over, and doing it.

A queue at the top becomes a department, one below it a project: with the namespace where its pods are, if no other
queue has pods there, else with one of its own. An absent amount is 0 to KAI (kai-scheduler.md §1.2), so that is what
Muster writes for it: what may run stays as it was.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models.fields.json import KT
from django.utils.translation import gettext as _

from accounts.audit import Actor, record
from clusters.adopting import Candidate, keeper_of, note_adoption
from clusters.kinds import KAI_POD_GROUP, KAI_QUEUE
from clusters.models import Cluster, ClusterObject
from core.errors import Conflict, InvalidInput
from organizations.manifests import Bounds, QueueSpec, queue_manifest
from organizations.models import Department, Project, Quota
from organizations.quota import BOUNDS, RESOURCES, read_amount, read_weight
from organizations.quota_rows import observed_queues
from organizations.rules import NAMESPACE_PREFIX, name_faults, namespace_faults
from organizations.services import ProjectInput, QuotaInput, create_department, create_project
from scheduling.objects import pool_of
from topology.models import NodePool

KEYS = {"deserved": "quota", "limit": "limit", "weight": "overQuotaWeight"}
PRIORITY = 100


@dataclass(frozen=True, slots=True)
class _Queue:
    """A foreign queue as far as Muster can read it."""

    found: ClusterObject
    parent: str
    pool: NodePool
    amounts: Mapping[str, Decimal]
    priority: int

    @property
    def name(self) -> str:
        """Of the department or project: without the pool's name at its end, as Muster names queues."""
        end = f"-{self.pool.name}"
        return self.found.name if self.pool.is_default else self.found.name.removesuffix(end)


def candidates(cluster: Cluster) -> Iterator[Candidate]:
    """Queues of others, those at the top first, then by name. 7 queries."""
    pools = {pool.shard: pool for pool in NodePool.objects.filter(cluster=cluster, deletion_requested_at=None)}
    rows = list(observed_queues(cluster).select_related("cluster").order_by("name"))
    parents = {row.name: _parent(row) for row in rows}
    owners = {quota.queue_name: quota.owner for quota in _quotas(cluster)}
    taken = {
        "": set(Department.objects.filter(cluster=cluster).values_list("name", flat=True)),
        "project": set(Project.objects.filter(cluster=cluster).values_list("name", flat=True)),
    }
    namespaces = _namespaces(cluster)
    for row in sorted((row for row in rows if not row.owner), key=lambda row: (bool(_parent(row)), row.name)):
        try:
            queue = _read(row, pools)
        except InvalidInput as error:
            yield _candidate(row, blocked=f"{error.faults[0].message}.")
            continue
        names = taken["project" if queue.parent else ""]
        blocked = _blocked(queue, parents, owners, names)
        yield _candidate(row, queue, blocked, namespaces.get(row.name, ""))


def adopt(actor: Actor, candidate: Candidate) -> Department | Project:
    """The department or project that the queue becomes. Raises as the services that make them; `Conflict` where its
    parent is not Muster's (yet)."""
    found = candidate.found
    pools = {pool.shard: pool for pool in NodePool.objects.filter(cluster=found.cluster, deletion_requested_at=None)}
    queue = _read(found, pools)
    quotas = [QuotaInput(queue.pool, queue.amounts, queue.priority)]
    with transaction.atomic():
        row: Department | Project
        if queue.parent:
            namespace = _namespaces(found.cluster).get(found.name, "")
            given = ProjectInput(queue.name, namespace=namespace, adopts_namespace=bool(namespace), quotas=quotas)
            row = create_project(actor, department=_department(found, queue), given=given)
        else:
            row = create_department(actor, cluster=found.cluster, name=queue.name, quotas=quotas)
        row.quotas.filter(node_pool=queue.pool).update(queue_name=found.name)
        note_adoption(row, found.cluster, [candidate], by=actor.user.email)
        record(actor, "update", row, after={"adopted": [str(found)]})
    return row


def _namespaces(cluster: Cluster) -> dict[str, str]:
    """By queue the namespace in which its pod groups are, where it is one that no other queue and no project has."""
    groups = ClusterObject.objects.filter(cluster=cluster, group=KAI_POD_GROUP.group, plural=KAI_POD_GROUP.plural)
    queues: dict[str, set[str]] = defaultdict(set)
    namespaces: dict[str, set[str]] = defaultdict(set)
    for queue, namespace in groups.values_list(KT("manifest__spec__queue"), "namespace").distinct():
        queues[namespace].add(queue or "")
        namespaces[queue or ""].add(namespace)
    used = set(Project.objects.filter(cluster=cluster).values_list("namespace", flat=True))
    alone = {queue: min(found) for queue, found in namespaces.items() if len(found) == 1}
    return {
        queue: namespace
        for queue, namespace in alone.items()
        if len(queues[namespace]) == 1 and namespace not in used and not namespace_faults(namespace)
    }


def _department(found: ClusterObject, queue: _Queue) -> Department:
    quota = _quotas(found.cluster).filter(queue_name=queue.parent).exclude(department=None).first()
    if quota is None or quota.department is None:
        raise Conflict(
            _("The parent %(parent)s of queue %(name)s is not a department of Muster: take it over first.")
            % {"parent": queue.parent, "name": found.name},
            objects=[queue.parent],
        )
    department: Department = quota.department
    return department


def _quotas(cluster: Cluster) -> Any:
    return Quota.objects.filter(cluster=cluster).select_related("department", "project")


def _parent(row: ClusterObject) -> str:
    return str((row.manifest.get("spec") or {}).get("parentQueue") or "")


def _read(row: ClusterObject, pools: Mapping[str, NodePool]) -> _Queue:
    """Raises `InvalidInput` for what Muster has no counterpart of."""
    label = pool_of(row.manifest)
    if label not in pools:
        message = _("Its node pool %(pool)s is none of Muster’s") % {"pool": label or "default"}
        raise InvalidInput.of("nodePool", message)
    spec = row.manifest.get("spec") or {}
    amounts = {}
    for resource in RESOURCES:
        given = (spec.get("resources") or {}).get(resource) or {}
        for bound in BOUNDS:
            read = read_weight if bound == "weight" else read_amount
            amounts[f"{resource}_{bound}"] = read(given.get(KEYS[bound], 0), f"{resource}.{KEYS[bound]}")
    priority = PRIORITY if spec.get("priority") is None else spec["priority"]
    if not isinstance(priority, int):
        raise InvalidInput.of("priority", _("Its priority is not a whole number"))
    return _Queue(row, _parent(row), pools[label], amounts, priority)


def _blocked(
    queue: _Queue, parents: Mapping[str, str], owners: Mapping[str, Department | Project], taken: set[str]
) -> str:
    keeper = keeper_of(queue.found.manifest)
    if keeper:
        return _("It is kept by %(keeper)s, which would take it back.") % {"keeper": keeper}
    faults = name_faults(queue.name)
    if faults:
        return f"{faults[0].message}."
    if queue.name in taken:
        return _("Muster has one of this name already.")
    return _blocked_by_parent(queue, parents, owners) if queue.parent else ""


def _blocked_by_parent(queue: _Queue, parents: Mapping[str, str], owners: Mapping[str, Department | Project]) -> str:
    if queue.parent not in parents:
        return _("Its parent %(parent)s is not in the cluster.") % {"parent": queue.parent}
    if parents[queue.parent] or queue.found.name in parents.values():
        return _("Muster has two levels of queues, departments and projects; this one is of a deeper tree.")
    if isinstance(owners.get(queue.parent), Project):
        return _("Its parent %(parent)s belongs to a project.") % {"parent": queue.parent}
    return ""


def _candidate(row: ClusterObject, queue: _Queue | None = None, blocked: str = "", namespace: str = "") -> Candidate:
    becomes = _("Project") if _parent(row) else _("Department")
    if queue is None:
        return Candidate(row, KAI_QUEUE, becomes, row.name, blocked=blocked)
    effects = []
    if queue.parent and namespace:
        effects.append(_("The namespace %(name)s, where its pods are, is used as it is.") % {"name": namespace})
    elif queue.parent:
        made = f"{NAMESPACE_PREFIX}{queue.name}"
        effects.append(_("The namespace %(name)s is made for the project.") % {"name": made})
    effects.append(_("It gets a queue on every other node pool, as each department and project has."))
    return Candidate(row, KAI_QUEUE, becomes, queue.name, blocked, _wanted(queue), tuple(effects))


def _wanted(queue: _Queue) -> dict[str, Any]:
    bounds: dict[str, Any] = {
        resource: Bounds(*(queue.amounts[f"{resource}_{bound}"] for bound in BOUNDS)) for resource in RESOURCES
    }
    spec = QueueSpec(
        name=queue.found.name,
        owner=f"organizations.{'Project' if queue.parent else 'Department'}.…",
        pool=queue.pool.name,
        parent=queue.parent,
        priority=queue.priority,
        **bounds,
    )
    return queue_manifest(spec)
