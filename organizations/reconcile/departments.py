"""One department: a top-level queue per node pool."""

from contextlib import suppress

from clusters.connections import gateway_for
from clusters.kube.errors import NotServed
from clusters.kube.gateway import Gateway
from core.conditions import Condition
from core.reconciling import Outcome
from organizations.models import Department
from organizations.quota_rows import queue_names
from organizations.reconcile.queues import SOON, delete_queues, queue_conditions, sync_queues
from organizations.rendering import owner_value
from topology.protection import protecting_kinds


def reconcile_department(department: Department) -> Outcome:
    """See `sync_department`."""
    return sync_department(department, gateway_for(department.cluster))


def sync_department(department: Department, gateway: Gateway) -> Outcome:
    """Apply, repair or delete the queues of one department. Raises `GatewayError`."""
    if department.is_being_deleted:
        return _delete(department, gateway)
    found = sync_queues(department, gateway)
    conditions = [*queue_conditions(found)]
    if found.problems:
        return Outcome("NotReady", tuple(conditions))
    conditions.insert(0, Condition("Accepted", "True", "Accepted", "The department can be written."))
    conditions.append(Condition("Synced", "True", "Applied", "The cluster has what is defined here."))
    return Outcome("Ready", tuple(conditions), check_again_after=found.check_again_after)


def _delete(department: Department, gateway: Gateway) -> Outcome:
    """Child queues go first: KAI refuses to delete a queue that has any."""
    left = protecting_kinds(department)
    if not left:
        with suppress(NotServed):
            left = delete_queues(gateway, owner_value(department), named=queue_names(department))
    if not left:
        return Outcome(gone=True)
    message = f"Waiting for {', '.join(left[:20])} to go."
    waiting = Condition("Synced", "False", "Deleting", message, arguments=(("objects", ", ".join(left)),))
    return Outcome("Deleting", (waiting,), check_again_after=SOON)
