"""Registered clusters (desired state) and what the watcher observed in them (nodes, pods, other objects)."""

import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.permissions import Scope, ScopedQuerySet
from clusters.kinds import Kind
from core.models import DesiredState


class ClusterQuerySet(ScopedQuerySet["Cluster"]):
    right = "cluster:read"
    cluster_path = "pk"
    shared = True


class NodeQuerySet(ScopedQuerySet["Node"]):
    right = "nodes:read"
    shared = True


class Removal(models.TextChoices):
    """What becomes of what Muster made in a cluster that is removed."""

    LEAVE = "leave", _("leave it as it is")
    CLEAN = "clean", _("delete it, and give back what was taken over")


class Cluster(DesiredState):
    """A Kubernetes cluster that Muster controls. `credential` is encrypted and never leaves the gateway."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("name"), max_length=63, unique=True)
    server = models.URLField(_("API server"), max_length=500)
    certificate_authority = models.TextField(blank=True)
    credential = models.BinaryField()
    # Status: what the cluster's reconcile found.
    kubernetes_version = models.CharField(max_length=64, blank=True)
    served = models.JSONField(default=dict)  # {"kai.scheduler": {"topologies": ["v1alpha1"]}, …}
    components = models.JSONField(default=list)  # [{key, version, health, since, message}]
    last_contact_at = models.DateTimeField(null=True)
    # The watcher's lease on this cluster, and the state of each of its streams.
    watcher = models.CharField(max_length=64, blank=True)
    watcher_until = models.DateTimeField(null=True)
    # Raised with every change of its observed rows: what was computed from them is right while these stand.
    nodes_version = models.PositiveBigIntegerField(default=0)
    pods_version = models.PositiveBigIntegerField(default=0)
    objects_version = models.PositiveBigIntegerField(default=0)
    removal = models.CharField(max_length=8, choices=Removal.choices, blank=True)  # how, once it is to go
    streams = models.JSONField(default=dict)  # {"nodes": {"listedAt", "eventAt", "resourceVersion", "error"}}

    objects = ClusterQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """Where it lies, for permissions."""
        return Scope(self.pk)

    @property
    def nodes_read(self) -> bool:
        """Whether its nodes were ever listed: before, no row means nothing."""
        return bool((self.streams.get("nodes") or {}).get("listedAt"))


class Observed(models.Model):
    """Base of rows that mirror an object of a cluster; only the watcher writes them.

    A row's resource version never moves backwards for one uid; the same name with a new uid is a new row.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    uid = models.CharField(max_length=64)
    name = models.CharField(max_length=253)
    resource_version = models.CharField(max_length=32)
    created_at = models.DateTimeField()

    class Meta:
        abstract = True


class Node(Observed):
    """A node. GPU counts are whole devices; `gpu_unusable` = capacity − allocatable; MIG slices by resource name."""

    labels = models.JSONField(default=dict)
    taints = models.JSONField(default=list)
    conditions = models.JSONField(default=list)
    ready = models.CharField(max_length=8, default="Unknown")  # status of condition Ready: True, False, Unknown
    cordoned = models.BooleanField(default=False)
    gpu_type = models.CharField(max_length=100, blank=True)
    gpu_capacity = models.PositiveIntegerField(default=0)
    gpu_allocatable = models.PositiveIntegerField(null=True)  # None: the key is missing in allocatable
    gpu_memory_mib = models.PositiveBigIntegerField(null=True)  # of one GPU; None: the label is missing
    gpu_changes = models.JSONField(default=list)  # moments of the last changes of these counts, the newest last
    mig = models.JSONField(default=dict)  # {"nvidia.com/mig-1g.12gb": 2}
    cpu_millicores = models.PositiveBigIntegerField(null=True)  # None: the node does not say, or nobody can read it
    memory_bytes = models.PositiveBigIntegerField(null=True)  # the same
    pod_slots = models.PositiveIntegerField(default=0)
    # What pods may use of CPU (millicores), memory (bytes) and slots ("pods"); {}: the node does not say.
    allocatable = models.JSONField(default=dict)
    node_pool = models.CharField(max_length=63, blank=True)  # value of the label kai.scheduler/node-pool
    kubelet_version = models.CharField(max_length=64, blank=True)
    internal_address = models.CharField(max_length=64, blank=True)

    objects = NodeQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "uid"), name="node_once"),)
        indexes = (
            models.Index(fields=("cluster", "name"), name="node_by_name"),
            models.Index(fields=("cluster", "node_pool"), name="node_by_pool"),
            models.Index(fields=("cluster", "gpu_capacity"), name="node_by_gpus"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """Where it lies, for permissions."""
        return Scope(self.cluster_id)


class Pod(Observed):
    """A pod that asks for GPUs, belongs to a workload or stands in a namespace of a project.

    `gpus` is what it asks for, in devices (fractions through KAI's annotations count as such); requests of CPU and
    memory are summed over its containers as the scheduler does. `workload` is the value of `WORKLOAD_LABEL`.
    """

    namespace = models.CharField(max_length=63)
    phase = models.CharField(max_length=16)
    ready = models.BooleanField(default=False)
    node_name = models.CharField(max_length=253, blank=True)
    gpus = models.DecimalField(max_digits=12, decimal_places=4, default=0)
    cpu_millicores = models.PositiveBigIntegerField(default=0)
    memory_bytes = models.PositiveBigIntegerField(default=0)
    workload = models.CharField(max_length=63, blank=True)
    graph = models.CharField(max_length=253, blank=True)  # nvidia.com/dynamo-graph-deployment-name
    component = models.CharField(max_length=63, blank=True)  # nvidia.com/dynamo-component
    component_type = models.CharField(max_length=32, blank=True)
    pod_group = models.CharField(max_length=253, blank=True)
    queue = models.CharField(max_length=253, blank=True)
    gated = models.BooleanField(default=False)
    reason = models.CharField(max_length=64, blank=True)  # why it is not ready: Unschedulable, ImagePullBackOff, …
    message = models.TextField(blank=True)
    restarts = models.PositiveIntegerField(default=0)
    image = models.CharField(max_length=500, blank=True)
    address = models.CharField(max_length=64, blank=True)
    deletion_requested_at = models.DateTimeField(null=True)
    # What else the scheduler heeds (`clusters.watcher.scheduling`); {} for a plain pod of KAI's scheduler.
    scheduling = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "uid"), name="pod_once"),)
        indexes = (
            models.Index(fields=("cluster", "namespace", "name"), name="pod_by_name"),
            # Holds all that the sum of a node's GPUs and the number of its pods are made of.
            models.Index(fields=("cluster", "node_name", "phase", "gpus"), name="pod_on_node"),
            models.Index(fields=("workload",), name="pod_by_workload"),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class ClusterObject(Observed):
    """Any other observed object of few kinds (topologies, queues, shards, pod groups, graphs, bindings, …), whole
    but for managedFields. `owner` is the value of `OWNER_LABEL`; empty: somebody else made it."""

    group = models.CharField(max_length=63)
    plural = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    manifest = models.JSONField()
    owner = models.CharField(max_length=128, blank=True)
    made_by = models.CharField(max_length=128, blank=True)  # the first field manager: kubectl-create, helm, …

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "uid"), name="cluster_object_once"),)
        indexes = (
            models.Index(fields=("cluster", "group", "plural", "namespace", "name"), name="cluster_object_by_name"),
            models.Index(fields=("owner",), name="cluster_object_by_owner"),
        )

    def __str__(self) -> str:
        return f"{self.plural}/{self.name}"


class ClusterEvent(Observed):
    """A Kubernetes event about an object that Muster shows; kept for a day."""

    namespace = models.CharField(max_length=63, blank=True)
    type = models.CharField(max_length=16)
    reason = models.CharField(max_length=128)
    message = models.TextField(blank=True)
    involved_kind = models.CharField(max_length=63)
    involved_name = models.CharField(max_length=253)
    involved_uid = models.CharField(max_length=64, blank=True)
    count = models.PositiveIntegerField(default=1)
    source = models.CharField(max_length=128, blank=True)
    last_seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "uid"), name="cluster_event_once"),)
        indexes = (
            models.Index(
                fields=("cluster", "namespace", "involved_kind", "involved_name"),
                name="cluster_event_by_object",
            ),
        )

    def __str__(self) -> str:
        return f"{self.reason} {self.involved_kind}/{self.involved_name}"


class Adoption(models.Model):
    """An object that somebody else made and a row of ours took over: what it was before, to give it back."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="adoptions")
    owner = models.CharField(max_length=128)  # the value of `OWNER_LABEL` of the row
    group = models.CharField(max_length=63)
    version = models.CharField(max_length=63)
    kind = models.CharField(max_length=63)
    plural = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    before = models.JSONField()
    made_by = models.CharField(max_length=128)
    by = models.CharField(max_length=254, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    taken_at = models.DateTimeField(null=True)
    release_requested_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "uid"), name="adopted_once"),)
        indexes = (models.Index(fields=("owner",), name="adoption_by_owner"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def served_kind(self) -> Kind:
        """The kind to write it as."""
        return Kind(self.group, self.version, self.kind, self.plural, namespaced=bool(self.namespace))

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to be taken over or to be given back."""
        return self.taken_at is None or self.release_requested_at is not None
