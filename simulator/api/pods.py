"""What only pods have: binding, eviction, and their logs."""

from typing import TYPE_CHECKING

from simulator.api import deleting
from simulator.api.errors import bad_request, conflict
from simulator.api.reading import get_entry
from simulator.api.requests import DeleteOptions, Target, WriteOptions
from simulator.api.store import Entry
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server


def bind(
    server: "Server", namespace: str, name: str, node: str, options: WriteOptions, annotations: Object | None = None
) -> None:
    """POST pods/binding: assign once; the node need not exist and nobody owns what is written, as at a real server."""
    resource = server.registry.find("", "v1", "pods")
    assert resource is not None  # noqa: S101 - pods are always served
    target = Target(resource, namespace, name)
    entry = get_entry(server, target)
    if not node:
        raise bad_request("invalid: target.name: Required value")
    spec = entry.object.get("spec") or {}
    if "deletionTimestamp" in entry.metadata:
        raise conflict("", "pods", name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
        raise conflict("", "pods/binding", name, why)
    gates = spec.get("schedulingGates")
    if gates:
        raise bad_request(f"pod {name} has non-empty .spec.schedulingGates")
    metadata = dict(entry.metadata)
    if annotations:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
    new = {**entry.object, "metadata": metadata, "spec": {**spec, "nodeName": node}}
    new["status"] = _scheduled(entry.object.get("status") or {}, server.now())
    if not options.dry_run:
        server.store.put(resource.storage, entry.key, new)


def evict(server: "Server", namespace: str, name: str, options: DeleteOptions) -> Entry | None:
    """POST pods/eviction: a graceful delete (no disruption budgets are served)."""
    resource = server.registry.find("", "v1", "pods")
    assert resource is not None  # noqa: S101 (always registered)
    return deleting.delete(server, Target(resource, namespace, name), options)


def _scheduled(status: Object, now: str) -> Object:
    condition = {
        "type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now
    }  # fmt: skip
    others = [item for item in status.get("conditions") or [] if item.get("type") != "PodScheduled"]
    return {**status, "conditions": [*others, condition]}
