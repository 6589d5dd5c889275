"""Keeps a cluster from being removed while something is defined on it, and the other way round."""

from django.utils.translation import gettext as _

from clusters.models import Cluster
from core.desired import hold
from core.errors import Conflict


def hold_cluster(cluster: Cluster) -> None:
    """Lock it until the transaction ends: before any row that is defined on it is locked, as a removal does. Raises
    `Conflict` where it is being removed: however that is done, what is defined now would be forgotten."""
    if not hold(cluster):
        raise cluster_leaves(cluster)


def cluster_leaves(cluster: Cluster) -> Conflict:
    """The refusal of what would be done in a cluster that is to go."""
    return Conflict(_("%(name)s is being removed.") % {"name": cluster.name}, objects=[cluster.name])
