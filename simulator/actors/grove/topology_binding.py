"""Reconciles ClusterTopologyBindings: the KAI Topology of the same name, and whether both agree."""

from clusters.kinds import GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_TOPOLOGY
from clusters.operators.grove import names
from clusters.operators.grove.topology import binding_status, binds_itself, drift, kai_topology, reference
from clusters.operators.objects import Key, is_deleting, key_of
from simulator.actors.controller import Controller
from simulator.client import Object


class TopologyBindingController(Controller):
    """An owned Topology whose levels no longer fit is made anew: its levels are immutable."""

    component = names.OPERATOR
    kinds = (GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_TOPOLOGY)
    workers = 1

    def setup(self) -> None:
        self.watch(GROVE_CLUSTER_TOPOLOGY_BINDING)
        self.watch(KAI_TOPOLOGY, self._bindings_of_topology)

    async def reconcile(self, key: Key) -> float | None:
        binding = self.informer(GROVE_CLUSTER_TOPOLOGY_BINDING).get(key)
        if binding is None or is_deleting(binding):
            return None
        topologies = self.informer(KAI_TOPOLOGY)
        topology = topologies.get(("", reference(binding)))
        if topology is None and binds_itself(binding):
            topology, _ = await self.context.ensure(KAI_TOPOLOGY, kai_topology(binding))
        elif topology is not None and binds_itself(binding) and self._outdated(binding, topology):
            await self.context.delete(KAI_TOPOLOGY, topology)
            return None
        status, condition = binding_status(binding, topology)
        await self.context.put_status(GROVE_CLUSTER_TOPOLOGY_BINDING, binding, status, [condition])
        return None

    def _outdated(self, binding: Object, topology: Object) -> bool:
        return not is_deleting(topology) and drift(binding, topology).startswith("levels of")

    def _bindings_of_topology(self, topology: Object) -> list[Key]:
        name = topology["metadata"]["name"]
        return [
            key_of(binding)
            for binding in self.informer(GROVE_CLUSTER_TOPOLOGY_BINDING).values()
            if reference(binding) == name
        ]
