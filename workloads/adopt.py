"""Graphs that others made in a cluster, as workloads of Muster: which can be taken over, and doing it.

A workload lies in a project, so a graph can be taken over where a project uses its namespace. Nothing moves: its queue
must be the project's already, or none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.audit import Actor, record
from clusters.adopting import Candidate, as_given, keeper_of, note_adoption
from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, Kind
from clusters.models import Cluster, ClusterObject
from core.errors import Fault, InvalidInput
from organizations.models import Project
from workloads import document as documents
from workloads.allowlist import check_allowed
from workloads.checks import Submission, check_submission, raise_for
from workloads.graph import parse_graph
from workloads.models import Workload
from workloads.reconcile.preview import submission_manifest
from workloads.services import read_draft, submit_workload

# What kubectl keeps of a former apply says nothing that the graph does not.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class _Known:
    """What graphs are held against: projects by namespace, how many graphs and workloads have a name."""

    projects: Mapping[str, Project]
    names: Counter[str]


def candidates(cluster: Cluster) -> Iterator[Candidate]:
    """Graphs of others, by namespace and name, as far as one look at all of them tells. 3 queries."""
    kind = DYNAMO_GRAPH_DEPLOYMENT
    graphs = ClusterObject.objects.filter(cluster=cluster, group=kind.group, plural=kind.plural, owner="")
    projects = Project.objects.filter(cluster=cluster, deletion_requested_at=None).select_related("cluster")
    of_others = list(graphs.select_related("cluster").order_by("namespace", "name"))
    names = [found.name for found in of_others]
    names += Workload.objects.filter(cluster=cluster).values_list("name", flat=True)
    known = _Known({project.namespace: project for project in projects}, Counter(names))
    for found in of_others:
        yield Candidate(found, _kind_of(found), _("Workload"), found.name, blocked=_blocked(found, known))


def examined(candidate: Candidate) -> Candidate:
    """The candidate with what would be written, or with what else is in the way: all that is tested of a new
    workload, some 15 queries."""
    if candidate.blocked:
        return candidate
    try:
        submission = _submission(candidate.found)
        raise_for(check_submission(submission))
        wanted = submission_manifest(submission)
    except InvalidInput as error:
        return replace(candidate, blocked=_sentence(error.faults[0]))
    return replace(candidate, wanted=wanted, effects=tuple(_effects(submission)))


def adopt(actor: Actor, candidate: Candidate) -> Workload:
    """The workload that the graph becomes. Raises as `submit_workload`."""
    found = candidate.found
    with transaction.atomic():
        workload = submit_workload(
            actor, project=_project(found), source=documents.dump(document_of(found)), taken=found.namespace
        )
        note_adoption(workload, found.cluster, [candidate], by=actor.user.email)
        record(actor, "update", workload, after={"adopted": [str(found)]})
    return workload


def document_of(found: ClusterObject) -> dict[str, Any]:
    """The graph as somebody would submit it."""
    given = as_given(_kind_of(found), found.manifest)
    metadata = given["metadata"]
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != _LAST_APPLIED}
    kept = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**given, "metadata": {**kept, **({"annotations": annotations} if annotations else {})}}


def _kind_of(found: ClusterObject) -> Kind:
    """In the version in which it was read."""
    version = str(found.manifest.get("apiVersion", "")).rpartition("/")[2]
    return replace(DYNAMO_GRAPH_DEPLOYMENT, version=version or DYNAMO_GRAPH_DEPLOYMENT.version)


def _project(found: ClusterObject) -> Project:
    """Raises `InvalidInput` where no project has its namespace."""
    project = Project.objects.filter(
        cluster=found.cluster_id, namespace=found.namespace, deletion_requested_at=None
    ).first()
    if project is None:
        raise InvalidInput.of("project", _without_project(found))
    return project


def _submission(found: ClusterObject) -> Submission:
    source = documents.dump(document_of(found))
    return read_draft(project=_project(found), source=source, taken=found.namespace).submission


def _blocked(found: ClusterObject, known: _Known) -> str:
    keeper = keeper_of(found.manifest)
    if keeper:
        return _("It is kept by %(keeper)s, which would take it back.") % {"keeper": keeper}
    if found.manifest["metadata"].get("deletionTimestamp"):
        return _("It is being deleted.")
    if known.names[found.name] > 1:
        return _("Another graph of this name is in the cluster; names are unique in the whole cluster.")
    if found.namespace not in known.projects:
        return f"{_without_project(found)}."
    try:
        document = documents.check(document_of(found))
        faults = check_allowed(document, namespace=found.namespace)
        parse_graph(document)
    except InvalidInput as error:
        faults = tuple(error.faults)
    return _sentence(faults[0]) if faults else ""


def _without_project(found: ClusterObject) -> str:
    said = _(
        "No project uses namespace %(namespace)s: make one with “use the existing namespace”, or take over the queue "
        "in which its pods are"
    )
    return said % {"namespace": found.namespace}


def _sentence(fault: Fault) -> str:
    """What is wrong, after the field that it is about."""
    allowed = f" ({fault.allowed})" if fault.allowed else ""
    return f"{fault.field}: {fault.message}{allowed}."


def _effects(submission: Submission) -> Iterator[str]:
    values = {"project": submission.project.name, "pool": submission.pool.name}
    yield _("It belongs to project %(project)s then, on node pool %(pool)s.") % values
    if not submission.graph.wishes.queue:
        yield _("It names no queue now; it gets the project’s.")
    yield _("Its pods get labels of Muster: Dynamo’s operator may make them anew for that.")
