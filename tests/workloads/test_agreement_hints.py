"""Who asks for predictions and comparisons: submissions and reconciles, by hints on a queue that nothing waits for."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from redis import Redis

from controlplane.celery import app
from workloads import reconcile, services, tasks
from workloads.models import Agreement, Prediction
from workloads.services import resume_workload, suspend_workload

pytestmark = pytest.mark.django_db(transaction=True)


def asked_for(broker_url: str) -> list[str]:
    """The tasks that wait on the maintenance queue, the oldest first."""
    messages = Redis.from_url(broker_url).lrange("maintenance", 0, -1)
    return [msgspec.json.decode(message)["headers"]["task"] for message in reversed(messages)]


def test_every_hint_names_a_task_that_workers_know():
    app.loader.import_default_modules()

    assert {services.PREDICT_TASK, reconcile.COMPARE_TASK} <= app.tasks.keys()
    assert tasks.compare_open.name in {entry["task"] for entry in app.conf.beat_schedule.values()}


def test_submitting_and_resuming_ask_for_a_prediction(submit: Any, admin: Any, actor: Any, broker_url: str):
    workload = submit()
    assert asked_for(broker_url) == ["workloads.predict"]

    suspend_workload(actor(admin), workload=workload)
    workload.refresh_from_db()
    resume_workload(actor(admin), workload=workload)

    assert asked_for(broker_url) == ["workloads.predict"] * 2


def test_a_reconcile_asks_for_a_comparison_only_of_what_is_open_and_has_pods(
    submit: Any, broker_url: str, django_assert_num_queries: Any
):
    workload = submit()
    Redis.from_url(broker_url).flushall()
    prediction = Prediction.objects.create(
        cluster=workload.cluster,
        workload=workload,
        workload_name=workload.name,
        generation=1,
        predicted_at=datetime.now(UTC),
    )

    with django_assert_num_queries(0):
        reconcile._hint_comparison(workload, "Creating")
    assert asked_for(broker_url) == []
    with django_assert_num_queries(1):
        reconcile._hint_comparison(workload, "Pending")
    assert asked_for(broker_url) == ["workloads.compare"]

    Prediction.objects.filter(pk=prediction.pk).update(outcome=Agreement.RIGHT)
    reconcile._hint_comparison(workload, "Running")
    assert asked_for(broker_url) == ["workloads.compare"]
