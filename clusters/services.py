"""Registers, changes and removes clusters. Writes spec only; `reconcile` finds out how they are."""

from contextlib import AbstractContextManager
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.audit import SECRET, Actor, record
from accounts.permissions import Scope, require
from accounts.services.taking import unless_taken
from clusters.credentials import encrypt
from clusters.kubeconfig import ClusterAccess
from clusters.models import Cluster, Removal
from clusters.names import DEFAULT_NODE_POOL, is_rfc1123_label
from clusters.removal import clean
from clusters.removal_impact import ending_workloads
from core.desired import change_spec, hold, request_deletion
from core.errors import Blocker, Conflict, InvalidInput
from core.hints import hint_reconcile
from core.models import DesiredState

_WAYS = ", ".join(Removal.values)


@transaction.atomic
def register_cluster(actor: Actor, *, name: str, access: ClusterAccess) -> Cluster:
    """Note a cluster to connect to; it is `WaitingToConnect` until it answers."""
    require(actor.user, "cluster:create", Scope())
    check_name(name)
    with _unless_taken(name):
        cluster = Cluster.objects.create(name=name, phase="WaitingToConnect", **_columns(access))
    record(actor, "create", cluster, after={"name": name, "server": access.server, "credential": SECRET})
    hint_reconcile(cluster)
    return cluster


@transaction.atomic
def rename_cluster(actor: Actor, cluster: Cluster, *, name: str) -> Cluster:
    """Call it something else from now on; its id stays."""
    require(actor.user, "cluster:update", cluster.scope)
    check_name(name)
    before = {"name": cluster.name}
    with _unless_taken(name):
        changed = change_spec(cluster, {"name": name})
    record(actor, "update", changed, before=before, after={"name": name})
    return changed


@transaction.atomic
def update_credential(actor: Actor, cluster: Cluster, *, access: ClusterAccess) -> Cluster:
    """Connect with another server address, CA or credential from now on."""
    require(actor.user, "cluster:update", cluster.scope)
    before = {"server": cluster.server, "credential": SECRET}
    changed = change_spec(cluster, _columns(access))
    record(actor, "update", changed, before=before, after={"server": access.server, "credential": SECRET})
    return changed


@transaction.atomic
def remove_cluster(actor: Actor, cluster: Cluster, *, how: str = "") -> Cluster:
    """Forget a cluster. Refused with `Conflict` while anything is defined on it, unless `how` says what is to become of
    that (`Removal`; see `clusters.removal`). Raises `InvalidInput` for another `how`."""
    require(actor.user, "cluster:delete", cluster.scope)
    if how and how not in Removal.values:
        raise InvalidInput.of("objects", _("“%(how)s” is no way to remove a cluster") % {"how": how[:20]}, _WAYS)
    hold(cluster)
    blockers = [] if how else removal_blockers(cluster)
    if blockers:
        raise Conflict(
            _("%(name)s is in use. Delete what is defined on it first, or choose what becomes of it.")
            % {"name": cluster.name},
            objects=[f"{blocker.kind} {blocker.name}" for blocker in blockers],
        )
    told: dict[str, Any] = {"objects": how or "none"}
    if how == Removal.CLEAN:
        told["impact"] = ending_workloads(cluster)
        clean(cluster)
    if how:
        cluster = change_spec(cluster, {"removal": how})
    removed = request_deletion(cluster)
    record(
        actor,
        "delete",
        removed,
        before={"name": cluster.name, "server": cluster.server},
        after=told,
    )
    return removed


def removal_blockers(cluster: Cluster) -> list[Blocker]:
    """What is defined on the cluster, but for the default node pool and department that every cluster has."""
    blockers = []
    for relation in Cluster._meta.related_objects:
        model = relation.related_model
        if isinstance(model, type) and issubclass(model, DesiredState):
            rows = model._default_manager.filter(**{relation.field.name: cluster}).order_by("pk")
            kind = str(model._meta.verbose_name)
            blockers += [Blocker(kind, str(row)) for row in rows[:50] if str(row) != DEFAULT_NODE_POOL]
    return blockers


def check_name(name: str) -> str:
    """The name of a cluster, or `InvalidInput`."""
    if not is_rfc1123_label(name):
        raise InvalidInput.of(
            "name",
            _("“%(name)s” cannot be the name of a cluster") % {"name": name[:80]},
            _("1 to 63 lower-case letters, digits and “-”"),
        )
    return name


def _unless_taken(name: str) -> AbstractContextManager[None]:
    return unless_taken(_("A cluster named %(name)s is registered already.") % {"name": name})


def _columns(access: ClusterAccess) -> dict[str, Any]:
    return {
        "server": access.server,
        "certificate_authority": access.certificate_authority,
        "credential": encrypt(access.credential),
    }
