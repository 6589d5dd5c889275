"""Another controller that fights for a field: Muster says so and stops, and looks again later."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from clusters.drift import apply_if_different
from clusters.fighting import Fought
from clusters.kinds import KAI_QUEUE
from clusters.kube.fake import FakeGateway
from core import leases
from core.conditions import find
from core.reconciling import Reconciler, reconcile_claimed
from organizations.models import Department
from organizations.reconcile.departments import sync_department

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def edited_by_argocd(gateway: FakeGateway) -> None:
    gateway.edit(KAI_QUEUE, "research", manager="argocd", spec={"priority": 7})


def test_after_five_repairs_it_says_who_fights_for_what_and_stops(department: Department, gateway: FakeGateway) -> None:
    sync_department(department, gateway)
    with time_machine.travel(NOON, tick=False) as clock:
        for _ in range(5):
            clock.shift(timedelta(seconds=10))
            edited_by_argocd(gateway)
            sync_department(department, gateway)
            assert gateway.object(KAI_QUEUE, "research")["spec"]["priority"] == 100
        edited_by_argocd(gateway)
        writes = len(gateway.writes)

        with pytest.raises(Fought) as caught:
            sync_department(department, gateway)

        assert len(gateway.writes) == writes
        assert "argocd sets spec.priority of Queue research each time" in caught.value.message
        assert "until 12:10 UTC" in caught.value.message
        clock.shift(timedelta(minutes=10))
        sync_department(department, gateway)
        assert gateway.object(KAI_QUEUE, "research")["spec"]["priority"] == 100


def test_the_row_says_it_and_the_other_rows_go_on(department: Department, gateway: FakeGateway) -> None:
    other = Department.objects.create(cluster=department.cluster, name="other")
    reconciler = Reconciler(Department, lambda row: sync_department(row, gateway))

    def run(row: Department) -> Any:
        Department.objects.filter(pk=row.pk).update(next_check_at=row.created_at)
        taken = leases.claim(Department, row.pk)
        assert taken is not None
        reconcile_claimed(reconciler, row.pk, taken)
        return find(Department.objects.get(pk=row.pk).conditions, "Synced")

    run(department)
    for _ in range(6):
        edited_by_argocd(gateway)
        synced = run(department)

    assert (synced["status"], synced["reason"], synced["arguments"]["retry"]) == ("False", "Fought", "no")
    assert run(other)["status"] == "True"


def test_a_change_of_what_we_want_is_no_fight(gateway: FakeGateway) -> None:
    for number in range(8):
        metadata = {"name": "q", "labels": {"muster.dev/owner": "organizations.Department.1"}}
        spec = {"priority": number}
        apply_if_different(
            gateway,
            KAI_QUEUE,
            {"apiVersion": KAI_QUEUE.api_version, "kind": "Queue", "metadata": metadata, "spec": spec},
        )
    assert gateway.object(KAI_QUEUE, "q")["spec"]["priority"] == 7
