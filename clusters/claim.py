"""Which installation of Muster keeps a cluster: two would put right each other's work for ever.

The first that finds the namespace of its own account writes who it is into an annotation there. Any other one says so
and writes nothing but an annotation of its own, from which the first knows of it: both say it, and neither fights.
Without that namespace (a cluster registered with another account) nobody can know.
"""

import hashlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings

from clusters.kinds import NAMESPACE
from clusters.kube.errors import Forbidden, GatewayError
from clusters.kube.gateway import FIELD_MANAGER, Gateway, Manifest
from clusters.models import Cluster
from clusters.rbac import NAMESPACE as OURS
from core.conditions import Condition, find

ANNOTATION = "muster.dev/installation"
KEPT_OUT = "kept-out.muster.dev/"
"""Before the name of an installation that found another one's claim."""


class OtherMuster(GatewayError):
    """Another installation of Muster keeps the cluster: this one writes nothing there."""

    reason = "OtherMuster"


def installation() -> str:
    """Who this installation is: the same for all its processes, and for nobody else."""
    return _name(settings.SECRET_KEY)


def look_for_others(gateway: Gateway) -> tuple[Condition, ...]:
    """Claim the cluster where nobody has; whether another installation has, or would. Nothing where nobody can know."""
    live = gateway.get(NAMESPACE, OURS)
    if live is None or "deletionTimestamp" in live["metadata"]:
        return ()
    annotations = live["metadata"].get("annotations") or {}
    ours = {_name(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)}
    holder = str(annotations.get(ANNOTATION, ""))
    if holder and holder not in ours:
        if _note() not in annotations:
            with suppress(Forbidden):  # without it only the other installation does not know
                _annotate(gateway, live, {_note(): "true"}, manager=_own_manager())
        return (_kept_by(holder),)
    if not holder:
        _annotate(gateway, live, {ANNOTATION: installation()})
        if _note() in annotations:
            _annotate(gateway, live, {}, manager=_own_manager())
    return (_claimed(_kept_out(annotations, ours)),)


def _annotate(gateway: Gateway, live: Manifest, wanted: Mapping[str, str], manager: str = FIELD_MANAGER) -> None:
    metadata = {"name": OURS, "uid": live["metadata"]["uid"], "annotations": dict(wanted)}
    gateway.apply(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, manager=manager)


def _note() -> str:
    return KEPT_OUT + installation()


def _own_manager() -> str:
    """The field manager of this installation's note alone: the others' stay when it is applied."""
    return f"{FIELD_MANAGER}-{installation()}"


def _kept_out(annotations: Mapping[str, Any], ours: Collection[str]) -> list[str]:
    """The other installations that found our claim."""
    found = {key.removeprefix(KEPT_OUT) for key in annotations if key.startswith(KEPT_OUT)}
    return sorted(found.difference(ours))


def _kept_by(holder: str) -> Condition:
    message = (
        f"Another installation of Muster ({holder}) keeps this cluster, so this one writes nothing there but a note of "
        f"itself. If that one is gone, remove the annotation {ANNOTATION} of the namespace {OURS}."
    )
    arguments = (("holder", holder), ("annotation", ANNOTATION), ("namespace", OURS))
    return Condition("SoleMuster", "False", "OtherMuster", message, arguments=arguments)


def _claimed(others: Collection[str]) -> Condition:
    if not others:
        return Condition("SoleMuster", "True", "Claimed", "No other installation of Muster keeps this cluster.")
    names = ", ".join(others)
    message = (
        f"This installation of Muster keeps this cluster. Another one ({names}) is connected to it too and writes "
        f"nothing there. If that one is gone, remove its annotation {KEPT_OUT}… of the namespace {OURS}."
    )
    arguments = (("others", names), ("annotation", f"{KEPT_OUT}…"), ("namespace", OURS))
    return Condition("SoleMuster", "False", "OthersKeptOut", message, arguments=arguments)


def check_sole(row: Any) -> None:
    """Raise `OtherMuster` where the last look at the row's cluster found another installation."""
    conditions = Cluster.objects.filter(pk=row.cluster_id).values_list("conditions", flat=True).first()
    found = find(conditions or (), "SoleMuster")
    if found is not None and found["reason"] == OtherMuster.reason:
        raise OtherMuster(str(found["message"]))


def _name(key: str) -> str:
    return hashlib.sha256(f"installation of Muster {key}".encode()).hexdigest()[:16]
