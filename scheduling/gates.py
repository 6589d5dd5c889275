"""Quota gates: limit and non-preemptible quota, at the queue and at every ancestor (KAI's capacity_policy)."""

from collections.abc import Sequence

from scheduling import verdicts
from scheduling.queues import QueueState, QueueTree
from scheduling.resources import DIVIDED, Triple, at_most, from_triple
from scheduling.state import FitError, Job, Task, total
from scheduling.structs import UNLIMITED, QueueDetails, Resources

OVER_LIMIT = "OverLimit"
OVER_QUOTA = "NonPreemptibleOverQuota"


def check_gates(queues: QueueTree, job: Job, tasks: Sequence[Task]) -> FitError | None:
    """The first queue, from the leaf up, that refuses these pods together; None when all let them pass."""
    request = total(tasks)
    return _over_limit(queues, job, request) or over_quota(queues, job, request)


def _over_limit(queues: QueueTree, job: Job, request: Triple) -> FitError | None:
    queue = queues.by_name.get(job.queue)
    for each in queue.chain() if queue else ():
        for index in DIVIDED:
            if each.limit[index] == UNLIMITED or request[index] == 0:
                continue
            if not at_most(each.allocated[index] + request[index], each.limit[index]):
                text = verdicts.over_limit(each, index, request[index])
                held = Resources() if job.group.preemptible else from_triple(request)
                return FitError(OVER_LIMIT, [text], _details(each, request, held))
    return None


def over_quota(queues: QueueTree, job: Job, request: Triple) -> FitError | None:
    """Non-preemptible pods may not exceed the quota of the queue or of any ancestor."""
    if job.group.preemptible:
        return None
    queue = queues.by_name.get(job.queue)
    for each in queue.chain() if queue else ():
        for index in DIVIDED:
            if each.deserved[index] == UNLIMITED or request[index] == 0:
                continue
            if not at_most(each.non_preemptible[index] + request[index], each.deserved[index]):
                text = verdicts.over_quota(each, index, request)
                return FitError(OVER_QUOTA, [text], _details(each, request, from_triple(request)))
    return None


def _details(queue: QueueState, request: Triple, non_preemptible: Resources) -> QueueDetails:
    return QueueDetails(
        name=queue.name,
        requested=from_triple(queue.request),
        deserved=from_triple(queue.deserved),
        allocated=from_triple(queue.allocated),
        allocated_non_preemptible=from_triple(queue.non_preemptible),
        limits=from_triple(queue.limit),
        podgroup_requested=from_triple(request),
        podgroup_requested_non_preemptible=non_preemptible,
    )
