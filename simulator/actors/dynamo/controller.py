"""Reconciles DynamoGraphDeployments on the Grove path, in whichever version the server serves."""

from clusters.kinds import (
    DYNAMO_GRAPH_DEPLOYMENT,
    DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1,
    GROVE_CLUSTER_TOPOLOGY_BINDING,
    GROVE_POD_CLIQUE,
    GROVE_POD_CLIQUE_SET,
    GROVE_SCALING_GROUP,
    KAI_QUEUE,
    SERVICE,
    SERVICE_ACCOUNT,
    Kind,
)
from clusters.operators.dynamo.graph import Graph, read_graph
from clusters.operators.dynamo.render import pod_clique_set, queue_of, service_account, services
from clusters.operators.grove.topology import Bindings, domain_keys
from clusters.operators.objects import Key, controller_of, is_deleting, key_of
from simulator.actors.controller import Controller, replaced_or_deleting
from simulator.actors.dynamo.admission import refusal
from simulator.actors.dynamo.status import component_state, failed_status, graph_status
from simulator.actors.grove.admission import WEBHOOK
from simulator.actors.grove.admission import refusal as grove_refusal
from simulator.actors.grove.podcliqueset import BY_SET, by_set, set_key
from simulator.client import Object

RETRY_S = 2.0


class GraphController(Controller):
    component = "dynamo-operator"
    kinds = (
        DYNAMO_GRAPH_DEPLOYMENT,
        DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1,
        GROVE_POD_CLIQUE_SET,
        GROVE_POD_CLIQUE,
        GROVE_SCALING_GROUP,
        GROVE_CLUSTER_TOPOLOGY_BINDING,
        KAI_QUEUE,
        SERVICE,
    )

    def setup(self) -> None:
        self.watch(DYNAMO_GRAPH_DEPLOYMENT)
        self.watch(DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1)
        self.watch(GROVE_POD_CLIQUE_SET, _graph_of_set)
        for kind in (GROVE_POD_CLIQUE, GROVE_SCALING_GROUP):
            self.informer(kind).add_index(BY_SET, by_set)
            self.watch(kind, set_key)
        self.watch(KAI_QUEUE, lambda _: map(key_of, self._graphs()), when=replaced_or_deleting)
        for kind in (GROVE_CLUSTER_TOPOLOGY_BINDING, SERVICE, SERVICE_ACCOUNT):
            self.informer(kind)

    async def reconcile(self, key: Key) -> float | None:
        kind, dgd = self._find(key)
        if dgd is None or is_deleting(dgd):
            return None
        domains = {name: set(domain_keys(binding)) for name, binding in self._bindings().items()}
        problem = refusal(dgd, domains)
        if problem:
            return await self._fail(kind, dgd, problem)
        graph = read_graph(dgd)
        if not graph.uses_grove:
            return await self._fail(kind, dgd, "the plain Deployment path is not simulated: Grove is needed")
        kai = self.context.options.kai_enabled
        if kai and self.informer(KAI_QUEUE).get(("", queue_of(graph))) is None:
            return await self._fail(kind, dgd, f"queue '{queue_of(graph)}' not found in cluster")
        pcs = pod_clique_set(dgd, graph, kai=kai)
        refused = grove_refusal(pcs, self._bindings(), own_backend=self.context.options.grove_kai_backend)
        if refused:
            return await self._fail(kind, dgd, f"failed to sync PodCliqueSet: {WEBHOOK}{refused}")
        await self._sync(dgd, graph, pcs)
        await self._report(kind, dgd, graph)
        return None

    def _find(self, key: Key) -> tuple[Kind, Object | None]:
        kind = self._version()
        return kind, self.informer(kind).get(key)

    def _graphs(self) -> list[Object]:
        return self.informer(self._version()).values()

    def _version(self) -> Kind:
        """v1beta1 where it is served, else v1alpha1, which says less: it has no minAvailable."""
        served = self.informer(DYNAMO_GRAPH_DEPLOYMENT).served
        return DYNAMO_GRAPH_DEPLOYMENT if served else DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1

    def _bindings(self) -> Bindings:
        found = self.informer(GROVE_CLUSTER_TOPOLOGY_BINDING).values()
        return {binding["metadata"]["name"]: binding for binding in found}

    async def _sync(self, dgd: Object, graph: Graph, pcs: Object) -> None:
        await self.context.ensure(SERVICE_ACCOUNT, service_account(dgd, graph))
        for service in services(dgd, graph):
            await self.context.ensure(SERVICE, service)
        await self.context.ensure(GROVE_POD_CLIQUE_SET, pcs)

    async def _report(self, kind: Kind, dgd: Object, graph: Graph) -> None:
        key = key_of(dgd)
        found = {
            obj["metadata"]["name"]: obj
            for owned in (GROVE_POD_CLIQUE, GROVE_SCALING_GROUP)
            for obj in self.informer(owned).by_index(BY_SET, "/".join(key))
        }
        states = {c.name: component_state(c, graph, found) for c in graph.components}
        pcs = self.informer(GROVE_POD_CLIQUE_SET).get(key)
        status, conditions = graph_status(dgd, graph, states, pcs)
        await self.context.put_status(kind, dgd, status, conditions)

    async def _fail(self, kind: Kind, dgd: Object, message: str) -> float:
        status, conditions = failed_status(dgd, message)
        await self.context.put_status(kind, dgd, status, conditions)
        self.context.events.record(
            (kind, dgd), "ReconcileFailed", message, component=self.component, event_type="Warning"
        )
        return RETRY_S


def _graph_of_set(pcs: Object) -> list[Key]:
    owner = controller_of(pcs)
    if owner is None or owner["kind"] != DYNAMO_GRAPH_DEPLOYMENT.kind:
        return []
    return [(pcs["metadata"]["namespace"], owner["name"])]
