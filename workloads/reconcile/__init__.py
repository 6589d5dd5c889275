"""Makes a workload's row true in its cluster: render → apply where different → observe → say what is.

One flow for create, update, repair, suspension and deletion; the phase stored before is never looked at to decide.
"""

from datetime import timedelta

from clusters.connections import gateway_for
from clusters.drift import Applied, apply_if_different
from clusters.kube.errors import NameTaken, Rejected
from clusters.kube.gateway import Gateway
from core.conditions import Condition, deletion_repaired, was_written
from core.errors import InvalidInput, MusterError
from core.hints import hint_task
from core.reconciling import RESYNC, Outcome
from workloads.manifests import graph_manifest
from workloads.models import Agreement, DesiredPhase, Prediction, Workload
from workloads.reconcile.delete import sync_deletion, sync_suspension
from workloads.reconcile.spec import served_kind, spec_of, target_of
from workloads.reconcile.status import status_of

SOON = timedelta(seconds=5)
LONG = timedelta(minutes=10)
COMPARE_TASK = "workloads.compare"


def reconcile_workload(workload: Workload) -> Outcome:
    """Reconcile one row over the gateway of its cluster. Raises `GatewayError` for what the runner retries."""
    return sync_workload(workload, gateway_for(workload.cluster))


def sync_workload(workload: Workload, gateway: Gateway) -> Outcome:
    """The same over any gateway."""
    if workload.is_being_deleted:
        return sync_deletion(workload, gateway)
    if workload.desired_phase == DesiredPhase.STOPPED:
        return sync_suspension(workload, gateway)
    try:
        applied = _apply(workload, gateway)
    except (InvalidInput, NameTaken, Rejected) as error:
        return _refused(workload, error)
    conditions = (
        Condition("Accepted", "True", "Applied", "It can be written to the cluster."),
        Condition("Synced", "True", "Applied", "The cluster has what is wanted."),
        _in_sync(workload, applied),
    )
    status = status_of(workload, applied.live or {})
    _hint_comparison(workload, status.phase)
    return Outcome(
        phase=status.phase,
        conditions=conditions + status.conditions,
        columns=status.columns,
        check_again_after=SOON if applied.changed else RESYNC,
    )


def _hint_comparison(workload: Workload, phase: str) -> None:
    """Where something was foretold of it and it has pods, let it be compared. 1 query, none while it is created."""
    if phase == "Creating":
        return
    rows = Prediction.objects.filter(workload=workload, outcome=Agreement.OPEN)
    for pk in rows.values_list("pk", flat=True)[:1]:
        hint_task(COMPARE_TASK, pk)


def _apply(workload: Workload, gateway: Gateway) -> Applied:
    kind = served_kind(gateway)
    spec = spec_of(workload)
    manifest = graph_manifest(spec, target_of(spec, gateway, kind))
    return apply_if_different(gateway, kind, manifest)


def _in_sync(workload: Workload, applied: Applied) -> Condition:
    """Whether somebody else changed or deleted it."""
    if applied.made and was_written(workload.conditions, generation=workload.generation):
        return deletion_repaired([f"DynamoGraphDeployment {workload.name}"])
    if applied.drift:
        fields = ", ".join(applied.drift)
        message = f"Somebody else changed {fields}; it was put back."
        return Condition("InSync", "False", "DriftRepaired", message, arguments=(("fields", fields),))
    return Condition("InSync", "True", "InSync", "Nobody has changed what Muster wrote.")


def _refused(workload: Workload, error: MusterError) -> Outcome:
    """Nothing that waiting would mend: the spec, or the name, must change. What runs is still observed."""
    accepted = Condition("Accepted", "False", error.reason, error.message)
    status = status_of(workload, {})
    phase = "Failed" if status.phase == "Creating" else status.phase
    columns = {**status.columns, "waiting_reason": {"code": "Refused", "arguments": {"message": error.message}}}
    return Outcome(
        phase=phase,
        conditions=(accepted, *status.conditions),
        columns=columns if phase == "Failed" else status.columns,
        check_again_after=LONG,
    )
