"""Averages, sums and maxima over GPUs that say what they are and how many were measured. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from metrics.frames import UNMEASURED, Bytes, Layout, Owners

Indices = npt.NDArray[np.intp]
NOWHERE: Indices = np.empty(0, np.intp)


@dataclass(frozen=True, slots=True)
class Moment:
    """One frame, unpacked to the size of the layout in force."""

    at: datetime
    utilisation: Bytes
    memory: Bytes
    temperature: Bytes
    present: Bytes
    owner: Owners
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures over a set of GPUs. `average` is over the measured ones; None where none is: unmeasured is not 0.

    `held`: GPUs with an owner; `below`: held ones measured below the threshold.
    """

    gpus: int
    measured: int
    average: float | None
    maximum: int | None
    held: int
    below: int
    held_average: float | None

    @property
    def unmeasured(self) -> int:
        """GPUs without a value."""
        return self.gpus - self.measured

    @property
    def idle(self) -> int | None:
        """GPUs that are held and do nothing; None where some are held and none of them is measured."""
        return None if self.held and self.held_average is None else self.below


@dataclass(frozen=True, slots=True)
class Point:
    """One moment of a series: the average and the maximum over its GPUs, in percent, and how many were measured."""

    at: datetime
    average: float | None
    maximum: int | None
    measured: int


IDLE_BELOW = 5


def node_positions(layout: Layout) -> dict[str, Indices]:
    """Where the GPUs of each node stand in a frame."""
    return {
        name: np.arange(index * layout.slots, (index + 1) * layout.slots) for index, name in enumerate(layout.nodes)
    }


def positions(layout: Layout, nodes: Sequence[str]) -> Indices:
    """Where the GPUs of these nodes stand."""
    return together(node_positions(layout), nodes)


def owner_positions(moment: Moment) -> dict[str, Indices]:
    """Where the GPUs of each owner stood at that moment."""
    order = np.argsort(moment.owner, kind="stable")
    bounds = np.searchsorted(moment.owner[order], np.arange(1, len(moment.owners) + 2))
    return {key: order[bounds[index] : bounds[index + 1]] for index, key in enumerate(moment.owners)}


def owned_by(moment: Moment, keys: Sequence[str]) -> Indices:
    """Where the GPUs of these owners stood at that moment."""
    wanted = set(keys)
    numbers = [index + 1 for index, key in enumerate(moment.owners) if key in wanted]
    return np.flatnonzero(np.isin(moment.owner, numbers)) if numbers else NOWHERE


def together(places: Mapping[str, Indices], keys: Sequence[str]) -> Indices:
    """The positions of several keys; those that are not known have none."""
    found = [places[key] for key in keys if key in places]
    return np.concatenate(found) if found else NOWHERE


def summary(moment: Moment, at: Indices | None = None) -> Summary:
    """Figures over the GPUs at these positions (None: all) that their exporter listed."""
    present, values, owner = _chosen(moment, at)
    values, owner = values[present], owner[present]
    known = values[values != UNMEASURED]
    held = owner > 0
    held_known = values[held & (values != UNMEASURED)]
    return Summary(
        gpus=len(values),
        measured=len(known),
        average=float(known.mean()) if len(known) else None,
        maximum=int(known.max()) if len(known) else None,
        held=int(held.sum()),
        below=int((held_known < IDLE_BELOW).sum()),
        held_average=float(held_known.mean()) if len(held_known) else None,
    )


def with_expected(found: Summary, *, gpus: int, held: int) -> Summary:
    """The same over a set that is known to have this many GPUs: those that no exporter lists are unmeasured."""
    return replace(found, gpus=max(found.gpus, gpus), held=max(found.held, held))


def point(moment: Moment, at: Indices | None = None, *, held_only: bool = False) -> Point:
    """One moment of the series over the positions; `held_only`: only GPUs that somebody holds."""
    present, values, owner = _chosen(moment, at)
    known = values[present & (owner > 0) & (values != UNMEASURED) if held_only else present & (values != UNMEASURED)]
    if not len(known):
        return Point(moment.at, None, None, 0)
    return Point(moment.at, float(known.mean()), int(known.max()), len(known))


def _chosen(moment: Moment, at: Indices | None) -> tuple[npt.NDArray[np.bool_], Bytes, Owners]:
    if at is None:
        return moment.present.astype(bool), moment.utilisation, moment.owner
    return moment.present[at].astype(bool), moment.utilisation[at], moment.owner[at]


def distribution(moment: Moment) -> Mapping[str, int]:
    """How many GPUs of each tenth of utilisation ("0"–"9"), and how many are unmeasured."""
    here = moment.utilisation[moment.present.astype(bool)]
    known = here[here != UNMEASURED]
    tenths = np.bincount(np.minimum(known // 10, 9), minlength=10)
    return {**{str(i): int(n) for i, n in enumerate(tenths)}, "unmeasured": int(len(here) - len(known))}
