"""Reconciles PodCliques: makes, replaces and removes pods, opens their gates, reports status."""

from clusters.kinds import GROVE_POD_CLIQUE, GROVE_POD_CLIQUE_SET, GROVE_POD_GANG, POD
from clusters.operators.grove import names
from clusters.operators.grove.cliques import generation_hash
from clusters.operators.grove.defaults import defaulted_spec
from clusters.operators.grove.pods import free_indices, is_gated, pod_manifest
from clusters.operators.objects import Key, entries_of, is_deleting, key_of, labels_of, spec_of, status_of
from scheduling.structs import FINISHED
from simulator.actors.controller import Controller
from simulator.actors.grove.status import clique_status, is_ready
from simulator.client import Object

BY_CLIQUE = "podclique"
BY_GANG = "podgang"


def clique_key(pod: Object) -> list[Key]:
    """Key of the PodClique that a pod belongs to, if it does."""
    name = labels_of(pod).get(names.POD_CLIQUE)
    return [(pod["metadata"]["namespace"], name)] if name else []


def gangs_of(clique: Object) -> list[str]:
    """Index values: the gang of a PodClique and the base gang that it waits for."""
    labels, namespace = labels_of(clique), clique["metadata"]["namespace"]
    return [f"{namespace}/{labels[label]}" for label in (names.POD_GANG, names.BASE_POD_GANG) if label in labels]


class PodCliqueController(Controller):
    component = names.OPERATOR
    kinds = (GROVE_POD_CLIQUE, GROVE_POD_GANG, GROVE_POD_CLIQUE_SET, POD)

    def setup(self) -> None:
        cliques = self.informer(GROVE_POD_CLIQUE)
        cliques.add_index(BY_GANG, gangs_of)
        self.informer(POD).add_index(BY_CLIQUE, lambda pod: ["/".join(key) for key in clique_key(pod)])
        self.watch(GROVE_POD_CLIQUE)
        self.watch(POD, clique_key)
        self.watch(GROVE_POD_GANG, self._cliques_of_gang)
        self.watch(GROVE_POD_CLIQUE, self._cliques_waiting_for)

    async def reconcile(self, key: Key) -> float | None:
        clique = self.informer(GROVE_POD_CLIQUE).get(key)
        if clique is None:
            return None
        pods = sorted(self.informer(POD).by_index(BY_CLIQUE, "/".join(key)), key=key_of)
        if is_deleting(clique):
            await self._finish(clique, pods)
            return None
        await self._replace_finished(pods)
        live = [p for p in pods if not is_deleting(p) and status_of(p).get("phase") not in FINISHED]
        await self._scale(clique, live)
        await self._roll(clique, live)
        await self._open_gates(clique, live)
        await self._report(clique, pods)
        return None

    async def _finish(self, clique: Object, pods: list[Object]) -> None:
        for number, pod in enumerate(pods):
            await self.context.breathe(number)
            if not is_deleting(pod):
                await self.context.delete(POD, pod)
        if not pods:
            await self.context.set_finalizers(GROVE_POD_CLIQUE, clique, [])

    async def _replace_finished(self, pods: list[Object]) -> None:
        for pod in pods:
            if status_of(pod).get("phase") in FINISHED and not is_deleting(pod):
                await self.context.delete(POD, pod)

    async def _scale(self, clique: Object, live: list[Object]) -> None:
        wanted = clique["spec"]["replicas"]
        missing = wanted - len(live)
        namespace = clique["metadata"]["namespace"]
        for number, index in enumerate(free_indices(live, wanted)[: max(missing, 0)]):
            await self.context.breathe(number)
            manifest = pod_manifest(
                clique,
                index,
                own_backend=self.context.options.grove_kai_backend,
                min_available=self._min_available(clique),
            )
            pod = await self.context.client.create(POD, manifest, namespace)
            self.informer(POD).store(pod)
            self._event(clique, "PodCreateSuccessful", f"Created Pod: {pod['metadata']['name']}")
        if missing < 0:
            by_index = sorted(live, key=lambda pod: int(labels_of(pod).get(names.POD_INDEX, 0)))
            for pod in by_index[wanted:]:
                await self.context.delete(POD, pod)
                self._event(clique, "PodDeleteSuccessful", f"Deleted Pod: {pod['metadata']['name']}")

    async def _roll(self, clique: Object, live: list[Object]) -> None:
        """RollingRecreate: one outdated pod at a time, those that do not serve first."""
        current = labels_of(clique)[names.TEMPLATE_HASH]
        outdated = [pod for pod in live if labels_of(pod).get(names.TEMPLATE_HASH) != current]
        if not outdated or len(live) < clique["spec"]["replicas"]:
            return
        idle = [pod for pod in outdated if not is_ready(pod)]
        for pod in idle:
            await self.context.delete(POD, pod)
        if not idle and all(is_ready(pod) for pod in live):
            await self.context.delete(POD, outdated[0])

    async def _open_gates(self, clique: Object, live: list[Object]) -> None:
        """A pod may be scheduled once its PodGang names it and the base gang, if any, is scheduled."""
        namespace = clique["metadata"]["namespace"]
        gang = self.informer(GROVE_POD_GANG).get((namespace, labels_of(clique)[names.POD_GANG]))
        if gang is None or not self._base_scheduled(clique):
            return
        named = {
            reference["name"]
            for group in spec_of(gang).get("podgroups") or ()
            for reference in group.get("podReferences") or ()
        }
        for number, pod in enumerate(live):
            await self.context.breathe(number)
            if is_gated(pod) and pod["metadata"]["name"] in named:
                gates = [g for g in pod["spec"]["schedulingGates"] if g["name"] != names.GATE]
                body = {"metadata": {"uid": pod["metadata"]["uid"]}, "spec": {"schedulingGates": gates}}
                await self.context.client.patch(POD, pod["metadata"]["name"], namespace, body)

    def _base_scheduled(self, clique: Object) -> bool:
        base = labels_of(clique).get(names.BASE_POD_GANG)
        if not base:
            return True
        members = [
            other
            for other in self.informer(GROVE_POD_CLIQUE).by_index(BY_GANG, f"{clique['metadata']['namespace']}/{base}")
            if labels_of(other)[names.POD_GANG] == base
        ]
        return bool(members) and all(
            status_of(other).get("scheduledReplicas", 0) >= other["spec"]["minAvailable"] for other in members
        )

    async def _report(self, clique: Object, pods: list[Object]) -> None:
        key = (clique["metadata"]["namespace"], labels_of(clique)[names.PART_OF])
        pcs = self.informer(GROVE_POD_CLIQUE_SET).get(key)
        set_hash = generation_hash(defaulted_spec(pcs["spec"])) if pcs else ""
        status, conditions = clique_status(clique, pods, set_hash)
        await self.context.put_status(GROVE_POD_CLIQUE, clique, status, conditions)

    def _min_available(self, clique: Object) -> dict[str, int]:
        namespace = clique["metadata"]["namespace"]
        found = {}
        for name in clique["spec"].get("startsAfter") or ():
            other = self.informer(GROVE_POD_CLIQUE).get((namespace, name))
            found[name] = other["spec"]["minAvailable"] if other else 1
        return found

    def _cliques_of_gang(self, gang: Object) -> list[Key]:
        names_of_cliques = [group.get("name", "") for group in entries_of(spec_of(gang).get("podgroups"))]
        return [(gang["metadata"]["namespace"], name) for name in names_of_cliques]

    def _cliques_waiting_for(self, clique: Object) -> list[Key]:
        """A base gang's progress may open the gates of scaled gangs."""
        base = f"{clique['metadata']['namespace']}/{labels_of(clique).get(names.POD_GANG, '')}"
        return [
            key_of(other)
            for other in self.informer(GROVE_POD_CLIQUE).by_index(BY_GANG, base)
            if labels_of(other).get(names.BASE_POD_GANG)
        ]

    def _event(self, clique: Object, reason: str, message: str) -> None:
        self.context.events.record((GROVE_POD_CLIQUE, clique), reason, message, component="podclique-controller")
