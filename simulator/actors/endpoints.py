"""Plays the EndpointSlice controller: one slice per Service with a selector. Leave it out beside a real one."""

from clusters.kinds import ENDPOINT_SLICE, POD, SERVICE
from clusters.operators.objects import (
    Key,
    fingerprint,
    has_condition,
    is_deleting,
    key_of,
    labels_of,
    owner_reference,
    spec_of,
    status_of,
)
from simulator.actors.controller import Controller
from simulator.client import Object

BY_NAMESPACE = "namespace"


class EndpointSlices(Controller):
    component = "kube-controller-manager"
    kinds = (SERVICE, POD, ENDPOINT_SLICE)
    workers = 1

    def setup(self) -> None:
        for kind in (SERVICE, POD):
            self.informer(kind).add_index(BY_NAMESPACE, lambda obj: [obj["metadata"]["namespace"]])
        self.watch(SERVICE)
        self.informer(POD).subscribe(self._on_pod)
        self.informer(ENDPOINT_SLICE)

    async def reconcile(self, key: Key) -> float | None:
        service = self.informer(SERVICE).get(key)
        if service is None or is_deleting(service) or not spec_of(service).get("selector"):
            return None
        pods = [pod for pod in self.informer(POD).by_index(BY_NAMESPACE, key[0]) if _selects(service, pod)]
        await self.context.ensure(ENDPOINT_SLICE, endpoint_slice(service, sorted(pods, key=key_of)))
        return None

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        """Only what a slice shows counts: address, readiness, existence."""
        if old is not None and new is not None and _shown(old) == _shown(new):
            return
        pod = new or old
        if pod is None:
            return
        for service in self.informer(SERVICE).by_index(BY_NAMESPACE, pod["metadata"]["namespace"]):
            if _selects(service, pod):
                self.queue.add(key_of(service))


def endpoint_slice(service: Object, pods: list[Object]) -> Object:
    """The slice of a Service: an endpoint for every pod that has an address."""
    metadata = service["metadata"]
    ports = [
        {"name": port.get("name", ""), "port": _number(port), "protocol": port.get("protocol", "TCP")}
        for port in spec_of(service).get("ports") or ()
    ]
    return {
        "apiVersion": ENDPOINT_SLICE.api_version,
        "kind": ENDPOINT_SLICE.kind,
        "metadata": {
            "name": f"{metadata['name']}-{fingerprint(metadata['uid'], 5)}",
            "namespace": metadata["namespace"],
            "labels": {
                **labels_of(service),
                "kubernetes.io/service-name": metadata["name"],
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            },
            "ownerReferences": [owner_reference(service, SERVICE)],
        },
        "addressType": "IPv4",
        "endpoints": [_endpoint(pod) for pod in pods if status_of(pod).get("podIP")],
        "ports": ports,
    }


def _endpoint(pod: Object) -> Object:
    ready = has_condition(pod, "Ready") and not is_deleting(pod)
    metadata = pod["metadata"]
    return {
        "addresses": [status_of(pod)["podIP"]],
        "conditions": {"ready": ready, "serving": has_condition(pod, "Ready"), "terminating": is_deleting(pod)},
        "nodeName": spec_of(pod).get("nodeName", ""),
        "targetRef": {
            "kind": "Pod",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
    }


def _number(port: Object) -> int:
    """A named target port is the container's; its number is the service's in everything that runs here."""
    target = port.get("targetPort")
    return target if isinstance(target, int) else int(port["port"])


def _selects(service: Object, pod: Object) -> bool:
    selector = spec_of(service).get("selector") or {}
    return bool(selector) and selector.items() <= labels_of(pod).items()


def _shown(pod: Object) -> tuple[str, bool, bool, dict[str, str]]:
    return (
        status_of(pod).get("podIP", ""),
        has_condition(pod, "Ready"),
        is_deleting(pod),
        dict(labels_of(pod)),
    )
