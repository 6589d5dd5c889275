"""What Muster records of GPUs itself: one frame a minute and cluster for hours, roll-ups for days. Bounded."""

import uuid

from django.db import models
from django.utils import timezone

from clusters.models import Cluster


class MetricSource(models.Model):
    """Where a cluster's GPU metrics come from, how reading them went, and who is reading now.

    `targets`: [{namespace, name, node, port}] of exporter pods. `nodes` is the layout of its frames: names in their
    order, only ever added to. `failures`: {node: reason} of the last round. `waiting`: {node: when it was last read, ""
    for never} of the nodes whose turn did not come in the last round, which took `round_seconds`.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="metric_source")
    targets = models.JSONField(default=list)
    targets_at = models.DateTimeField(null=True)
    nodes = models.JSONField(default=list)
    read_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    failures = models.JSONField(default=dict)
    waiting = models.JSONField(default=dict)
    round_seconds = models.FloatField(default=0)
    mig = models.JSONField(default=list)  # [{node, gpu, instance, profile, utilisation, owner}] of the last round
    busy_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"metrics of {self.cluster_id}"


class MetricFrame(models.Model):
    """All GPUs of a cluster at one moment, packed (see `metrics.frames`). `step` is its resolution in seconds."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="metric_frames")
    step = models.PositiveIntegerField()
    at = models.DateTimeField()
    utilisation = models.BinaryField()
    memory = models.BinaryField()
    temperature = models.BinaryField()
    present = models.BinaryField()
    owner = models.BinaryField()
    owners = models.JSONField(default=list)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "step", "at"), name="metric_frame_once"),)

    def __str__(self) -> str:
        return f"{self.step} s at {self.at:%Y-%m-%d %H:%M}"


class Report(models.Model):
    """A consumption report as it was made: a CSV of GPU hours. `filters`: terms like `projectName==assistant`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    start = models.DateTimeField()
    end = models.DateTimeField()
    group_by = models.CharField(max_length=16, blank=True)
    filters = models.JSONField(default=list)
    content = models.TextField()
    created_by = models.CharField(max_length=254)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("created_by", "name"), name="report_once_per_person"),)

    def __str__(self) -> str:
        return self.name
