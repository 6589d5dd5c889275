"""Reconciles PodCliqueScalingGroups: their member PodCliques and their status."""

from clusters.kinds import GROVE_POD_CLIQUE, GROVE_POD_CLIQUE_SET, GROVE_SCALING_GROUP
from clusters.operators.grove import names
from clusters.operators.grove.cliques import generation_hash, member_cliques
from clusters.operators.grove.defaults import defaulted_spec
from clusters.operators.objects import Key, is_deleting, key_of, labels_of
from simulator.actors.controller import Controller
from simulator.actors.grove.status import scaling_group_status
from simulator.client import Object

BY_GROUP = "scaling-group"


def group_key(clique: Object) -> list[Key]:
    """Key of the scaling group a PodClique belongs to, if it does."""
    name = labels_of(clique).get(names.SCALING_GROUP)
    return [(clique["metadata"]["namespace"], name)] if name else []


class ScalingGroupController(Controller):
    component = names.OPERATOR
    kinds = (GROVE_SCALING_GROUP, GROVE_POD_CLIQUE, GROVE_POD_CLIQUE_SET)

    def setup(self) -> None:
        self.watch(GROVE_SCALING_GROUP)
        self.watch(GROVE_POD_CLIQUE, group_key)
        self.watch(GROVE_POD_CLIQUE_SET, self._groups_of_set)
        self.informer(GROVE_POD_CLIQUE).add_index(BY_GROUP, lambda clique: ["/".join(key) for key in group_key(clique)])

    async def reconcile(self, key: Key) -> float | None:
        group = self.informer(GROVE_SCALING_GROUP).get(key)
        if group is None:
            return None
        members = self.informer(GROVE_POD_CLIQUE).by_index(BY_GROUP, "/".join(key))
        if is_deleting(group):
            for clique in members:
                if not is_deleting(clique):
                    await self.context.delete(GROVE_POD_CLIQUE, clique)
            if not members:
                await self.context.set_finalizers(GROVE_SCALING_GROUP, group, [])
            return None
        stored = self.informer(GROVE_POD_CLIQUE_SET).get((key[0], labels_of(group)[names.PART_OF]))
        if stored is None or is_deleting(stored):
            return None
        pcs = {**stored, "spec": defaulted_spec(stored["spec"])}
        await self._sync_members(pcs, group, members)
        status, conditions = scaling_group_status(group, members, generation_hash(pcs["spec"]))
        await self.context.put_status(GROVE_SCALING_GROUP, group, status, conditions)
        return None

    async def _sync_members(self, pcs: Object, group: Object, members: list[Object]) -> None:
        wanted = list(member_cliques(pcs, group))
        for clique in wanted:
            _, written = await self.context.ensure(GROVE_POD_CLIQUE, clique)
            if written:
                text = f"PodClique {'/'.join(key_of(clique))} created successfully"
                self.context.events.record(
                    (GROVE_SCALING_GROUP, group),
                    "PodCliqueCreateSuccessful",
                    text,
                    component="podcliquescalinggroup-controller",
                )
        keys = {key_of(clique) for clique in wanted}
        for clique in members:
            if key_of(clique) not in keys and not is_deleting(clique):
                await self.context.delete(GROVE_POD_CLIQUE, clique)

    def _groups_of_set(self, pcs: Object) -> list[Key]:
        return [
            key_of(group)
            for group in self.informer(GROVE_SCALING_GROUP).values()
            if group["metadata"]["namespace"] == pcs["metadata"]["namespace"]
            and labels_of(group).get(names.PART_OF) == pcs["metadata"]["name"]
        ]
