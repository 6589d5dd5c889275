"""Events of a workload as one person may read them: KAI names the workload and the queues for which it evicts a pod."""

import re
from collections.abc import Iterable

from django.utils.translation import gettext as _

from clusters.models import ClusterEvent
from topology.hooks import names_for, reads_all_work
from workloads.models import Workload
from workloads.selectors import Person

# As `scheduling.verdicts` writes them; some versions of KAI write a line's end as two characters.
_WORKLOAD = re.compile(r"(?<=workload )([^\s/]+)/\S*?(?=\.?(?:\s|\\n|$))")
_QUEUE = re.compile(r"(?:^|(?<=\\n))[^\s\\]+(?= uses <)", re.MULTILINE)


def told_events(user: Person, workload: Workload, events: Iterable[ClusterEvent]) -> list[ClusterEvent]:
    """The same events; what they name of projects that `user` may not know is "another project", amounts stay.

    No query unless an event names somebody.
    """
    found = list(events)
    naming = [event for event in found if _WORKLOAD.search(event.message) or _QUEUE.search(event.message)]
    if not naming or reads_all_work(user, workload.cluster_id):
        return found
    queues, namespaces = names_for(user, workload.cluster)
    known = {*namespaces, workload.project.namespace}

    def workload_told(match: re.Match[str]) -> str:
        return match[0] if match[1] in known else _("of another project")

    def queue_told(match: re.Match[str]) -> str:
        return match[0] if match[0] in queues else _("another project")

    for event in naming:
        event.message = _QUEUE.sub(queue_told, _WORKLOAD.sub(workload_told, event.message))
    return found
