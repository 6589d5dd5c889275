"""Removing a cluster from Muster while things are defined on it: what leaving and cleaning mean, and doing either.

Leaving forgets the rows and touches nothing in the cluster. Cleaning deletes what Muster made there, gives back what it
took over, and forgets the cluster when all is gone.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.audit_changes import told
from clusters.models import Adoption, Cluster, ClusterObject, Removal
from clusters.removal_impact import ending_workloads
from clusters.watcher.observed import OBSERVED
from core.conditions import Condition
from core.desired import request_deletion
from core.models import DesiredState
from core.reconciling import Outcome

SOON = timedelta(seconds=2)
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Meaning:
    """One sentence of what a removal does; `harmless`: it takes nothing away."""

    text: str
    harmless: bool = False


def meanings(cluster: Cluster, how: str) -> list[Meaning]:
    """What removing the cluster in this way means, from what is known of it."""
    taken = Adoption.objects.filter(cluster=cluster)
    adopted = taken.count()
    given_back = [] if how == Removal.LEAVE else list(taken.values_list("uid", flat=True))
    counted = ", ".join(f"{kind} ({count})" for kind, count in _objects(cluster, given_back))
    rows = sum(int(_rows(model, cluster).count()) for model in _models())
    forgotten = ngettext(
        "%(n)d definition of Muster is forgotten.", "%(n)d definitions of Muster are forgotten.", rows
    ) % {"n": rows}
    if how == Removal.LEAVE:
        stays = _("What Muster made stays in the cluster as it is, with Muster’s labels: %(objects)s.")
        return [
            Meaning(stays % {"objects": counted or _("nothing")}, harmless=True),
            Meaning(_("What runs goes on running; nobody repairs or diagnoses it any more."), harmless=True),
            Meaning(forgotten),
        ]
    found = [
        Meaning(_("Deleted in the cluster: %(objects)s.") % {"objects": counted or _("nothing")}),
        Meaning(_("Workloads end; namespaces that Muster made go with all that is in them.")),
        *(Meaning(said) for said in (told("impact", ending_workloads(cluster)),) if said),
        Meaning(_("Nodes lose the labels of Muster’s node pools."), harmless=True),
        Meaning(forgotten),
    ]
    if adopted:
        text = ngettext(
            "%(n)d object that was taken over is given back as it was.",
            "%(n)d objects that were taken over are given back as they were.",
            adopted,
        )
        found.insert(1, Meaning(text % {"n": adopted}, harmless=True))
    return found


def _objects(cluster: Cluster, given_back: Collection[str]) -> Iterator[tuple[str, int]]:
    """Kinds of what Muster made there and how many, as the watcher saw it; secrets are not watched. `given_back`: the
    uids of what does not count."""
    made = ClusterObject.objects.filter(cluster=cluster).exclude(owner="").exclude(uid__in=given_back)
    rows = made.values_list("plural")
    names = {observed.name: observed.versions[0].kind for observed in OBSERVED}
    for plural, count in rows.annotate(n=models.Count("pk")).order_by("plural"):
        yield names.get(plural, plural), count


def clean(cluster: Cluster) -> None:
    """Ask for the deletion of all that is defined on the cluster. Call inside a transaction."""
    Adoption.objects.filter(cluster=cluster).update(release_requested_at=timezone.now())
    for model in _models():
        for row in _rows(model, cluster).order_by("pk"):
            request_deletion(row)


def removed(cluster: Cluster) -> Outcome:
    """What has become of a cluster that is to go: gone, or what it waits for."""
    if cluster.removal == Removal.LEAVE:
        _forget(cluster)
    rows = (row for model in _models() for row in _rows(model, cluster).order_by("pk")[:MOST_NAMED])
    left = ", ".join(f"{row._meta.verbose_name} {row}" for row in islice(rows, MOST_NAMED))
    if not left or not cluster.removal:
        return Outcome(gone=True)
    message = f"Waiting for {left} to leave the cluster."
    waiting = Condition("Synced", "False", "Deleting", message, arguments=(("objects", left),))
    return Outcome("Deleting", (waiting,), check_again_after=SOON)


def _forget(cluster: Cluster) -> None:
    """Delete the rows alone, those that others stand on last."""
    with transaction.atomic():
        waiting = _models()
        while waiting:
            later = [model for model in waiting if not _deleted(model, cluster)]
            if len(later) == len(waiting):
                break  # something new was defined meanwhile: the next look finds it
            waiting = later


def _deleted(model: type[DesiredState], cluster: Cluster) -> bool:
    try:
        with transaction.atomic():
            _rows(model, cluster).delete()
    except models.ProtectedError:
        return False
    return True


def _rows(model: type[DesiredState], cluster: Cluster) -> Any:
    manager: Any = model._default_manager
    return manager.filter(cluster=cluster)


def is_leaving(cluster: Cluster) -> bool:
    """Whether the cluster is to go: nothing is to be made there any more. Asks anew: a watcher's row is old."""
    return not Cluster.objects.filter(pk=cluster.pk, deletion_requested_at=None).exists()


def is_used(cluster: Cluster) -> bool:
    """Whether Muster made anything in the cluster that is still there."""
    return ClusterObject.objects.filter(cluster=cluster).exclude(owner="").exists()


def _models() -> list[type[DesiredState]]:
    """The kinds of row that are defined on clusters."""
    related = (relation.related_model for relation in Cluster._meta.related_objects)
    return [model for model in related if isinstance(model, type) and issubclass(model, DesiredState)]
