"""What is tested before a workload is written: each check with its field, what is wrong and what is allowed.

Reads the database only. `bad` blocks the submission; `wait` and `info` are told and do not.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from django.db.models import Max
from django.utils.translation import gettext as _

from clusters.models import ClusterObject, Node
from clusters.names import check_service_name
from clusters.operators.dynamo.graph import wants_grove
from core.errors import Fault, InvalidInput
from organizations.models import UNLIMITED, Project, Quota
from topology.models import NodePool
from workloads.allowlist import check_allowed
from workloads.components import Component
from workloads.equal_names import is_name_taken
from workloads.graph import Graph
from workloads.lines import lines_of
from workloads.models import Preemptibility, Workload
from workloads.secret_checks import missing_secrets

# Grove: PodCliqueSet + scaling group + clique name, so that pod names stay within their limit.
NAME_BUDGET = 45
NON_PREEMPTIBLE_FROM = 100
# What KAI's chart brings, for a cluster whose classes have not been observed.
KAI_PRIORITY_CLASSES: Mapping[str, int] = {
    "train": 50,
    "build-preemptible": 75,
    "build": 100,
    "inference": 125,
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing tested. `field` is a path in the document or a field of the form; `line` is where the document says
    it, from 1."""

    code: str
    status: Literal["bad", "wait", "info", "ok"]
    field: str
    message: str
    allowed: str = ""
    line: int = 0

    @property
    def fault(self) -> Fault:
        """As the error that blocks."""
        return Fault(self.field, self.message, self.allowed, self.line)


@dataclass(frozen=True, slots=True)
class Submission:
    """What is to be tested. `workload` is the row that is edited, None for a new one; `source` is the text; `taken` the
    namespace whose graph of this name it takes over."""

    project: Project
    pool: NodePool
    graph: Graph
    document: Mapping[str, Any]
    workload: Workload | None = None
    source: str = ""
    taken: str = ""

    @property
    def levels(self) -> tuple[str, ...]:
        """Label keys of the pool's topology, broadest first."""
        topology = self.pool.network_topology
        return tuple(topology.levels) if topology else ()


def check_submission(submission: Submission) -> tuple[Check, ...]:
    """Every check, failed or passed, in the order of the form; what is not passed with its line in the source."""
    fields = tuple(_fields(submission))
    checks = (
        *_names(submission),
        *fields,
        *_replicas(submission),
        *_queue(submission),
        *_placement(submission),
        *_sizes(submission),
        *_quota(submission),
        *(() if any(check.code == "Field" for check in fields) else _secrets(submission)),
    )
    return named(checks, submission.source)


def named(checks: Iterable[Check], source: str) -> tuple[Check, ...]:
    """The checks, each that says something with its line in `source`."""
    lines = lines_of(source)
    return tuple(
        check if check.status == "ok" or check.line else replace(check, line=lines.line_of(check.field))
        for check in checks
    )


def as_checks(code: str, faults: Iterable[Fault]) -> tuple[Check, ...]:
    """Faults as checks that block."""
    return tuple(Check(code, "bad", fault.field, fault.message, fault.allowed, fault.line) for fault in faults)


def raise_for(checks: tuple[Check, ...]) -> None:
    """Raise `InvalidInput` with the checks that block, if any."""
    faults = [check.fault for check in checks if check.status == "bad"]
    if faults:
        raise InvalidInput(faults)


def is_non_preemptible(graph: Graph, cluster_id: uuid.UUID) -> bool:
    """KAI's rule: the label says it, else the class's value (≥ 100 is not preemptible)."""
    if graph.wishes.preemptibility:
        return graph.wishes.preemptibility == Preemptibility.NON_PREEMPTIBLE
    value = _priority_classes(cluster_id).get(graph.wishes.priority_class)
    return value is not None and value >= NON_PREEMPTIBLE_FROM


def placement_of(submission: Submission) -> tuple[str, str, str]:
    """Topology, required and preferred level. Where nothing is said and the pool has a topology, its narrowest
    level is preferred, as Run:ai does: a preference never blocks."""
    wishes, topology = submission.graph.wishes, submission.pool.network_topology
    if topology is None:
        return "", "", ""
    if not wishes.required and not wishes.preferred:
        return topology.name, "", topology.levels[-1]
    return topology.name, wishes.required, wishes.preferred


def _names(submission: Submission) -> Iterator[Check]:
    graph = submission.graph
    try:
        check_service_name(graph.name, field="metadata.name")
    except InvalidInput as error:
        fault = error.faults[0]
        yield Check("Name", "bad", fault.field, fault.message, fault.allowed)
        return
    for component in graph.components:
        length = len(graph.name) + len(component.name)
        if component.nodes > 1:  # the scaling group and its `-ldr` / `-wkr` cliques
            length += len(component.name) + 4
        if length > NAME_BUDGET:
            yield Check(
                "NameBudget",
                "bad",
                "metadata.name",
                _("with component %(component)s the names of its pods would take %(length)d characters")
                % {"component": component.name, "length": length},
                _("at most %(limit)d together") % {"limit": NAME_BUDGET},
            )
    cluster_id = submission.project.cluster_id
    if is_name_taken(graph.name, cluster_id, own=submission.workload, taken=submission.taken):
        message = _("a graph of this name exists in the cluster; equal names would merge their gangs")
        yield Check("NameTaken", "bad", "metadata.name", message, _("another name"))


def _fields(submission: Submission) -> Iterator[Check]:
    for fault in check_allowed(submission.document, namespace=submission.project.namespace):
        yield Check("Field", "bad", fault.field, fault.message, fault.allowed)
    wishes = submission.graph.wishes
    if wishes.preemptibility and wishes.preemptibility not in Preemptibility.values:
        message = _("“%(value)s” is not a preemptibility") % {"value": wishes.preemptibility[:63]}
        yield Check("Preemptibility", "bad", "preemptibility", message, ", ".join(Preemptibility.values))
    classes = _priority_classes(submission.project.cluster_id)
    if wishes.priority_class and wishes.priority_class not in classes:
        message = _("there is no priority class “%(name)s” in the cluster") % {"name": wishes.priority_class[:63]}
        yield Check("PriorityClass", "bad", "spec.priorityClassName", message, ", ".join(sorted(classes)))


def _replicas(submission: Submission) -> Iterator[Check]:
    """Roles that have no replicas, beside others or alone. Grove counts them to the gang that starts together all the
    same and refuses multinode ones (grove issue 676, dynamo issue 11837): nothing of such a graph runs."""
    for component in submission.graph.components if wants_grove(submission.document) else ():
        if component.replicas:
            continue
        if component.nodes > 1:
            message = _("Grove refuses a graph of which a multinode component (%(component)s) has 0 replicas")
        else:
            message = _("with 0 replicas of %(component)s nothing starts: its gang waits for that component as well")
        allowed = _("%(least)d or more; suspend the workload to take all its pods away")
        yield Check(
            "NoReplicas",
            "bad",
            f"{component.field}.replicas",
            message % {"component": component.name},
            allowed % {"least": component.min_available or 1},
        )


def _priority_classes(cluster_id: uuid.UUID) -> dict[str, int]:
    rows = ClusterObject.objects.filter(cluster=cluster_id, group="scheduling.k8s.io", plural="priorityclasses")
    observed = {name: int(manifest.get("value", 0)) for name, manifest in rows.values_list("name", "manifest")}
    return observed or dict(KAI_PRIORITY_CLASSES)


def quotas_of(project: Project, pool: NodePool) -> tuple[Quota | None, Quota | None]:
    """The quota of the project and of its department on the pool."""
    rows = Quota.objects.filter(node_pool=pool)
    return rows.filter(project=project).first(), rows.filter(department=project.department_id).first()


def _queue(submission: Submission) -> Iterator[Check]:
    project, pool = submission.project, submission.pool
    own, parent = quotas_of(project, pool)
    asked = submission.graph.wishes.queue
    if own is None:
        message = _("project %(project)s has no quota on node pool %(pool)s, so it has no queue there")
        names = NodePool.objects.filter(quotas__project=project).order_by("name").values_list("name", flat=True)
        values = {"project": project.name, "pool": pool.name}
        yield Check("QueueMissing", "bad", "node_pool", message % values, ", ".join(names))
    elif asked == (parent.queue_name if parent else None) and asked != own.queue_name:
        message = _("queue %(queue)s is the department’s, which is no leaf: nothing runs in it")
        yield Check("QueueNotLeaf", "bad", "queue", message % {"queue": asked}, own.queue_name)
    elif asked and asked != own.queue_name:
        message = _("queue %(queue)s is not the one of project %(project)s on node pool %(pool)s")
        values = {"queue": asked[:63], "project": project.name, "pool": pool.name}
        yield Check("QueueOther", "bad", "queue", message % values, own.queue_name)
    else:
        yield Check("Queue", "ok", "queue", _("Queue %(queue)s takes it.") % {"queue": own.queue_name})


def _placement(submission: Submission) -> Iterator[Check]:
    wishes, pool, levels = submission.graph.wishes, submission.pool, submission.levels
    topology = pool.network_topology
    if not (wishes.required or wishes.preferred or wishes.topology):
        return
    if topology is None:
        message = _("node pool %(pool)s has no network topology, so no placement can be asked for")
        names = NodePool.objects.filter(cluster=pool.cluster_id, network_topology__isnull=False)
        allowed = ", ".join(names.order_by("name").values_list("name", flat=True))
        yield Check("TopologyMissing", "bad", "placement", message % {"pool": pool.name}, allowed)
        return
    if wishes.topology and wishes.topology != topology.name:
        message = _("topology “%(topology)s” is not the one attached to node pool %(pool)s")
        values = {"topology": wishes.topology[:63], "pool": pool.name}
        yield Check("TopologyOther", "bad", "topology", message % values, topology.name)
    for field, level in (("required_level", wishes.required), ("preferred_level", wishes.preferred)):
        if level and level not in levels:
            message = _("“%(level)s” is no level of topology %(topology)s")
            values = {"level": level[:63], "topology": topology.name}
            yield Check("LevelUnknown", "bad", field, message % values, " › ".join(levels))
    known = wishes.required in levels and wishes.preferred in levels
    if known and levels.index(wishes.preferred) < levels.index(wishes.required):
        message = _("the preferred level is broader than the required one and has no effect")
        yield Check("LevelNoEffect", "info", "preferred_level", message)


def _sizes(submission: Submission) -> Iterator[Check]:
    """A pod that no node of the pool could ever hold is impossible, not pending."""
    largest = pool_nodes(submission.pool).aggregate(largest=Max("gpu_capacity"))["largest"]
    if largest is None:
        message = _("no node of pool %(pool)s has been observed, so sizes cannot be checked")
        yield Check("NodesUnknown", "info", "node_pool", message % {"pool": submission.pool.name})
        return
    for component in submission.graph.components:
        if component.gpus_each > largest:
            yield _too_large(component, submission.pool, largest)


def _too_large(component: Component, pool: NodePool, largest: int) -> Check:
    message = _("a pod of %(component)s asks for %(asked)s GPUs; the largest node of pool %(pool)s has %(largest)d")
    values = {"component": component.name, "asked": component.gpus_each, "pool": pool.name, "largest": largest}
    allowed = _("at most %(largest)d per pod; more with multinode") % {"largest": largest}
    return Check("PodTooLarge", "bad", f"{component.field}.resources", message % values, allowed)


def pool_nodes(pool: NodePool) -> Any:
    """The observed nodes that the pool's scheduler shard selects."""
    return Node.objects.filter(cluster=pool.cluster_id, node_pool=pool.shard)


def _quota(submission: Submission) -> Iterator[Check]:
    graph = submission.graph
    non_preemptible = is_non_preemptible(graph, submission.project.cluster_id)
    for quota in quotas_of(submission.project, submission.pool):
        if quota is None:
            continue
        values = {"asked": graph.gang_gpus, "queue": quota.queue_name}
        if quota.gpu_limit != UNLIMITED and graph.gang_gpus > quota.gpu_limit:
            message = _("it starts with %(asked)s GPUs, the limit of queue %(queue)s is %(limit)s: it can never start")
            limit = quota.gpu_limit.normalize()
            yield Check("OverLimit", "bad", "gpus", message % {**values, "limit": f"{limit:f}"}, f"≤ {limit:f}")
        elif non_preemptible and quota.gpu_deserved != UNLIMITED and graph.gang_gpus > quota.gpu_deserved:
            message = _(
                "it is not preemptible and starts with %(asked)s GPUs, queue %(queue)s deserves %(deserved)s:"
                " it can never start"
            )
            deserved = quota.gpu_deserved.normalize()
            yield Check(
                "NonPreemptibleOverQuota", "bad", "gpus", message % {**values, "deserved": f"{deserved:f}"},
                _("preemptible, or at most %(deserved)s") % {"deserved": f"{deserved:f}"},
            )  # fmt: skip
        else:
            yield from _borrowing(quota, graph.gpus)


def _secrets(submission: Submission) -> Iterator[Check]:
    for name, use in missing_secrets(submission.project, submission.document).items():
        values = {"name": name[:63], "project": submission.project.name}
        if use.optional:
            message = _("it reads secret %(name)s if there is one; Muster wrote none into project %(project)s")
        else:
            message = _(
                "it reads secret %(name)s, which Muster did not write into project %(project)s: without it its pods"
                " do not start"
            )
        allowed = _("a secret of the project; a Hugging Face token has the key HF_TOKEN")
        yield Check("SecretMissing", "info" if use.optional else "wait", use.field, message % values, allowed)


def _borrowing(quota: Quota, asked: Decimal) -> Iterator[Check]:
    held = (quota.usage.get("allocated") or {}).get("gpu")
    if held is None or quota.gpu_deserved == UNLIMITED:
        return
    over = Decimal(str(held)) + asked - quota.gpu_deserved
    if over > 0:
        message = _("%(over)s GPUs would be over what queue %(queue)s deserves: borrowed, and others may reclaim them")
        values = {"over": f"{over.normalize():f}", "queue": quota.queue_name}
        yield Check("OverDeserved", "info", "gpus", message % values)
