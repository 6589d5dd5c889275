"""What the running installation knows about its own processes and periodic jobs."""

import uuid

from django.db import models
from django.utils import timezone


class Heartbeat(models.Model):
    """One process that lives: a worker or a beat. Its age says whether it still does."""

    process = models.CharField(max_length=128, primary_key=True)  # worker/<host>, beat/<host>
    kind = models.CharField(max_length=16)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.process


class Job(models.Model):
    """A piece of work that at most one process does at a time, and at most once per interval.

    `token` and `until` are the lease of whoever is at it; `started_at` is when it was last begun.
    """

    name = models.CharField(max_length=128, primary_key=True)  # reconcile.tick, reconcile.cluster/<id>
    started_at = models.DateTimeField()
    token = models.UUIDField(null=True, default=uuid.uuid4)
    until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
