"""The figures by which the GPU map can be coloured (see `clusters.colours`)."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from django.utils.translation import gettext_lazy as _

from clusters.colours import Colour, Devices
from clusters.models import Cluster
from metrics.frames import UNMEASURED
from metrics.selectors import freshness, latest, layout_of


def read(cluster: Cluster, figure: str) -> Mapping[str, Devices] | None:
    """The newest figure of every GPU of a cluster, by node; None where there is no current one. 3 queries."""
    layout = layout_of(cluster)
    moment = latest(cluster, layout) if freshness(cluster).state == "fresh" else None
    if moment is None:
        return None
    values, slots = getattr(moment, figure), layout.slots
    found = {}
    for index, name in enumerate(layout.nodes):
        places = [(slot, index * slots + slot) for slot in range(slots) if moment.present[index * slots + slot]]
        found[name] = Devices(
            {slot: None if values[at] == UNMEASURED else int(values[at]) for slot, at in places},
            frozenset(slot for slot, at in places if moment.owner[at]),
        )
    return found


def version(cluster: Cluster) -> datetime | None:
    """When the newest figures were read; None where there are no current ones. 1 query."""
    known = freshness(cluster)
    return known.read_at if known.state == "fresh" else None


COLOURS = (
    Colour("utilisation", _("Utilisation"), "%", partial(read, figure="utilisation"), version),
    Colour("memory", _("Memory"), "%", partial(read, figure="memory"), version),
    Colour("temperature", _("Temperature"), "°C", partial(read, figure="temperature"), version),
)
