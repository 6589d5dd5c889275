"""Taking over what others made in a cluster, and giving it back, over the packages that know what it becomes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.audit import Actor
from clusters.adopting import Candidate
from clusters.kinds import KAI_QUEUE, KAI_TOPOLOGY
from clusters.models import Adoption, Cluster
from core.errors import MusterError
from core.models import DesiredState
from organizations import adopt as queues
from organizations.models import Department, Project
from organizations.services import delete_department, delete_project
from topology import adopt as topologies
from topology.models import NetworkTopology
from topology.services import delete_topology

KRM_GROUP = "kai.resources"
ADOPTERS: dict[str, Any] = {KAI_TOPOLOGY.plural: topologies, KAI_QUEUE.plural: queues}


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
    """Those of the candidates with these uids."""
    wanted = set(uids)
    return [candidate for candidate in candidates_of(cluster) if candidate.key in wanted] if wanted else []


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
            yield Done(found.uid, found.name, error=error.message)
        else:
            yield Done(found.uid, found.name, row)


def adoptions_of(cluster: Cluster) -> list[tuple[Adoption, DesiredState | None]]:
    """What was taken over there, with the row that it belongs to."""
    return [
        (adoption, row_of(adoption)) for adoption in Adoption.objects.filter(cluster=cluster).order_by("kind", "name")
    ]


def row_of(adoption: Adoption) -> DesiredState | None:
    """The row that took the object over; None where it is gone."""
    label, _dot, pk = adoption.owner.rpartition(".")
    row: DesiredState | None = apps.get_model(label)._default_manager.filter(pk=pk).first()
    return row


@transaction.atomic
def release(actor: Actor, adoption: Adoption) -> DesiredState | None:
    """Give the object back as it was, and delete the row: what Muster made besides goes. Raises as the deletion of the
    row does, `Conflict` naming what stands on it."""
    row = row_of(adoption)
    if isinstance(row, NetworkTopology):
        delete_topology(actor, topology=row)
    elif isinstance(row, Department):
        delete_department(actor, department=row)
    elif isinstance(row, Project):
        delete_project(actor, project=row)
    Adoption.objects.filter(owner=adoption.owner).update(release_requested_at=timezone.now())
    return row


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
