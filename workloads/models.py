"""Dynamo workloads: what was submitted, what the cluster makes of it."""

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.permissions import Scope, ScopedQuerySet
from clusters.models import Cluster
from core.models import DesiredState
from organizations.models import Project
from topology.models import NodePool


class WorkloadQuerySet(ScopedQuerySet["Workload"]):
    right = "workloads:read"
    cluster_path = "cluster_id"
    department_path = "project__department_id"
    project_path = "project_id"


class PredictionQuerySet(ScopedQuerySet["Prediction"]):
    right = "cluster:read"
    shared = True


class DesiredPhase(models.TextChoices):
    """What the owner wants (Run:ai DesiredPhase)."""

    RUNNING = "Running", _("Running")
    STOPPED = "Stopped", _("Stopped")


class Preemptibility(models.TextChoices):
    """Whether a workload may be evicted for others; non-preemptible ones must fit the deserved quota."""

    PREEMPTIBLE = "preemptible", _("preemptible")
    NON_PREEMPTIBLE = "non-preemptible", _("non-preemptible")


class Workload(DesiredState):
    """A DynamoGraphDeployment as submitted, in a project and a node pool.

    `phase` is Run:ai's (Creating Pending Initializing Running Degraded Failed Stopping Stopped Resuming Updating
    Deleting Unknown). Names are unique per cluster, not per project: equal graph names in two namespaces merge
    their gangs (golden/SURPRISES.md §1.6).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="workloads")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="workloads")  # the project's
    node_pool = models.ForeignKey(NodePool, on_delete=models.PROTECT, related_name="workloads")
    name = models.CharField(_("name"), max_length=45)
    source = models.TextField()  # YAML as submitted, comments kept
    manifest = models.JSONField()  # the same document, parsed
    desired_phase = models.CharField(max_length=16, choices=DesiredPhase.choices, default=DesiredPhase.RUNNING)
    priority_class = models.CharField(max_length=63, blank=True)
    preemptibility = models.CharField(max_length=16, choices=Preemptibility.choices, default=Preemptibility.PREEMPTIBLE)
    topology_name = models.CharField(max_length=63, blank=True)
    required_level = models.CharField(max_length=317, blank=True)
    preferred_level = models.CharField(max_length=317, blank=True)
    submitted_by = models.CharField(max_length=254, blank=True)
    submitted_through = models.CharField(max_length=16, default="page")  # page, api
    # Derived from the manifest when it is saved.
    backend = models.CharField(max_length=16, blank=True)  # vllm, sglang, trtllm
    disaggregated = models.BooleanField(default=False)
    gpus_requested = models.DecimalField(max_digits=12, decimal_places=4, default=0)
    # Status.
    roles = models.JSONField(default=list)  # [{component, type, gpusEach, desired, placed, ready}]
    gpus_held = models.DecimalField(max_digits=12, decimal_places=4, default=0)
    placement = models.JSONField(default=dict)  # {state: kept|loosened|broken|waits, level, domains: […]}
    waiting_since = models.DateTimeField(null=True)
    waiting_reason = models.JSONField(default=dict)  # {code, arguments}: said in words by the page
    started_at = models.DateTimeField(null=True)

    objects = WorkloadQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "name"), name="workload_name_once_per_cluster"),)

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """Where it lies, for permissions."""
        return Scope(self.cluster_id, self.project.department_id, self.project_id)


class Agreement(models.TextChoices):
    """What became of a prediction. Only right and wrong count in the agreement."""

    OPEN = "open", _("not decided yet")
    RIGHT = "right", _("right")
    WRONG = "wrong", _("wrong")
    NOT_COMPARABLE = "notComparable", _("not comparable")


class Prediction(models.Model):
    """What the engine said of one start of a workload, and what the scheduler then did (`workloads.agreement`).

    `evidence` is what the engine was asked and its answer, kept while the outcome is open; `case` the redacted case of
    a wrong one. Both are compressed. `reasons` are codes: why it is not comparable, or what was wrong.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="predictions")
    workload = models.ForeignKey(Workload, on_delete=models.SET_NULL, null=True, related_name="predictions")
    project = models.ForeignKey(Project, on_delete=models.SET_NULL, null=True, related_name="predictions")
    workload_name = models.CharField(max_length=45)
    generation = models.PositiveBigIntegerField()
    node_pool = models.CharField(max_length=63)
    scheduler_version = models.CharField(max_length=64, blank=True)  # as the cluster's components say; "": unknown
    engine_version = models.CharField(max_length=12)
    predicted_at = models.DateTimeField()
    age_seconds = models.PositiveIntegerField(null=True)  # of the data at that moment; None: not known
    shard_digest = models.CharField(max_length=64, blank=True)
    verdict = models.CharField(max_length=16, blank=True)  # scheduling.preview_structs.Verdict
    pods = models.PositiveIntegerField(default=0)  # of the gangs that start at once
    pods_expected = models.PositiveIntegerField(default=0)  # of them placed, by the engine
    pods_placed = models.PositiveIntegerField(null=True)  # by the scheduler
    equal_answers = models.PositiveIntegerField(default=0)
    outcome = models.CharField(max_length=16, choices=Agreement.choices, default=Agreement.OPEN)
    reasons = models.JSONField(default=list)
    decided_at = models.DateTimeField(null=True)
    evidence = models.BinaryField(null=True)
    case = models.BinaryField(null=True)
    case_state = models.CharField(max_length=16, blank=True)  # kept, tooLarge, dropped, notReplayable; "": none

    objects = PredictionQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("workload", "generation"), name="prediction_once_per_start"),)
        indexes = (
            models.Index(fields=("cluster", "scheduler_version", "outcome"), name="prediction_by_version"),
            models.Index(fields=("cluster", "predicted_at"), name="prediction_by_time"),
            models.Index(fields=("predicted_at",), condition=models.Q(outcome="open"), name="prediction_open"),
        )

    def __str__(self) -> str:
        return f"{self.workload_name}, {self.predicted_at:%Y-%m-%d %H:%M}"

    @property
    def scope(self) -> Scope:
        """Where it lies, for permissions."""
        return Scope(self.cluster_id)
