"""What the running installation knows about its own processes."""

from django.db import models
from django.utils import timezone


class Heartbeat(models.Model):
    """One process that lives: a worker, beat or watcher. Its age says whether it still does."""

    process = models.CharField(max_length=128, primary_key=True)  # worker/<host>, beat/<host>, watcher/<id>
    kind = models.CharField(max_length=16)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.process


class Slot(models.Model):
    """The last slot of a periodic job that somebody ran: with two beats, each slot still runs once."""

    job = models.CharField(max_length=64, primary_key=True)
    number = models.PositiveBigIntegerField()

    def __str__(self) -> str:
        return f"{self.job} {self.number}"
