"""Graphs of one name in two namespaces merge their gangs (golden/SURPRISES.md §1 no. 6): who has a name already."""

import uuid

from django.db.models import Q

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, GROVE_POD_CLIQUE_SET
from clusters.models import ClusterObject
from workloads.models import Workload


def is_name_taken(name: str, cluster_id: uuid.UUID, *, own: Workload | None, taken: str = "") -> bool:
    """Whether there is another graph of this name anywhere in the cluster, ours or somebody else's. Where is not for
    everybody to know.

    `own` is the workload that has the name rightly, with what was made of it in its namespace; `taken` the namespace
    whose graph of this name is to be taken over.
    """
    rows = Workload.objects.filter(cluster=cluster_id, name=name)
    if own is not None:
        rows = rows.exclude(pk=own.pk)
    if rows.exists():
        return True
    graphs = Q(group=DYNAMO_GRAPH_DEPLOYMENT.group, plural=DYNAMO_GRAPH_DEPLOYMENT.plural)
    # Grove names a pod group after its clique set, so one that was made without a graph merges just as well.
    sets = Q(group=GROVE_POD_CLIQUE_SET.group, plural=GROVE_POD_CLIQUE_SET.plural)
    if own is not None:
        graphs &= ~Q(owner=f"workloads.Workload.{own.pk}")
        sets &= ~Q(namespace=own.project.namespace)
    objects = ClusterObject.objects.filter(graphs | sets, cluster=cluster_id, name=name)
    if taken:
        objects = objects.exclude(namespace=taken)
    return objects.exists()
