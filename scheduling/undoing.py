"""Taking back what a cycle did to a session, so that the next question is asked of the same one."""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from scheduling.session import Session
from scheduling.state import Job


class Amounts:
    """What nodes and queues hold, to give it back exactly: sums of fractions drift."""

    def __init__(self, session: Session) -> None:
        self.idle, self.releasing = session.nodes.idle.copy(), session.nodes.releasing.copy()
        self.fair = dict(session.fair_share)
        self.queues = {
            name: (list(queue.allocated), list(queue.non_preemptible), list(queue.request), list(queue.fair))
            for name, queue in session.queues.by_name.items()
        }

    def give_back(self, session: Session) -> None:
        """Make the session's amounts these."""
        session.nodes.idle[:], session.nodes.releasing[:] = self.idle, self.releasing
        session.fair_share = dict(self.fair)
        session.budget = session.config.search_budget
        for name, (allocated, firm, request, fair) in self.queues.items():
            queue = session.queues.by_name[name]
            queue.allocated[:], queue.non_preemptible[:] = allocated, firm
            queue.request[:], queue.fair[:] = request, fair


def undo(session: Session, jobs: Iterable[Job], holds: Amounts) -> None:
    """Take everything back that these jobs went through."""
    session.restore()
    for job in jobs:
        if job.errors or job.task_errors:
            job.errors.clear()
            job.task_errors.clear()
    holds.give_back(session)


def can_be_undone(session: Session) -> bool:
    """Whether everything that a cycle does to it can be taken back: not where pods share GPUs or mind other pods."""
    return session.nodes.neighbours is None and not session.sharing


@contextmanager
def collector_paused() -> Iterator[None]:
    """Tens of thousands of objects are made, and all stay: looking for cycles among them would cost twice as much."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
