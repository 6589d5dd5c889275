"""The Celery application: limits that fit into the lease, queues that do not mix, JSON only."""

from controlplane.celery import QUEUES, app
from controlplane.reconcilers import RECONCILERS
from core.leases import LEASE


def test_time_limit_is_below_the_lease_and_the_lease_below_redelivery():
    options = app.conf.broker_transport_options

    assert app.conf.task_soft_time_limit < app.conf.task_time_limit < LEASE.total_seconds()
    assert LEASE.total_seconds() < options["visibility_timeout"]
    assert options["unacked_restore_throttle"] == 1


def test_a_killed_worker_gives_its_task_back_and_only_json_is_read():
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_ignore_result


def test_a_message_reaches_one_queue_only():
    bindings = [(queue.exchange.name, queue.routing_key) for queue in app.conf.task_queues]

    assert bindings == [(name, name) for name in QUEUES]


def test_every_scheduled_task_exists_and_goes_to_a_known_queue():
    app.loader.import_default_modules()
    for entry in app.conf.beat_schedule.values():
        assert entry["task"] in app.tasks
        route = app.amqp.router.route({}, entry["task"])
        assert getattr(route.get("queue"), "name", "maintenance") in QUEUES


def test_every_kind_of_desired_row_has_a_reconciler():
    from django.apps import apps

    from core.models import DesiredState

    kinds = {model for model in apps.get_models() if issubclass(model, DesiredState)}
    assert {reconciler.model for reconciler in RECONCILERS} == kinds
