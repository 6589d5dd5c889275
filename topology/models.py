"""Network topologies, node pools, and which topology is attached to which pool."""

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.permissions import Scope, ScopedQuerySet
from clusters.models import Cluster
from core.models import DesiredState


class NetworkTopologyQuerySet(ScopedQuerySet["NetworkTopology"]):
    right = "network-topologies:read"
    shared = True


class NodePoolQuerySet(ScopedQuerySet["NodePool"]):
    right = "nodepools:read"
    shared = True


class NetworkTopology(DesiredState):
    """Ordered node-label keys, broadest (farthest) first; immutable once made, as KAI's Topology is.

    `links` holds what distance costs per level, [{latencyMicroseconds, bandwidthGigabytesPerSecond, assumed}], in
    the order of `levels`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="network_topologies")
    name = models.CharField(_("name"), max_length=63)
    levels = models.JSONField(_("levels"))
    links = models.JSONField(default=list, blank=True)
    created_by = models.CharField(max_length=254, blank=True)

    objects = NetworkTopologyQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "name"), name="network_topology_name_once"),)

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """Where it lies, for permissions."""
        return Scope(self.cluster_id)


class PlacementStrategy(models.TextChoices):
    """How the pool's scheduler shard fills nodes (KAI SchedulingShard spec.placementStrategy)."""

    BINPACK = "binpack", _("bin packing")
    SPREAD = "spread", _("spreading")


class NodePool(DesiredState):
    """The nodes of a cluster with label `label_key=label_value`; `default` has no label: it takes the rest."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="node_pools")
    name = models.CharField(_("name"), max_length=63)
    label_key = models.CharField(_("label key"), max_length=317, blank=True)
    label_value = models.CharField(_("label value"), max_length=63, blank=True)
    network_topology = models.ForeignKey(
        NetworkTopology, null=True, blank=True, on_delete=models.PROTECT, related_name="node_pools"
    )
    gpu_placement_strategy = models.CharField(
        max_length=16, choices=PlacementStrategy.choices, default=PlacementStrategy.BINPACK
    )
    cpu_placement_strategy = models.CharField(
        max_length=16, choices=PlacementStrategy.choices, default=PlacementStrategy.BINPACK
    )
    min_guaranteed_runtime = models.CharField(max_length=32, blank=True)  # a Go duration, or empty
    created_by = models.CharField(max_length=254, blank=True)

    objects = NodePoolQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("cluster", "name"), name="node_pool_name_once"),
            models.UniqueConstraint(fields=("cluster", "label_key", "label_value"), name="node_pool_label_once"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def shard(self) -> str:
        """The value of `kai.scheduler/node-pool` on its nodes, queues and pod groups; "" for the default pool."""
        return "" if self.is_default else self.name

    @property
    def is_default(self) -> bool:
        """Whether it takes the nodes without a pool label; it cannot be deleted."""
        return self.label_key == ""

    @property
    def scope(self) -> Scope:
        """Where it lies, for permissions."""
        return Scope(self.cluster_id)
