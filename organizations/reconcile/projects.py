"""One project: its namespace, secrets, and a queue per node pool below the department's."""

from contextlib import suppress

from clusters.connections import gateway_for
from clusters.kinds import NAMESPACE
from clusters.kube.errors import NameTaken, NotServed
from clusters.kube.gateway import Gateway
from core.conditions import Condition
from core.reconciling import RESYNC, Outcome
from organizations.models import Project
from organizations.quota_rows import ensure_quota_rows, queue_names
from organizations.reconcile.namespaces import Unlabelled, remove_namespace, sync_namespace
from organizations.reconcile.queues import (
    SOON,
    Parents,
    delete_queues,
    drift_condition,
    queue_conditions,
    sync_queues,
)
from organizations.reconcile.secrets import remove_secrets, sync_secrets
from organizations.rendering import owner_value
from topology.protection import protecting_kinds


def reconcile_project(project: Project) -> Outcome:
    """See `sync_project`."""
    return sync_project(project, gateway_for(project.cluster))


def sync_project(project: Project, gateway: Gateway) -> Outcome:
    """Apply, repair or delete what one project has in its cluster. Raises `GatewayError`."""
    if project.is_being_deleted:
        return _delete(project, gateway)
    try:
        namespace, deleted = sync_namespace(project, gateway)
    except NameTaken as error:
        arguments = (("madeBy", error.made_by),)
        return Outcome("NotReady", (Condition("Accepted", "False", "NameTaken", error.message, arguments=arguments),))
    except Unlabelled as error:
        told = (("name", error.name), ("label", error.label))
        return Outcome("NotReady", (Condition("Accepted", "False", "Unlabelled", str(error), arguments=told),))
    conditions = [Condition("Accepted", "True", "Accepted", "The project can be written."), namespace]
    if namespace.status == "True":
        conditions += sync_secrets(project, gateway)
    queues = sync_queues(project, gateway, _parents(project))
    if queues.problems:
        refused = any(c.type == "Accepted" for c in queues.problems)
        kept = [c for c in conditions if not (refused and c.type == "Accepted")]
        waits = all(c.reason == "ParentMissing" for c in queues.problems)
        again = SOON if waits else RESYNC
        return Outcome("NotReady", (*kept, *_first_of_type(queues.problems)), check_again_after=again)
    conditions += [c for c in queue_conditions(queues) if c.type != "InSync"]
    conditions.append(drift_condition(queues.drift, [*deleted, *queues.deleted]))
    if namespace.status != "True":
        return Outcome("NotReady", tuple(conditions), check_again_after=SOON)
    conditions.append(Condition("Synced", "True", "Applied", "The cluster has what is defined here."))
    return Outcome("Ready", tuple(conditions), check_again_after=queues.check_again_after)


def _first_of_type(problems: list[Condition]) -> list[Condition]:
    """Conditions are one per type: the messages of further ones of a type are joined to its first."""
    joined: dict[str, Condition] = {}
    for problem in problems:
        before = joined.get(problem.type)
        if before is None:
            joined[problem.type] = problem
        elif problem.message not in before.message:
            message = f"{before.message} {problem.message}"
            joined[problem.type] = Condition(
                before.type, before.status, before.reason, message, arguments=before.arguments
            )
    return list(joined.values())


def _parents(project: Project) -> Parents:
    """A queue without a parent would escape the department's quota, so the department's rows are made first."""
    rows = ensure_quota_rows(project.department)
    return Parents({row.node_pool_id: row.queue_name for row in rows}, owner_value(project.department))


def _delete(project: Project, gateway: Gateway) -> Outcome:
    """Workloads first (their own deletion), then the namespace with all in it, then the queues."""
    left = protecting_kinds(project)
    if not left:
        left = _remove(project, gateway)
    if not left:
        return Outcome(gone=True)
    message = f"Waiting for {', '.join(left[:20])} to go."
    waiting = Condition("Synced", "False", "Deleting", message, arguments=(("objects", ", ".join(left)),))
    return Outcome("Deleting", (waiting,), check_again_after=SOON)


def _remove(project: Project, gateway: Gateway) -> list[str]:
    if project.adopts_namespace and gateway.get(NAMESPACE, project.namespace) is not None:
        remove_secrets(project, gateway)
    namespace = remove_namespace(project, gateway)
    if namespace:
        return [namespace]
    with suppress(NotServed):
        return delete_queues(gateway, owner_value(project), named=queue_names(project))
    return []
