"""By what the GPU map can be coloured besides allocation: figures that packages above this one measure.

A package offers them in its module `gpu_colours` as `COLOURS`; this one looks there, as the watcher looks for
`interests`, so that it need not know who measures.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from django.apps import apps
from django.utils.functional import Promise

from clusters.models import Cluster


@dataclass(frozen=True, slots=True)
class Devices:
    """What was measured of one node's GPUs: device number → figure, None where it was not measured. Devices that the
    exporter did not list are absent. `held`: those that somebody holds."""

    values: Mapping[int, int | None]
    held: frozenset[int] = field(default=frozenset())


@dataclass(frozen=True, slots=True)
class Colour:
    """One figure, 0 to 100. `read` gives it by node name; None: nothing was ever measured on this cluster. `version`
    changes with what `read` gives, and is None where that is."""

    key: str
    label: str | Promise
    unit: str
    read: Callable[[Cluster], Mapping[str, Devices] | None]
    version: Callable[[Cluster], Hashable]


@cache
def measured_colours() -> tuple[Colour, ...]:
    """The colours that the installed packages offer."""
    modules = [f"{config.name}.gpu_colours" for config in apps.get_app_configs()]
    return tuple(colour for name in modules if find_spec(name) for colour in import_module(name).COLOURS)
