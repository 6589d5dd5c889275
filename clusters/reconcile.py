"""Keeps a cluster's row true: whether it answers, what it serves, and how the components on it do. Writes nothing
into the cluster but whose it is."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from clusters.claim import OtherMuster, look_for_others
from clusters.components import BY_KEY, Found, find_components, unknown_components, with_since
from clusters.connections import gateway_for
from clusters.kinds import DAEMON_SET, DEPLOYMENT, STATEFUL_SET, Kind
from clusters.kube.errors import Forbidden, GatewayError, NotServed, Unauthorized
from clusters.kube.gateway import Gateway, Manifest
from clusters.models import Cluster
from clusters.rbac import NAMESPACE, missing_permissions, without
from clusters.removal import removed
from core.conditions import Condition
from core.errors import MusterError
from core.moments import rfc3339
from core.reconciling import Outcome

AGAIN = timedelta(seconds=30)
AGAIN_WHEN_REFUSED = timedelta(minutes=2)


def reconcile_cluster(cluster: Cluster) -> Outcome:
    """See `sync_cluster`. A deletion itself writes nothing into the cluster: the rows defined on it do."""
    if cluster.is_being_deleted:
        return removed(cluster)
    try:
        return sync_cluster(cluster, gateway_for(cluster))
    except MusterError as error:
        return _unreachable(cluster, error)


def sync_cluster(cluster: Cluster, gateway: Gateway) -> Outcome:
    """Ask for version, served kinds and components. Raises `GatewayError` where the API server can't be asked."""
    now = timezone.now()
    version = gateway.server_version()
    served = gateway.served_resources()
    found = _components(gateway, served)
    components = with_since(found, cluster.components, rfc3339(now))
    missing = [item for item in found if item.health == "missing" and BY_KEY[item.key].required]
    degraded = [item for item in found if item.health == "degraded"]
    return Outcome(
        phase="MissingPrerequisites" if missing else "ServiceIssues" if degraded else "Connected",
        conditions=(
            Condition(
                "Reachable",
                "True",
                "Answered",
                f"The API server answers; it runs Kubernetes {version}.",
                arguments=(("version", version),),
            ),
            _permitted(gateway),
            *_others(gateway),
            _required(missing),
            _healthy(found, degraded),
        ),
        check_again_after=AGAIN,
        columns={
            "kubernetes_version": version[:64],
            "served": served,
            "components": components,
            **_contact(cluster, now),
        },
    )


def _contact(cluster: Cluster, now: datetime) -> dict[str, datetime]:
    """When it was last heard, unless the watcher's heartbeat has just said so: where nothing else changed, there is
    nothing to tell open pages."""
    known = cluster.last_contact_at
    return {} if known and timedelta(0) <= now - known < AGAIN else {"last_contact_at": now}


def _unreachable(cluster: Cluster, error: MusterError) -> Outcome:
    """The cluster does not answer, or not us. What was known of it stays, marked as old by its last contact."""
    refused = isinstance(error, Unauthorized | Forbidden) or not isinstance(error, GatewayError)
    kept = tuple(_not_known(entry) for entry in cluster.conditions if entry["type"] not in ("Reachable", "Synced"))
    return Outcome(
        phase="Disconnected" if cluster.last_contact_at else "WaitingToConnect",
        conditions=(Condition("Reachable", "False", error.reason, _why(error)), *kept),
        check_again_after=AGAIN_WHEN_REFUSED if refused else AGAIN,
    )


def _not_known(entry: Mapping[str, Any]) -> Condition:
    """What is not known now. Whose the cluster is stays: nothing may be written there before it is asked again."""
    if entry["reason"] == OtherMuster.reason:
        arguments = tuple(entry.get("arguments", {}).items())
        return Condition(entry["type"], entry["status"], entry["reason"], entry["message"], arguments=arguments)
    return Condition(entry["type"], "Unknown", "Unreachable", "Not known while the cluster cannot be asked.")


def _why(error: MusterError) -> str:
    if isinstance(error, Unauthorized):
        return f"The API server does not accept the credential any more: {error.message}. Enter a new one."
    return error.message


def _components(gateway: Gateway, served: Mapping[str, Any]) -> list[Found]:
    controllers: list[Manifest] = []
    try:
        for kind in (DEPLOYMENT, DAEMON_SET, STATEFUL_SET):
            controllers += _listed(gateway, kind)
    except Forbidden as error:
        return unknown_components(f"Muster may not read the controllers: {error.message}")
    return find_components(controllers, served)


def _listed(gateway: Gateway, kind: Kind) -> list[Manifest]:
    try:
        return list(gateway.list(kind))
    except NotServed:
        return []


def _permitted(gateway: Gateway) -> Condition:
    """Whether the role grants all that is needed: one review. What is missing stops only what needs it."""
    try:
        rules = gateway.rules(NAMESPACE)
    except GatewayError as error:
        if isinstance(error, Unauthorized) or error.retryable:
            raise
        return Condition("Permitted", "Unknown", "NotReviewed", f"The rights could not be asked for: {error.message}")
    if rules is None:
        return Condition("Permitted", "Unknown", "NotReviewed", "The API server does not know all of its rules.")
    missing = missing_permissions(rules)
    if not missing:
        return Condition("Permitted", "True", "AllGranted", "The role grants all that Muster needs.")
    said = "; ".join(f"{permission} (without it {without(str(permission))})" for permission in missing)
    names = ",".join(str(permission) for permission in missing)
    message = f"The role of Muster's account lacks {said}."
    return Condition("Permitted", "False", "PermissionMissing", message, arguments=(("missing", names),))


def _others(gateway: Gateway) -> tuple[Condition, ...]:
    try:
        return look_for_others(gateway)
    except Forbidden as error:
        return (Condition("SoleMuster", "Unknown", "NotPermitted", error.message),)


def _required(missing: list[Found]) -> Condition:
    if not missing:
        return Condition("PrerequisitesMet", "True", "AllFound", "All required components are installed.")
    names = ", ".join(BY_KEY[item.key].title for item in missing)
    return Condition(
        "PrerequisitesMet", "False", "ComponentMissing", f"Not installed: {names}.", arguments=(("names", names),)
    )


def _healthy(found: list[Found], degraded: list[Found]) -> Condition:
    if any(item.health == "unknown" for item in found):
        return Condition("ComponentsHealthy", "Unknown", "NotPermitted", found[0].message)
    if not degraded:
        return Condition("ComponentsHealthy", "True", "AllReady", "Every installed component is ready.")
    text = "; ".join(f"{BY_KEY[item.key].title}: {item.message}" for item in degraded)
    return Condition("ComponentsHealthy", "False", "ComponentNotReady", f"{text}.", arguments=(("components", text),))


def lacks_a_kind(conditions: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a row's stored conditions say that its cluster did not serve a kind that it needs."""
    return any(condition["reason"] == NotServed.reason for condition in conditions)
