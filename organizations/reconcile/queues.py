"""The queues of one department or project: applied, repaired, counted, deleted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from clusters.drift import apply_if_different, delete_if_ours, is_ours, made_by, owner_of
from clusters.kinds import KAI_QUEUE
from clusters.kube.errors import BeingDeleted, Forbidden, NameTaken, NotServed, Rejected
from clusters.kube.gateway import Gateway, Manifest
from clusters.names import OWNER_LABEL
from core.conditions import Condition, deletion_repaired, find
from core.reconciling import RESYNC
from organizations.models import Department, Project, Quota
from organizations.queue_names import makes_cycle
from organizations.quota_rows import ensure_quota_rows, store_usage
from organizations.rendering import owner_value, queue_of

SOON = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Parents:
    """The queues of the department above: node pool id → name, and whose they are. Departments have none."""

    names: Mapping[int, str] = field(default_factory=dict)
    owner: str = ""


@dataclass(slots=True)
class Queues:
    """What became of the queues. `before` were there at the last look, `deleted` are those that somebody had deleted
    since, `problems` keep the owner from being ready, `waiting` are still to go."""

    before: frozenset[str]
    names: list[str] = field(default_factory=list)
    drift: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    problems: list[Condition] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    @property
    def check_again_after(self) -> timedelta:
        """Soon while a queue is still to go, else with the next resync."""
        return SOON if self.waiting else RESYNC


def sync_queues(owner: Department | Project, gateway: Gateway, parents: Parents = Parents()) -> Queues:
    """Apply the queue of each node pool, delete those of pools that go, copy their usage into the rows.

    Raises `GatewayError`; what concerns one queue only becomes a problem and does not stop the others.
    """
    found = Queues(_queues_before(owner))
    label = owner_value(owner)
    live: list[Manifest] = []
    wanted = [quota for quota in ensure_quota_rows(owner) if not quota.node_pool.is_being_deleted]
    try:
        for quota in wanted:
            parent = parents.names.get(quota.node_pool_id, "")
            problem = _parent_problem(gateway, quota.queue_name, parent, parents.owner) if parent else None
            if problem is not None:
                found.problems.append(problem)
                continue
            applied = _apply(gateway, quota, parent, found)
            if applied is not None:
                live.append(applied)
        found.waiting = delete_queues(gateway, label, keep={quota.queue_name for quota in wanted})
    except NotServed as error:
        message = f"The cluster does not serve KAI's Queue ({error.message}): install KAI Scheduler."
        found.problems.append(Condition("Synced", "False", "NotServed", message))
    store_usage(owner.cluster, live)
    return found


def _queues_before(owner: Department | Project) -> frozenset[str]:
    """The queues that the last look left as they are defined."""
    ready = find(owner.conditions, "QueuesReady") or {}
    return frozenset(filter(None, (ready.get("arguments") or {}).get("queues", "").split(", ")))


def _apply(gateway: Gateway, quota: Quota, parent: str, found: Queues) -> Manifest | None:
    name = quota.queue_name
    try:
        applied = apply_if_different(gateway, KAI_QUEUE, queue_of(quota, parent))
    except NameTaken as error:
        message = f"{error.message} Muster leaves it alone; until it is gone, node pool {quota.node_pool} has no queue."
        arguments = (("queue", name), ("madeBy", error.made_by), ("pool", quota.node_pool.name))
        found.problems.append(Condition("Accepted", "False", "NameTaken", message, arguments=arguments))
        return None
    except BeingDeleted as error:
        problem = Condition("QueuesReady", "False", error.reason, error.message, arguments=(("queue", name),))
        found.problems.append(problem)
        return gateway.get(KAI_QUEUE, name)
    found.names.append(name)
    if applied.made and name in found.before:
        found.deleted.append(f"Queue {name}")
    found.drift += [f"{path} of Queue {name}" for path in applied.drift]
    return applied.live


def _parent_problem(gateway: Gateway, name: str, parent: str, parent_owner: str) -> Condition | None:
    """Why `name` can't be written below `parent` now: absent, it would vanish; in a cycle, it hangs the scheduler; of
    somebody else, it would take part in their quota."""
    parents: dict[str, str] = {}
    above = parent
    while above and above not in parents and len(parents) < 32:
        queue = gateway.get(KAI_QUEUE, above)
        if queue is None:
            message = f"Queue {name} waits for its parent {above}, which is not in the cluster yet."
            arguments = (("queue", name), ("parent", above))
            return Condition("QueuesReady", "False", "ParentMissing", message, arguments=arguments)
        if above == parent and not is_ours(queue, parent_owner):
            message = f"Queue {name} is not written: its parent {parent} was made by {made_by(queue)}."
            arguments = (("queue", name), ("parent", parent))
            return Condition("QueuesReady", "False", "ParentForeign", message, arguments=arguments)
        parents[above] = str((queue.get("spec") or {}).get("parentQueue") or "")
        above = parents[above]
    if above in parents or makes_cycle(name, parent, parents):
        chain = " → ".join([*parents, above])
        message = f"Queue {name} is not written: its parents form a cycle ({chain}), which would stop all scheduling."
        return Condition("QueuesReady", "False", "ParentCycle", message, arguments=(("chain", chain),))
    return None


def delete_queues(gateway: Gateway, label: str, *, keep: Iterable[str] = (), named: Iterable[str] = ()) -> list[str]:
    """Ask for deletion of our queues that are not in `keep`; names of those that are still there.

    `named` are looked at by name too: somebody may have taken the label off that says whose they are.
    """
    kept = set(keep)
    listed = gateway.list(KAI_QUEUE, label_selector=f"{OWNER_LABEL}={label}")
    ours = {queue["metadata"]["name"]: queue for queue in listed if owner_of(queue) == label}
    for name in named:
        queue = None if name in ours else gateway.get(KAI_QUEUE, name)
        if queue is not None and is_ours(queue, label):
            ours[name] = queue
    return [f"Queue/{name}" for name, queue in ours.items() if name not in kept and not _is_gone(gateway, queue, label)]


def _is_gone(gateway: Gateway, queue: Manifest, label: str) -> bool:
    """False while it is there: its children are deleted first, until then KAI's webhook refuses."""
    if (queue.get("status") or {}).get("childQueues"):
        return False
    try:
        return delete_if_ours(gateway, KAI_QUEUE, queue["metadata"]["name"], owner=label)
    except (Rejected, Forbidden) as error:
        if "child queues" in error.message:
            return False
        raise


def queue_conditions(found: Queues) -> list[Condition]:
    """The conditions that a sync of queues leads to."""
    if found.problems:
        return found.problems
    count = len(found.names)
    message = f"{count} queues are as defined here." if count != 1 else "1 queue is as defined here."
    arguments = (("queues", ", ".join(found.names)),)
    return [
        Condition("QueuesReady", "True", "Applied", message, arguments=arguments),
        drift_condition(found.drift, found.deleted),
    ]


def drift_condition(drift: Iterable[str], deleted: Sequence[str]) -> Condition:
    """Whether somebody had changed or deleted what we wrote."""
    if deleted:
        return deletion_repaired(deleted)
    fields = ", ".join(drift)
    if not fields:
        return Condition("InSync", "True", "InSync", "Nobody has changed what Muster wrote.")
    message = f"Somebody had changed {fields}; it was put back."
    return Condition("InSync", "False", "DriftRepaired", message, arguments=(("fields", fields),))
