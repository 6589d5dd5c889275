"""Parts of mirrored objects that are of no use: of another type than readers of the kind may rely on.

A CRD of another version, or one without a schema, lets in a list where an object belongs. Amounts and texts stay as
they are: who reads those tells of wrong ones.
"""

from collections.abc import Mapping
from typing import Any

from clusters.kinds import KAI_POD_GROUP, KAI_QUEUE, KAI_TOPOLOGY, Kind

Shape = Mapping[str, Any]
"""Type by key: a mapping is an object with these keys, a list of one is a list of such objects."""

ANY: Shape = {}
SHAPES: Mapping[tuple[str, str], Shape] = {
    (KAI_QUEUE.group, KAI_QUEUE.plural): {
        "spec": {"resources": {"gpu": ANY, "cpu": ANY, "memory": ANY}},
        "status": ANY,
    },
    (KAI_TOPOLOGY.group, KAI_TOPOLOGY.plural): {"spec": {"levels": [ANY]}, "status": ANY},
    (KAI_POD_GROUP.group, KAI_POD_GROUP.plural): {
        "spec": {"topologyConstraint": ANY, "subGroups": [{"topologyConstraint": ANY}]},
        "status": {"schedulingConditions": [ANY], "conditions": [ANY]},
    },
}
OTHER: Shape = {"spec": ANY, "status": ANY}


def shaped(manifest: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """The manifest without the parts whose type is wrong."""
    return _object(manifest, SHAPES.get((kind.group, kind.plural), OTHER))


def _object(found: dict[str, Any], shape: Shape) -> dict[str, Any]:
    kept = {key: _part(value, shape[key]) if key in shape else value for key, value in found.items()}
    return {key: value for key, value in kept.items() if value is not None or key not in shape}


def _part(found: Any, shape: Any) -> Any:
    """None where the type is another."""
    if isinstance(shape, list):
        entries = found if isinstance(found, list) else ()
        parts = [_object(entry, shape[0]) for entry in entries if isinstance(entry, dict)]
        return parts if isinstance(found, list) else None
    return _object(found, shape) if isinstance(found, dict) else None
