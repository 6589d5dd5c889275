"""Reconciles PodCliqueSets: services, scaling groups, PodCliques, PodGangs, and PodGroups in Grove's own back-end."""

from collections.abc import Iterable

from clusters.kinds import (
    GROVE_CLUSTER_TOPOLOGY_BINDING,
    GROVE_POD_CLIQUE,
    GROVE_POD_CLIQUE_SET,
    GROVE_POD_GANG,
    GROVE_SCALING_GROUP,
    KAI_POD_GROUP,
    POD,
    SECRET,
    SERVICE,
    Kind,
)
from clusters.operators.grove import names
from clusters.operators.grove.cliques import headless_service, pod_cliques, scaling_groups
from clusters.operators.grove.defaults import defaulted_spec
from clusters.operators.grove.gangs import pod_gangs
from clusters.operators.grove.kai_backend import pod_group
from clusters.operators.grove.pods import start_order_token
from clusters.operators.grove.topology import Bindings, reference, topology_name
from clusters.operators.objects import Key, is_deleting, key_of, labels_of, mapping_of, spec_of
from simulator.actors.controller import Controller, replaced_or_deleting
from simulator.actors.grove.admission import queue_of, refusal
from simulator.actors.grove.status import gang_status, set_status
from simulator.client import Object

OWNED = (GROVE_POD_CLIQUE, GROVE_SCALING_GROUP, GROVE_POD_GANG)
BY_SET = "podcliqueset"
COMPONENT = "podcliqueset-controller"


def set_key(obj: Object) -> list[Key]:
    """Key of the PodCliqueSet that one of Grove's objects is part of."""
    labels = labels_of(obj)
    if labels.get(names.MANAGED_BY) != names.OPERATOR:
        return []
    return [(obj["metadata"].get("namespace", ""), labels.get(names.PART_OF, ""))]


def by_set(obj: Object) -> list[str]:
    """Index values of `BY_SET`."""
    return ["/".join(key) for key in set_key(obj)]


class PodCliqueSetController(Controller):
    component = names.OPERATOR
    kinds = (GROVE_POD_CLIQUE_SET, *OWNED, GROVE_CLUSTER_TOPOLOGY_BINDING, POD, SERVICE, SECRET)

    def setup(self) -> None:
        self.watch(GROVE_POD_CLIQUE_SET)
        for kind in (*OWNED, POD):
            self.informer(kind).add_index(BY_SET, by_set)
            self.watch(kind, set_key, when=replaced_or_deleting if kind is POD else None)
        self.watch(GROVE_CLUSTER_TOPOLOGY_BINDING, self._sets_of_binding)
        self.informer(SERVICE)
        self.informer(SECRET)
        if self.context.options.grove_kai_backend:
            self.informer(KAI_POD_GROUP)

    async def reconcile(self, key: Key) -> float | None:
        stored = self.informer(GROVE_POD_CLIQUE_SET).get(key)
        if stored is None:
            return None
        if is_deleting(stored):
            await self._finish(stored)
            return None
        await self.context.set_finalizers(GROVE_POD_CLIQUE_SET, stored, [names.SET_FINALIZER])
        refused = refusal(stored, self._bindings(), own_backend=self._own_backend)
        if refused:
            self._event(stored, "ValidationFailed", refused, "Warning")
            return None
        pcs = {**stored, "spec": defaulted_spec(stored["spec"])}
        await self._sync_children(pcs)
        await self._sync_gangs(pcs)
        status, conditions = set_status(
            pcs, self._owned(pcs, GROVE_POD_CLIQUE), self._owned(pcs, GROVE_SCALING_GROUP), self._bindings()
        )
        await self.context.put_status(GROVE_POD_CLIQUE_SET, stored, status, conditions)
        return None

    @property
    def _own_backend(self) -> bool:
        return self.context.options.grove_kai_backend

    async def _sync_children(self, pcs: Object) -> None:
        await self.context.ensure(SECRET, start_order_token(pcs))
        for replica in range(pcs["spec"]["replicas"]):
            await self.context.ensure(SERVICE, headless_service(pcs, replica))
        groups = list(scaling_groups(pcs))
        for group in groups:
            await self.context.ensure(GROVE_SCALING_GROUP, group)
        await self._prune(pcs, GROVE_SCALING_GROUP, groups)
        cliques = list(pod_cliques(pcs))
        for clique in cliques:
            _, written = await self.context.ensure(GROVE_POD_CLIQUE, clique)
            if written:
                text = f"PodClique {'/'.join(key_of(clique))} created or updated successfully"
                self._event(pcs, "PodCliqueCreateOrUpdateSuccessful", text)
        own = [c for c in self._owned(pcs, GROVE_POD_CLIQUE) if names.SCALING_GROUP not in labels_of(c)]
        await self._prune(pcs, GROVE_POD_CLIQUE, cliques, own)

    async def _sync_gangs(self, pcs: Object) -> None:
        """PodGangs name their pods only when all of them exist; until then they are not initialized."""
        pods = self._pods_by_clique(pcs)
        wanted = {
            clique["metadata"]["name"]: clique["spec"]["replicas"] for clique in self._owned(pcs, GROVE_POD_CLIQUE)
        }
        gangs = list(pod_gangs(pcs, self._owned(pcs, GROVE_SCALING_GROUP), pods, self._bindings()))
        for gang in gangs:
            groups = gang["spec"]["podgroups"]
            complete = all(
                group["name"] in wanted and len(group["podReferences"]) >= wanted[group["name"]] for group in groups
            )
            if not complete:
                self._keep_references(gang)
            stored, written = await self.context.ensure(GROVE_POD_GANG, gang)
            if written:
                text = f"Created/Updated PodGang {'/'.join(key_of(gang))}"
                self._event(pcs, "PodGangCreateOrUpdateSuccessful", text)
            status, conditions = gang_status(complete=complete)
            await self.context.put_status(GROVE_POD_GANG, stored, status, conditions)
            if self._own_backend:
                await self._sync_pod_group(pcs, stored)
        await self._prune(pcs, GROVE_POD_GANG, gangs)

    def _keep_references(self, gang: Object) -> None:
        """While a pod is being replaced the PodGang goes on naming those it named before."""
        current = self.informer(GROVE_POD_GANG).get(key_of(gang))
        named = {
            group["name"]: group.get("podReferences") or []
            for group in (current or {}).get("spec", {}).get("podgroups") or ()
        }
        for group in gang["spec"]["podgroups"]:
            group["podReferences"] = named.get(group["name"], [])

    async def _sync_pod_group(self, pcs: Object, gang: Object) -> None:
        queue = queue_of(pcs, pcs["spec"]["template"]["cliques"])
        topologies = {name: reference(binding) for name, binding in self._bindings().items()}
        current = self.informer(KAI_POD_GROUP).get(key_of(gang))
        if current is not None:
            queue = current["spec"].get("queue", queue)
        await self.context.ensure(KAI_POD_GROUP, pod_group(gang, queue, topologies))

    async def _finish(self, pcs: Object) -> None:
        """Deletes what belongs to the set, and lets go of it when its cliques are gone."""
        left = 0
        for kind in OWNED:
            for obj in self._owned(pcs, kind):
                left += kind is not GROVE_POD_GANG
                if not is_deleting(obj):
                    await self.context.delete(kind, obj)
        if not left:
            await self.context.set_finalizers(GROVE_POD_CLIQUE_SET, pcs, [])

    async def _prune(
        self, pcs: Object, kind: Kind, wanted: Iterable[Object], existing: Iterable[Object] | None = None
    ) -> None:
        keys = {key_of(obj) for obj in wanted}
        for obj in self._owned(pcs, kind) if existing is None else existing:
            if key_of(obj) not in keys and not is_deleting(obj):
                await self.context.delete(kind, obj)

    def _owned(self, pcs: Object, kind: Kind) -> list[Object]:
        found = self.informer(kind).by_index(BY_SET, "/".join(key_of(pcs)))
        return sorted(found, key=key_of)

    def _pods_by_clique(self, pcs: Object) -> dict[str, list[str]]:
        pods: dict[str, list[str]] = {}
        for pod in self._owned(pcs, POD):
            if not is_deleting(pod):
                clique = labels_of(pod).get(names.POD_CLIQUE, "")
                pods.setdefault(clique, []).append(pod["metadata"]["name"])
        return pods

    def _bindings(self) -> Bindings:
        return {
            binding["metadata"]["name"]: binding for binding in self.informer(GROVE_CLUSTER_TOPOLOGY_BINDING).values()
        }

    def _sets_of_binding(self, binding: Object) -> list[Key]:
        name = binding["metadata"]["name"]
        return [
            key_of(pcs)
            for pcs in self.informer(GROVE_POD_CLIQUE_SET).values()
            if topology_name(mapping_of(spec_of(pcs).get("template"))) == name
        ]

    def _event(self, pcs: Object, reason: str, message: str, event_type: str = "Normal") -> None:
        self.context.events.record(
            (GROVE_POD_CLIQUE_SET, pcs), reason, message, component=COMPONENT, event_type=event_type
        )
