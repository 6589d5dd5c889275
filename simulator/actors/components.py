"""Plays the Deployment controller for the platform's own Deployments: ready, unless the fault `operator-down` is on."""

from clusters.kinds import DEPLOYMENT
from clusters.operators.objects import Key, annotations_of, is_deleting, key_of, spec_of
from simulator.actors.controller import Controller
from simulator.client import Object

ACTOR = "simulator.muster/component"
"""Deployment annotation: which simulated operator it is."""


class ComponentDeployments(Controller):
    kinds = (DEPLOYMENT,)
    workers = 1

    def setup(self) -> None:
        self.watch(DEPLOYMENT, self._ours)
        self.context.faults.on_change(self._all)

    async def reconcile(self, key: Key) -> float | None:
        deployment = self.informer(DEPLOYMENT).get(key)
        if deployment is None or is_deleting(deployment):
            return None
        actor = annotations_of(deployment).get(ACTOR, deployment["metadata"]["name"])
        down = self.context.is_down(actor)
        status, condition = deployment_status(deployment, down=down)
        await self.context.put_status(DEPLOYMENT, deployment, status, [condition])
        fault = self.context.faults.active("operator-down")
        return 1.0 if fault is not None and fault.ends_at is not None else None

    def _ours(self, deployment: Object) -> list[Key]:
        mine = deployment["metadata"]["namespace"] in self.context.options.component_namespaces
        return [key_of(deployment)] if mine else []

    def _all(self) -> None:
        for deployment in self.informer(DEPLOYMENT).values():
            for key in self._ours(deployment):
                self.queue.add(key)


def deployment_status(deployment: Object, *, down: bool) -> tuple[Object, Object]:
    """(status without conditions, the condition Available)."""
    wanted = spec_of(deployment).get("replicas", 1)
    ready = 0 if down else wanted
    status: Object = {
        "observedGeneration": deployment["metadata"].get("generation", 1),
        "replicas": wanted,
        "updatedReplicas": wanted,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": wanted - ready,
    }
    condition = {
        "type": "Available",
        "status": "False" if ready < wanted else "True",
        "reason": "MinimumReplicasUnavailable" if ready < wanted else "MinimumReplicasAvailable",
        "message": f"Deployment {'does not have' if ready < wanted else 'has'} minimum availability.",
    }
    return status, condition
