"""Averages, sums and maxima over GPUs that say what they are and how many were measured. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from metrics.frames import UNMEASURED, Bytes, Layout, Owners


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

    `held`: GPUs with an owner; `idle`: held ones measured below the threshold.
    """

    gpus: int
    measured: int
    average: float | None
    maximum: int | None
    held: int
    idle: int
    held_average: float | None

    @property
    def unmeasured(self) -> int:
        """GPUs without a value."""
        return self.gpus - self.measured


@dataclass(frozen=True, slots=True)
class Point:
    """One moment of a series: the average and the maximum over its GPUs, in percent, and how many were measured."""

    at: datetime
    average: float | None
    maximum: int | None
    measured: int


IDLE_BELOW = 5


def positions(layout: Layout, nodes: Sequence[str]) -> "np.typing.NDArray[np.bool_]":
    """A mask of the GPUs on these nodes."""
    wanted = set(nodes)
    chosen = np.array([name in wanted for name in layout.nodes], dtype=bool)
    return np.repeat(chosen, layout.slots)


def owned_by(moment: Moment, keys: Sequence[str]) -> "np.typing.NDArray[np.bool_]":
    """A mask of the GPUs that these owners held at that moment."""
    wanted = set(keys)
    numbers = [index + 1 for index, key in enumerate(moment.owners) if key in wanted]
    mask: np.typing.NDArray[np.bool_] = np.isin(moment.owner, numbers)
    return mask


def summary(moment: Moment, mask: "np.typing.NDArray[np.bool_] | None" = None) -> Summary:
    """Figures over the GPUs of the mask (None: all) that their exporter listed."""
    here = moment.present.astype(bool)
    if mask is not None:
        here &= mask
    values = moment.utilisation[here]
    known = values[values != UNMEASURED]
    held = moment.owner[here] > 0
    held_known = values[held & (values != UNMEASURED)]
    return Summary(
        gpus=int(here.sum()),
        measured=len(known),
        average=float(known.mean()) if len(known) else None,
        maximum=int(known.max()) if len(known) else None,
        held=int(held.sum()),
        idle=int((held_known < IDLE_BELOW).sum()),
        held_average=float(held_known.mean()) if len(held_known) else None,
    )


def with_expected(found: Summary, *, gpus: int, held: int) -> Summary:
    """The same over a set that is known to have this many GPUs: those that no exporter lists are unmeasured."""
    return replace(found, gpus=max(found.gpus, gpus), held=max(found.held, held))


def point(moment: Moment, mask: "np.typing.NDArray[np.bool_] | None" = None, *, held_only: bool = False) -> Point:
    """One moment of the series over the mask; `held_only`: only GPUs that somebody holds."""
    here = moment.present.astype(bool)
    if mask is not None:
        here &= mask
    if held_only:
        here &= moment.owner > 0
    values = moment.utilisation[here]
    known = values[values != UNMEASURED]
    if not len(known):
        return Point(moment.at, None, None, 0)
    return Point(moment.at, float(known.mean()), int(known.max()), len(known))


def distribution(moment: Moment) -> Mapping[str, int]:
    """How many GPUs of each tenth of utilisation ("0"–"9"), and how many are unmeasured."""
    here = moment.utilisation[moment.present.astype(bool)]
    known = here[here != UNMEASURED]
    tenths = np.bincount(np.minimum(known // 10, 9), minlength=10)
    return {**{str(i): int(n) for i, n in enumerate(tenths)}, "unmeasured": int(len(here) - len(known))}
