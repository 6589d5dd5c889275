"""What the watcher tells others after a batch is committed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from clusters.kinds import Kind
from clusters.models import Cluster

ChangeType = Literal["added", "modified", "deleted"]


@dataclass(frozen=True, slots=True)
class Change:
    """One observed object that changed. `owner` is the value of `OWNER_LABEL`; labels are empty for deletions of
    objects that this process had not read before. Of an Event `about` is the kind and name of what it speaks of, in
    `namespace`."""

    kind: Kind
    type: ChangeType
    name: str
    namespace: str = ""
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    about: tuple[str, str] = ("", "")


# Pokes the rows that the changes concern. Called outside the batch's transaction; must not raise for odd objects.
Interest = Callable[[Cluster, Sequence[Change]], None]
