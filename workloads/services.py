"""Writes what is wanted of workloads: submit, edit, scale, suspend, resume, delete. Status is not touched here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts import audit
from accounts.audit import Actor
from accounts.permissions import require
from clusters.holding import cluster_leaves, hold_cluster
from core.desired import change_spec, hold
from core.desired import request_deletion as request_row_deletion
from core.errors import Conflict, Fault, InvalidInput
from core.hints import hint_reconcile, hint_task
from organizations.models import Project
from topology.models import NodePool
from workloads import document as documents
from workloads.checks import Submission, check_submission, is_non_preemptible, placement_of, raise_for
from workloads.graph import Graph, component_path, parse_graph
from workloads.lines import with_lines
from workloads.models import DesiredPhase, Preemptibility, Workload
from workloads.reconcile.preview import submission_manifest

PREDICT_TASK = "workloads.predict"


@dataclass(frozen=True, slots=True)
class Draft:
    """A document read and joined with its project and pool, ready to be checked."""

    source: str
    submission: Submission


def read_draft(
    *,
    project: Project,
    source: str,
    node_pool: NodePool | None = None,
    workload: Workload | None = None,
    taken: str = "",
) -> Draft:
    """Parse `source` and find its node pool: the one given, else the one that the document names, else `default`.
    `taken` is the namespace whose graph of this name it takes over.

    Raises `InvalidInput`, each fault with its line, for what cannot be read at all, so that nothing else is checked.
    """
    document = documents.load(source)
    try:
        graph = parse_graph(document)
        pool = _pool_of(project, graph, node_pool, workload)
    except InvalidInput as error:
        raise with_lines(error, source) from error
    return Draft(source, Submission(project, pool, graph, document, workload, source, taken))


@transaction.atomic
def submit_workload(
    actor: Actor,
    *,
    project: Project,
    source: str,
    node_pool: NodePool | None = None,
    stopped: bool = False,
    taken: str = "",
) -> Workload:
    """Accept a workload; the cluster follows. `taken`: see `read_draft`; nothing starts then.

    Raises `InvalidInput` with every check that blocks, `Conflict` for a name that is taken in the cluster,
    `NotPermitted`."""
    require(actor.user, "workloads:create", project.scope)
    if project.is_being_deleted:
        raise _project_leaves(project)
    draft = read_draft(project=project, source=source, node_pool=node_pool, taken=taken)
    _check(draft.submission)
    workload = Workload(
        project=project,
        cluster_id=project.cluster_id,
        name=draft.submission.graph.name,
        desired_phase=DesiredPhase.STOPPED if stopped else DesiredPhase.RUNNING,
        submitted_by=actor.user.email,
        submitted_through=actor.source,
        **_columns(draft),
    )
    hold_cluster(project.cluster)
    if not hold(project):  # after the checks, which take a while: who else submits need not wait for them
        raise _project_leaves(project)
    _hold_pool(workload.node_pool)
    try:
        with transaction.atomic():
            workload.save(force_insert=True)
    except IntegrityError as error:
        raise _name_taken(workload.name) from error
    audit.record(actor, "create", workload, after=_audited(workload))
    if not taken:
        hint_task(PREDICT_TASK, workload.pk)
    hint_reconcile(workload)
    return workload


@transaction.atomic
def update_workload(
    actor: Actor, *, workload: Workload, source: str, expected_generation: int | None = None
) -> Workload:
    """Replace the document. While it runs, what the operator holds immutable must stay; suspended, only the name.
    Writes nothing where nothing differs.

    Raises `InvalidInput`, `NotPermitted`, `Stale`, `Conflict` (being deleted).
    """
    _require_change(actor, workload)
    draft = read_draft(project=workload.project, source=source, workload=workload)
    faults = immutable_changes(workload, draft)
    if faults:
        raise with_lines(InvalidInput(faults), source)
    _check(draft.submission)
    if draft.submission.pool.pk != workload.node_pool_id:
        _hold_pool(draft.submission.pool)
    before, columns = _audited(workload), _columns(draft)
    if all(getattr(workload, name) == value for name, value in columns.items()):
        return workload
    change_spec(workload, columns, expected_generation=expected_generation)
    audit.record(actor, "update", workload, before=before, after=_audited(workload))
    return workload


@transaction.atomic
def scale_workload(actor: Actor, *, workload: Workload, component: str, replicas: int) -> Workload:
    """Set the replicas of one component, comments of the document kept. Raises as `update_workload`."""
    _require_change(actor, workload)
    path = component_path(workload.manifest, component)
    graph = parse_graph(workload.manifest)
    found = next(c for c in graph.components if c.name == component)
    if found.has_adapter:
        message = _("an autoscaler owns the replicas of %(component)s through its scaling adapter")
        raise InvalidInput.of(f"{found.field}.replicas", message % {"component": component})
    source = documents.edit(workload.source, {(*path, "replicas"): replicas})
    return update_workload(actor, workload=workload, source=source)


@transaction.atomic
def suspend_workload(actor: Actor, *, workload: Workload) -> Workload:
    """Take its pods away and keep its definition. Does nothing where it is suspended already."""
    return _set_desired_phase(actor, workload, DesiredPhase.STOPPED, "suspend")


@transaction.atomic
def resume_workload(actor: Actor, *, workload: Workload) -> Workload:
    """Start a suspended workload again, in the topology that its pool has now. Raises `InvalidInput` where what was
    possible when it was submitted is not any more."""
    _require_change(actor, workload)
    if workload.desired_phase == DesiredPhase.RUNNING:
        return workload
    draft = read_draft(project=workload.project, source=workload.source, workload=workload)
    _check(draft.submission)
    hint_task(PREDICT_TASK, workload.pk)
    return _set_desired_phase(actor, workload, DesiredPhase.RUNNING, "resume", _columns(draft))


@transaction.atomic
def delete_workload(actor: Actor, *, workload: Workload) -> Workload:
    """Ask for its deletion; the row goes when its pods are gone. Does nothing where it was asked for before."""
    require(actor.user, "workloads:delete", workload.scope)
    if not workload.is_being_deleted:
        request_row_deletion(workload)
        audit.record(actor, "delete", workload)
    return workload


def clone_source(workload: Workload, name: str) -> str:
    """Its document under another name, comments kept."""
    return documents.edit(workload.source, {("metadata", "name"): name})


def immutable_changes(workload: Workload, draft: Draft) -> list[Fault]:
    """What may not change: the name ever, and while it is not suspended what the Dynamo operator refuses and what
    would not move running pods."""
    old, new = parse_graph(workload.manifest), draft.submission.graph
    if new.name != workload.name:
        return [Fault("metadata.name", _("a workload keeps its name; clone it"), workload.name)]
    if workload.desired_phase == DesiredPhase.STOPPED and workload.phase == "Stopped":
        return []
    faults = _changed_components(old, new)
    if old.framework != new.framework:
        faults.append(_immutable("spec.backendFramework", old.framework))
    if draft.submission.pool.pk != workload.node_pool_id:
        faults.append(_immutable("node_pool", workload.node_pool.name))
    wanted = placement_of(draft.submission)
    stored = (workload.topology_name, workload.required_level, workload.preferred_level)
    for field, before, after in zip(("topology", "required_level", "preferred_level"), stored, wanted, strict=True):
        if before != after:
            faults.append(_immutable(field, before))
    return faults


def _changed_components(old: Graph, new: Graph) -> list[Fault]:
    before = {component.name: component for component in old.components}
    after = {component.name: component for component in new.components}
    listed = "spec.components" if "beta" in new.api_version else "spec.services"
    if before.keys() != after.keys():
        return [_immutable(listed, ", ".join(before))]
    faults = []
    for name, component in after.items():
        was = before[name]
        for field, a, b in (
            ("type", was.type, component.type),
            ("subComponentType", was.subtype, component.subtype),
            ("minAvailable", was.min_available, component.min_available),
            ("multinode.nodeCount", was.nodes, component.nodes),
        ):
            if a != b:
                faults.append(_immutable(f"{component.field}.{field}", str(a)))
    return faults


def _immutable(field: str, value: str) -> Fault:
    return Fault(field, _("it cannot change while the workload runs; suspend it first, or clone it"), value)


def _check(submission: Submission) -> None:
    checks = check_submission(submission)
    if any(check.code == "NameTaken" for check in checks) and submission.workload is None:
        raise _name_taken(submission.graph.name)
    raise_for(checks)
    try:
        submission_manifest(submission)
    except InvalidInput as error:  # the version that the cluster serves lacks a field
        raise with_lines(error, submission.source) from error


def _name_taken(name: str) -> Conflict:
    message = _("A workload or graph named %(name)s exists in this cluster; names are unique in the whole cluster.")
    return Conflict(message % {"name": name}, objects=[name])


def _pool_of(project: Project, graph: Graph, given: NodePool | None, workload: Workload | None) -> NodePool:
    pools = NodePool.objects.filter(cluster=project.cluster_id).select_related("network_topology")
    asked = graph.wishes.node_pool
    if given is not None and asked and asked != given.name:
        message = _("the document asks for node pool %(asked)s, the form for %(given)s")
        raise InvalidInput.of("node_pool", message % {"asked": asked[:63], "given": given.name}, given.name)
    if given is not None:
        return given
    if asked:
        pool = pools.filter(name=asked).first()
    else:  # a pool that was chosen beside the document, when it was submitted, stays
        pool = (pools.filter(pk=workload.node_pool_id) if workload else pools.filter(label_key="")).first()
    if pool is None:
        message = _("there is no node pool “%(name)s”") % {"name": asked[:63] or "default"}
        raise InvalidInput.of("node_pool", message, ", ".join(pools.order_by("name").values_list("name", flat=True)))
    return pool


def _project_leaves(project: Project) -> Conflict:
    return Conflict(_("Project %(name)s is being deleted.") % {"name": project.name}, objects=[project.name])


def _hold_pool(pool: NodePool) -> None:
    """Keep it until the workload that is to use it is stored. The default pool stays for ever."""
    if not pool.is_default and not hold(pool):
        raise Conflict(_("Node pool %(name)s is being deleted.") % {"name": pool.name}, objects=[pool.name])


def _columns(draft: Draft) -> dict[str, Any]:
    """The spec columns that follow from a document."""
    submission = draft.submission
    graph = submission.graph
    topology, required, preferred = placement_of(submission)
    fixed = is_non_preemptible(graph, submission.project.cluster_id)
    return {
        "node_pool": submission.pool,
        "source": draft.source,
        "manifest": dict(submission.document),
        "priority_class": graph.wishes.priority_class,
        "preemptibility": Preemptibility.NON_PREEMPTIBLE if fixed else Preemptibility.PREEMPTIBLE,
        "topology_name": topology,
        "required_level": required,
        "preferred_level": preferred,
        "backend": graph.framework,
        "disaggregated": graph.is_disaggregated,
        "gpus_requested": graph.gpus,
    }


def _require_change(actor: Actor, workload: Workload) -> None:
    require(actor.user, "workloads:update", workload.scope)
    if workload.is_being_deleted:
        raise Conflict(_("Workload %(name)s is being deleted.") % {"name": workload.name}, objects=[workload.name])
    if workload.cluster.is_being_deleted:
        raise cluster_leaves(workload.cluster)


def _set_desired_phase(
    actor: Actor, workload: Workload, phase: DesiredPhase, action: str, spec: Mapping[str, Any] | None = None
) -> Workload:
    _require_change(actor, workload)
    if workload.desired_phase != phase:
        before = workload.desired_phase
        change_spec(workload, {"desired_phase": phase, **(spec or {})})
        audit.record(actor, action, workload, before={"desired_phase": before}, after={"desired_phase": phase})
    return workload


def _audited(workload: Workload) -> Mapping[str, Any]:
    return {
        "source": workload.source,
        "node_pool": workload.node_pool.name,
        "topology_name": workload.topology_name,
        "required_level": workload.required_level,
        "preferred_level": workload.preferred_level,
        "priority_class": workload.priority_class,
        "preemptibility": str(workload.preemptibility),
        "desired_phase": str(workload.desired_phase),
    }
