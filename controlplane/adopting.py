"""Taking over what others made in a cluster, and giving it back, over the packages that know what it becomes."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import transaction
from django.db.models import Case, QuerySet, Value, When
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.audit import Actor, record_refusal
from clusters.adopting import Candidate, qualified
from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, KAI_QUEUE, KAI_TOPOLOGY
from clusters.models import Adoption, Cluster, ClusterObject
from clusters.names import owner_label_value
from core.errors import Conflict, MusterError
from core.models import DesiredState
from organizations import adopt as queues
from organizations.models import Department, Project
from organizations.services import delete_department, delete_project
from topology import adopt as topologies
from topology.models import NetworkTopology
from topology.services import delete_topology
from workloads import adopt as graphs
from workloads.models import DesiredPhase, Workload
from workloads.services import delete_workload

KRM_GROUP = "kai.resources"
ADOPTERS: dict[str, Any] = {
    KAI_TOPOLOGY.plural: topologies,
    KAI_QUEUE.plural: queues,
    DYNAMO_GRAPH_DEPLOYMENT.plural: graphs,
}
# What is tested of a candidate only when it is chosen, because it costs queries of its own.
EXAMINED = {DYNAMO_GRAPH_DEPLOYMENT.plural: graphs.examined}


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one object: the row that it belongs to now, or why not."""

    uid: str
    name: str
    row: DesiredState | None = None
    error: str = ""


def candidates_of(cluster: Cluster) -> list[Candidate]:
    """What others made there and Muster has a counterpart of; parents before what is below them."""
    return [candidate for adopter in ADOPTERS.values() for candidate in adopter.candidates(cluster)]


def chosen(cluster: Cluster, uids: Iterable[str]) -> list[Candidate]:
    """Those of the candidates with these uids, each looked at in full."""
    wanted = set(uids)
    found = [candidate for candidate in candidates_of(cluster) if candidate.pk in wanted] if wanted else []
    return [EXAMINED.get(one.kind.plural, _as_it_is)(one) for one in found]


def _as_it_is(candidate: Candidate) -> Candidate:
    return candidate


def adopt(actor: Actor, candidates: Sequence[Candidate]) -> list[Done]:
    """Take the objects over, one after the other; one that cannot be is told and stops no other."""
    return list(_adopting(actor, candidates))


def _adopting(actor: Actor, candidates: Sequence[Candidate]) -> Iterator[Done]:
    for candidate in candidates:
        found = candidate.found
        if candidate.blocked:
            yield Done(found.uid, found.name, error=candidate.blocked)
            continue
        try:
            with transaction.atomic():
                row = ADOPTERS[candidate.kind.plural].adopt(actor, candidate)
        except MusterError as error:
            record_refusal(actor, "create", error, found)
            yield Done(found.uid, found.name, error=error.message)
        else:
            yield Done(found.uid, found.name, row)


def objects_of(candidates: Collection[Candidate]) -> "QuerySet[ClusterObject]":
    """Their objects, for a list to filter and sort; `state` is `free`, or `blocked` where something is in the way."""
    free = [candidate.found.pk for candidate in candidates if not candidate.blocked]
    rows = ClusterObject.objects.filter(pk__in=[candidate.found.pk for candidate in candidates])
    return rows.annotate(state=Case(When(pk__in=free, then=Value("free")), default=Value("blocked")))


def adoptions_of(cluster: Cluster) -> "QuerySet[Adoption]":
    """What was taken over there, by kind and name; `state` is `Adopting`, `Adopted` or `Releasing`."""
    state = Case(
        When(release_requested_at__isnull=False, then=Value("Releasing")),
        When(taken_at__isnull=False, then=Value("Adopted")),
        default=Value("Adopting"),
    )
    return Adoption.objects.filter(cluster=cluster).annotate(state=state).order_by("kind", "name")


@dataclass(frozen=True, slots=True)
class Taken:
    """An object that was taken over, and the row that it belongs to; None: that one is gone."""

    adoption: Adoption
    row: DesiredState | None

    @property
    def pk(self) -> int:
        """The adoption's."""
        return self.adoption.pk

    @property
    def label(self) -> str:
        """The object's name, after its namespace where it has one."""
        return qualified(self.adoption.namespace, self.adoption.name)


def with_rows(adoptions: Sequence[Adoption]) -> list[Taken]:
    """The adoptions with their rows: one query a kind of row."""
    keys: dict[str, set[str]] = {}
    for adoption in adoptions:
        label, _dot, pk = adoption.owner.rpartition(".")
        keys.setdefault(label, set()).add(pk)
    rows = {label: apps.get_model(label)._default_manager.in_bulk(pks) for label, pks in keys.items()}
    found = {f"{label}.{pk}": row for label, of in rows.items() for pk, row in of.items()}
    return [Taken(adoption, found.get(adoption.owner)) for adoption in adoptions]


def goes_with(row: DesiredState | None) -> list[str]:
    """What happens in the cluster when the objects of a row are given back: what Muster made besides them goes."""
    if isinstance(row, Workload):
        return [_("Its pods lose the labels of Muster: Dynamo’s operator may make them anew for that.")]
    if not isinstance(row, Department | Project):
        return []
    taken = Adoption.objects.filter(owner=owner_label_value(row._meta.label, row.pk)).values("name")
    queues = row.quotas.exclude(queue_name__in=taken).order_by("queue_name").values_list("queue_name", flat=True)
    found = [_("Queue %(name)s is deleted.") % {"name": queue} for queue in queues]
    if isinstance(row, Project) and not row.adopts_namespace:
        found.append(_("Namespace %(name)s is deleted with all that is in it.") % {"name": row.namespace})
    return found


@transaction.atomic
def release(actor: Actor, adoption: Adoption) -> DesiredState | None:
    """Give the object back as it was, and delete the row: what Muster made besides goes. Raises as the deletion of the
    row does, `Conflict` naming what stands on it."""
    (row,) = (taken.row for taken in with_rows([adoption]))
    if isinstance(row, NetworkTopology):
        delete_topology(actor, topology=row)
    elif isinstance(row, Department):
        delete_department(actor, department=row)
    elif isinstance(row, Project):
        delete_project(actor, project=row)
    elif isinstance(row, Workload):
        _check_there(row)
        delete_workload(actor, workload=row)
    Adoption.objects.filter(owner=adoption.owner).update(release_requested_at=timezone.now())
    return row


def _check_there(workload: Workload) -> None:
    """Raises `Conflict` where there is no graph that could be given back."""
    if workload.desired_phase == DesiredPhase.STOPPED:
        message = _(
            "Workload %(name)s is suspended, so its graph is not in the cluster: resume it first, or delete it."
        )
        raise Conflict(message % {"name": workload.name}, objects=[workload.name])


def kept_by_krm(cluster: Cluster) -> str:
    """What to say of a cluster where KRM's kinds are installed; empty where they are not."""
    served = cluster.served.get(KRM_GROUP, {})
    kinds = [kind for kind in ("projects", "departments", "nodepools") if kind in served]
    if not kinds:
        return ""
    return _(
        "KRM is installed here (%(kinds)s of kai.resources). What its objects keep, queues, shards and topologies, is "
        "listed and left to it."
    ) % {"kinds": ", ".join(kinds)}
