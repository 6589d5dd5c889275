"""Predictions of the engine, made and compared by workers. Each task may be lost or run twice: at worst a start is not
spoken of, or is compared half a minute later."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from workloads import agreement
from workloads.models import Agreement, Prediction

CHUNK = 1000


@shared_task(name="workloads.predict")
def predict(pk: str) -> bool:
    """Say what will become of a workload that starts; whether anything was said."""
    return agreement.predict(pk, now=timezone.now()) is not None


@shared_task(name="workloads.compare")
def compare(pk: str) -> bool:
    """Hold one prediction against what is seen; whether it is settled now."""
    return agreement.compare(pk, now=timezone.now()) is not None


@shared_task(name="workloads.agreement")
def compare_open() -> int:
    """Look at every open prediction, and drop what is too old; returns how many are settled now. 2 queries for none."""
    _drop_outdated()
    pks = list(Prediction.objects.filter(outcome=Agreement.OPEN).order_by("predicted_at").values_list("pk", flat=True))
    return sum(agreement.compare(pk, now=timezone.now()) is not None for pk in pks)


def _drop_outdated() -> None:
    before = timezone.now() - timedelta(days=settings.PREDICTION_DAYS)
    while keys := list(Prediction.objects.filter(predicted_at__lt=before).values_list("pk", flat=True)[:CHUNK]):
        Prediction.objects.filter(pk__in=keys).delete()
