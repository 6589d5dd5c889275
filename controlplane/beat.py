"""Celery's beat, which keeps its schedule in memory and signs a heartbeat with every round."""

from typing import Any

from celery.beat import Scheduler

from controlplane.heartbeats import sign


class HeartbeatScheduler(Scheduler):
    """A restart runs everything once more, which every job bears."""

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        sign("beat")
        return super().tick(*args, **kwargs)
