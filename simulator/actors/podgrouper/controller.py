"""Groups pods of KAI's scheduler: walks their owners, writes the PodGroup, marks the pod."""

from clusters.kinds import (
    DEPLOYMENT,
    DYNAMO_GRAPH_DEPLOYMENT,
    DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1,
    GROVE_POD_CLIQUE,
    GROVE_POD_CLIQUE_SET,
    GROVE_POD_GANG,
    GROVE_SCALING_GROUP,
    KAI_POD_GROUP,
    POD,
    PRIORITY_CLASS,
    Kind,
)
from clusters.operators.grouping import (
    POD_GROUP,
    SUBGROUP,
    Grouping,
    GroupingError,
    gang_name,
    group_pod,
    is_skipped,
    updated,
)
from clusters.operators.objects import (
    Key,
    annotations_of,
    contains,
    is_deleting,
    key_of,
    labels_of,
    spec_of,
    status_of,
)
from scheduling.structs import FINISHED
from simulator.actors.controller import Controller, described_anew
from simulator.client import KubeError, Object

SCHEDULER_NAME = "kai-scheduler"
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
JOB = Kind("batch", "v1", "Job", "jobs", namespaced=True)
OWNERS = {
    (kind.api_version, kind.kind): kind
    for kind in (
        DEPLOYMENT,
        REPLICA_SET,
        STATEFUL_SET,
        JOB,
        POD,
        GROVE_POD_CLIQUE,
        GROVE_SCALING_GROUP,
        GROVE_POD_CLIQUE_SET,
        DYNAMO_GRAPH_DEPLOYMENT,
        DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1,
    )
}
CACHED = (
    GROVE_POD_CLIQUE,
    GROVE_SCALING_GROUP,
    GROVE_POD_CLIQUE_SET,
    DYNAMO_GRAPH_DEPLOYMENT,
    DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1,
)
BY_GANG = "pod-gang"


class PodGrouper(Controller):
    component = "pod-grouper"
    kinds = (POD, GROVE_POD_GANG, KAI_POD_GROUP, PRIORITY_CLASS, *CACHED)

    def setup(self) -> None:
        self.informer(POD).add_index(BY_GANG, _gang_index)
        self.watch(POD, _groupable)
        self.watch(GROVE_POD_GANG, self._pods_of_gang)
        for kind in (KAI_POD_GROUP, PRIORITY_CLASS, *CACHED):
            self.informer(kind)
        for kind in (GROVE_POD_CLIQUE_SET, DYNAMO_GRAPH_DEPLOYMENT):
            self.watch(kind, self._pods_below, when=described_anew)

    async def reconcile(self, key: Key) -> float | None:
        pod = self.informer(POD).get(key)
        if pod is None or is_deleting(pod) or not _groupable(pod):
            return None
        try:
            grouping = await self._grouping(pod)
        except GroupingError as error:
            self.context.events.record(
                (POD, pod),
                "PodGrouperWarning",
                str(error),
                component=self.component,
                event_type="Warning",
            )
            return self.context.options.retry_period_s
        if grouping is not None:
            await self._write_group(grouping.pod_group)
            await self._mark(pod, grouping)
        return None

    async def _grouping(self, pod: Object) -> Grouping | None:
        owners = await self._owners(pod)
        if is_skipped(pod, owners):
            return None
        gang = self.informer(GROVE_POD_GANG).get((pod["metadata"]["namespace"], gang_name(pod)))
        classes = {c["metadata"]["name"] for c in self.informer(PRIORITY_CLASS).values()}
        grouping = group_pod(pod, owners, gang, classes)
        if gang is not None and not grouping.subgroup:
            return None  # the PodGang does not name the pod yet; its change comes back here
        return grouping

    async def _owners(self, pod: Object) -> list[Object]:
        """The chain of owners, nearest first. Raises GroupingError as KAI does (golden/grove/podgrouper-p26, p27)."""
        chain: list[Object] = []
        current = pod
        while references := current["metadata"].get("ownerReferences") or ():
            if len(references) > 1 and chain:
                several = " ".join(f"{{{r['apiVersion']} {r['kind']} {r['name']} {r['uid']}}}" for r in references)
                raise GroupingError(
                    f"found {current['kind']} <{current['metadata']['name']} in namespace "
                    f"{pod['metadata']['namespace']}> with multiple owners: [{several}]"
                )
            current = await self._owner(references[0], pod["metadata"]["namespace"])
            chain.append(current)
        return chain

    async def _owner(self, reference: Object, namespace: str) -> Object:
        name, uid = reference["name"], reference["uid"]
        prefix = f"failed to find {reference['kind']}: <{namespace}/{name}>, uid: <{uid}>: "
        kind = OWNERS.get((reference["apiVersion"], reference["kind"]))
        if kind is None:
            what = f'no matches for kind "{reference["kind"]}" in version "{reference["apiVersion"]}"'
            raise GroupingError(prefix + what)
        owner = self.informer(kind).get((namespace, name)) if kind in CACHED else None
        if owner is None:
            owner = await self.context.client.get(kind, name, namespace)
        if owner is None or owner["metadata"]["uid"] != uid:
            raise GroupingError(f'{prefix}{kind.plural}.{kind.group} "{name}" not found')
        return {**owner, "apiVersion": kind.api_version, "kind": kind.kind}

    async def _write_group(self, desired: Object) -> None:
        key = key_of(desired)
        existing = self.informer(KAI_POD_GROUP).get(key)
        if existing is None:
            try:
                created = await self.context.client.create(KAI_POD_GROUP, desired, key[0])
            except KubeError as error:
                if error.code != 409:
                    raise
                return
            self.informer(KAI_POD_GROUP).store(created)
            return
        wanted = updated(existing, desired)
        body = {
            "metadata": {k: wanted["metadata"][k] for k in ("labels", "annotations")},
            "spec": wanted["spec"],
        }
        if not contains(existing, body):
            constraint = body["spec"].get("topologyConstraint") or {}
            cleared = dict.fromkeys(existing["spec"].get("topologyConstraint") or {}, None)
            body["spec"] = {**body["spec"], "topologyConstraint": {**cleared, **constraint}}
            await self.context.client.patch(KAI_POD_GROUP, key[1], key[0], body)

    async def _mark(self, pod: Object, grouping: Grouping) -> None:
        metadata: Object = {"annotations": {POD_GROUP: grouping.pod_group["metadata"]["name"]}}
        if grouping.subgroup:
            metadata["labels"] = {SUBGROUP: grouping.subgroup}
        if not contains(pod["metadata"], metadata):
            namespace, name = key_of(pod)
            body = {"metadata": {**metadata, "uid": pod["metadata"]["uid"]}}
            await self.context.client.patch(POD, name, namespace, body)

    def _pods_of_gang(self, gang: Object) -> list[Key]:
        key = "/".join(key_of(gang))
        return [key_of(pod) for pod in self.informer(POD).by_index(BY_GANG, key) if _groupable(pod)]

    def _pods_below(self, owner: Object) -> list[Key]:
        """A changed owner may change topology annotations: one pod of each of its gangs looks again."""
        prefix = f"{owner['metadata']['name']}-"
        return [
            key_of(pod)
            for gang in self.informer(GROVE_POD_GANG).values()
            if gang["metadata"]["namespace"] == owner["metadata"]["namespace"]
            and gang["metadata"]["name"].startswith(prefix)
            for pod in self.informer(POD).by_index(BY_GANG, "/".join(key_of(gang)))[:1]
        ]


def _groupable(pod: Object) -> list[Key]:
    if spec_of(pod).get("schedulerName") != SCHEDULER_NAME or status_of(pod).get("phase") in FINISHED:
        return []
    if spec_of(pod).get("nodeName") and annotations_of(pod).get(POD_GROUP):
        return []
    return [key_of(pod)]


def _gang_index(pod: Object) -> list[str]:
    name = labels_of(pod).get("grove.io/podgang")
    return [f"{pod['metadata']['namespace']}/{name}"] if name else []
