"""The Celery application: queues, limits and the beat's schedule. The database is the queue, tasks are hints.

A task may be lost, late or run twice without harm (docs/reconcile.md). Hard time limit < lease (120 s) < the
broker's visibility timeout, so that whoever gets a task again finds the lease free.
"""

import os

from celery import Celery
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

QUEUES = ("reconcile", "metrics", "maintenance")
TICK_SECONDS = 5.0
METRICS_SECONDS = 15.0

app = Celery("muster", set_as_current=True)
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_default_queue="maintenance",
    task_queues=[Queue(name, Exchange(name, type="direct"), routing_key=name) for name in QUEUES],
    task_routes={"reconcile.*": {"queue": "reconcile"}, "metrics.*": {"queue": "metrics"}},
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    task_soft_time_limit=90,
    task_time_limit=100,
    task_serializer="json",
    accept_content=["json"],
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_max_tasks_per_child=5000,
    broker_connection_retry=True,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_connection_timeout=1.0,
    broker_transport_options={
        "visibility_timeout": 180,
        # Without these two a task of a killed worker comes back only after 100 s more.
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_connect_timeout": 1.0,
        "socket_timeout": 5.0,
        "socket_keepalive": True,
        "health_check_interval": 10,
    },
    beat_scheduler="controlplane.beat:HeartbeatScheduler",
    beat_max_loop_interval=2,
    beat_schedule={
        "reconcile.tick": {"task": "reconcile.tick", "schedule": TICK_SECONDS, "options": {"expires": 30}},
        "metrics.tick": {"task": "metrics.tick", "schedule": METRICS_SECONDS, "options": {"expires": 30}},
        "maintenance.retain": {"task": "maintenance.retain", "schedule": 300.0, "options": {"expires": 300}},
        "maintenance.fair-share": {"task": "maintenance.fair-share", "schedule": 300.0, "options": {"expires": 300}},
        "workloads.agreement": {"task": "workloads.agreement", "schedule": 30.0, "options": {"expires": 30}},
    },
    imports=[
        "controlplane.tasks",
        "controlplane.heartbeats",
        "metrics.tasks",
        "organizations.tasks",
        "workloads.tasks",
    ],
)
