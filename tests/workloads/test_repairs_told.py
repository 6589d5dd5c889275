"""A repair of a workload's graph stands among its events, on its page and on its tab, as long as it is told."""

from datetime import timedelta
from typing import Any

import time_machine
from django.urls import reverse
from django.utils import timezone

from clusters import kinds
from core.conditions import TOLD_FOR
from tests.organizations.test_repairs_told import look
from workloads.reconcile import reconcile_workload

DGD = kinds.DYNAMO_GRAPH_DEPLOYMENT
NAMESPACE = "runai-assistant"
PUT_BACK = "Somebody else changed metadata.annotations.nvidia.com/kai-scheduler-queue; Muster put it back."


def test_a_repair_is_listed_among_the_events_and_told_for_a_while(
    submit: Any, gateway: Any, admin: Any, client_of: Any
) -> None:
    gateway.put(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    workload, client = submit(), client_of(admin)
    look(workload, reconcile_workload)
    gateway.edit(DGD, workload.name, NAMESPACE, metadata={"annotations": {"nvidia.com/kai-scheduler-queue": "other"}})

    repaired = look(workload, reconcile_workload)

    def told() -> list[list[tuple[str, str, str]]]:
        pages = (reverse(f"workloads:{tab}", args=[workload.pk]) for tab in ("events", "detail"))
        found = [client.get(page).context["events"] for page in pages]
        return [[(e["text"], e["source"], e["status"]) for e in events if e["source"] == "Muster"] for events in found]

    assert repaired["reason"] == "DriftRepaired"
    assert told() == [[(PUT_BACK, "Muster", "wait")]] * 2
    with time_machine.travel(timezone.now() + TOLD_FOR + timedelta(seconds=2), tick=False):
        look(workload, reconcile_workload)
        assert told() == [[], []]
