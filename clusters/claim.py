"""Which installation of Muster keeps a cluster: two would put right each other's work for ever.

The first that finds the namespace of its own account writes who it is into an annotation there; any other one says so
and writes nothing. Without that namespace (a cluster registered with another account) nobody can know.
"""

import hashlib
from typing import Any

from django.conf import settings

from clusters.kinds import NAMESPACE
from clusters.kube.errors import GatewayError
from clusters.kube.gateway import Gateway
from clusters.models import Cluster
from clusters.rbac import NAMESPACE as OURS
from core.conditions import Condition, find

ANNOTATION = "muster.dev/installation"


class OtherMuster(GatewayError):
    """Another installation of Muster keeps the cluster: this one writes nothing there."""

    reason = "OtherMuster"


def installation() -> str:
    """Who this installation is: the same for all its processes, and for nobody else."""
    return _name(settings.SECRET_KEY)


def look_for_others(gateway: Gateway) -> tuple[Condition, ...]:
    """Claim the cluster where nobody has; whether another installation has. Nothing where nobody can know."""
    live = gateway.get(NAMESPACE, OURS)
    if live is None or "deletionTimestamp" in live["metadata"]:
        return ()
    holder = str((live["metadata"].get("annotations") or {}).get(ANNOTATION, ""))
    if not holder:
        metadata = {"name": OURS, "uid": live["metadata"]["uid"], "annotations": {ANNOTATION: installation()}}
        gateway.apply(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    elif holder not in {_name(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)}:
        message = (
            f"Another installation of Muster ({holder}) keeps this cluster, so this one writes nothing there. "
            f"If that one is gone, remove the annotation {ANNOTATION} of the namespace {OURS}."
        )
        arguments = (("holder", holder), ("annotation", ANNOTATION), ("namespace", OURS))
        return (Condition("SoleMuster", "False", "OtherMuster", message, arguments=arguments),)
    return (Condition("SoleMuster", "True", "Claimed", "No other installation of Muster keeps this cluster."),)


def check_sole(row: Any) -> None:
    """Raise `OtherMuster` where the last look at the row's cluster found another installation."""
    conditions = Cluster.objects.filter(pk=row.cluster_id).values_list("conditions", flat=True).first()
    found = find(conditions or (), "SoleMuster")
    if found is not None and found["status"] == "False":
        raise OtherMuster(str(found["message"]))


def _name(key: str) -> str:
    return hashlib.sha256(f"installation of Muster {key}".encode()).hexdigest()[:16]
