"""Abstract rows that every package builds on, and answers kept for repeated requests. Knows no domain word."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class TimestampedModel(models.Model):
    """When the row was made and last changed by a person or a pipeline."""

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True


class DesiredState(TimestampedModel):
    """A row that is an intent: services write its spec, one reconciler writes its status.

    `generation` rises with every change of the spec; `observed_generation` is the one that the status speaks of.
    `next_check_at` is the queue: a row is due when it has passed and no lease is held (see `core.leases`).
    `deletion_requested_at` takes the place of a delete; the row goes when the cluster's objects are gone.
    """

    generation = models.PositiveBigIntegerField(default=1, editable=False)
    observed_generation = models.PositiveBigIntegerField(default=0, editable=False)
    conditions = models.JSONField(default=list, editable=False)
    phase = models.CharField(max_length=32, default="Creating", editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)
    next_check_at = models.DateTimeField(default=timezone.now, db_index=True, editable=False)
    lease_token = models.UUIDField(null=True, editable=False)
    lease_expires_at = models.DateTimeField(null=True, editable=False)
    deletion_requested_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        abstract = True

    @property
    def is_being_deleted(self) -> bool:
        """Whether a deletion was requested and has not finished."""
        return self.deletion_requested_at is not None


class IdempotentAnswer(models.Model):
    """The answer to a POST that carried an Idempotency-Key; without `answer` it is still being made, by `token`.

    `digest` hashes sender and key, `fingerprint` path and body (see `core.api.idempotency`).
    """

    digest = models.CharField(max_length=64, primary_key=True)
    fingerprint = models.CharField(max_length=64)
    token = models.UUIDField()
    claimed_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    answer = models.BinaryField(null=True)  # encrypted: status, body, headers

    def __str__(self) -> str:
        return self.digest[:12]


class TenantSetting(models.Model):
    """A choice of the whole installation that an administrator made; without a row its default holds."""

    key = models.CharField(max_length=100, primary_key=True)
    value = models.JSONField()
    changed_at = models.DateTimeField(default=timezone.now)
    changed_by = models.CharField(max_length=254, blank=True)

    def __str__(self) -> str:
        return self.key


class OwnView(models.Model):
    """A list as one person keeps it, under a name of their own: filters, search, sort and columns, in the form that
    the list's URL has them. `table` is the list's name (`core.tables.TableSpec`)."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    table = models.CharField(max_length=63)
    label = models.CharField(max_length=60)
    query = models.CharField(max_length=2000)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "table", "label"), name="own_view_once"),)

    def __str__(self) -> str:
        return f"{self.table}: {self.label}"
