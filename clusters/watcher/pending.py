"""What one stream has read and the database does not know yet. Shared by the reading and the writing thread. No Django.

Per uid only the newest state waits, so that a storm of events costs one row each. Resource versions never move
backwards for a uid, and a uid that was deleted does not come back (Kubernetes gives each object a new one).
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Condition
from typing import Any

MAX_WAITING = 1000
MAX_TOMBSTONES = 20_000


@dataclass(frozen=True, slots=True)
class Batch:
    """Objects to upsert and uids to delete."""

    upserts: Mapping[str, Any] = field(default_factory=dict)
    deletes: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.upserts or self.deletes)


def version_number(resource_version: str) -> int:
    """Resource versions as numbers to compare (promised since Kubernetes 1.35; true of every version with etcd)."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdigit() else 0


class Pending:
    """The waiting changes of one stream. `known`: uid → resource version, as written or waiting."""

    def __init__(self, known: dict[str, str] | None = None) -> None:
        self._changed = Condition()
        self.known = known if known is not None else {}
        self._upserts: dict[str, Any] = {}
        self._deletes: set[str] = set()
        self._tombstones: OrderedDict[str, int] = OrderedDict()
        self._closed = False

    def upsert(self, uid: str, resource_version: str, item: Any) -> bool:
        """Note an object that was read. False: it is not newer than what is known. Waits while too much waits."""
        number = version_number(resource_version)
        with self._changed:
            if uid in self._tombstones and number <= self._tombstones[uid]:
                return False
            known = self.known.get(uid)
            if known is not None and (known == resource_version or version_number(known) > number):
                return False
            self._changed.wait_for(lambda: len(self._upserts) < MAX_WAITING or self._closed)
            self.known[uid] = resource_version
            self._upserts[uid] = item
            self._deletes.discard(uid)
            return True

    def delete(self, uid: str, resource_version: str) -> None:
        """Note that an object is gone for good, or is no longer of interest (then with its own version)."""
        with self._changed:
            self._bury(uid, version_number(resource_version))

    def complete(self, absent: Iterable[str], list_version: str) -> None:
        """Note what a list that was read to its end did not hold: of that, what is not newer than it is gone."""
        number = version_number(list_version)
        with self._changed:
            for uid in absent:
                known = self.known.get(uid)
                if known is not None and (version_number(known) <= number or not number):
                    self._bury(uid, number)

    def forget(self, absent: Iterable[str]) -> None:
        """Drop from `known` without deleting anything: for kinds whose rows outlive objects."""
        with self._changed:
            for uid in absent:
                if uid not in self._upserts:
                    self.known.pop(uid, None)

    def take(self) -> Batch:
        """Everything that waits; empties it."""
        with self._changed:
            batch = Batch(self._upserts, frozenset(self._deletes))
            self._upserts, self._deletes = {}, set()
            self._changed.notify_all()
            return batch

    def give_back(self, batch: Batch) -> None:
        """Return a batch that could not be written; what was read since wins."""
        with self._changed:
            for uid in batch.deletes:
                if uid not in self._upserts:
                    self._deletes.add(uid)
            for uid, item in batch.upserts.items():
                if uid not in self._deletes:
                    self._upserts.setdefault(uid, item)

    def close(self) -> None:
        """Let a reader that waits go on: nobody will take any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _bury(self, uid: str, number: int) -> None:
        self._upserts.pop(uid, None)
        if self.known.pop(uid, None) is not None:
            self._deletes.add(uid)
        self._tombstones[uid] = max(number, self._tombstones.get(uid, 0))
        while len(self._tombstones) > MAX_TOMBSTONES:
            self._tombstones.popitem(last=False)
