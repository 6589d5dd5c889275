"""Which kinds are watched, what is read of them, and the row that each becomes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import msgspec
import structlog

from clusters import kinds, wire
from clusters.kinds import Kind
from clusters.kube.client import ItemList
from clusters.kube.reading import Body
from clusters.models import ClusterEvent, ClusterObject, Node, Observed, Pod
from clusters.names import GPU_RESOURCE, OWNER_LABEL, QUEUE_LABEL, RESERVATION_NAMESPACE, WORKLOAD_LABEL
from clusters.watcher import rows
from clusters.watcher.scheduling import SCHEDULER_NAME

log = structlog.get_logger(__name__)

# Events about other things are not kept.
SHOWN_KINDS = frozenset(
    {"Node", "Pod", "PodGroup", "Queue", "Topology", "SchedulingShard", "DynamoGraphDeployment"}
    | {"PodCliqueSet", "PodClique", "PodCliqueScalingGroup", "PodGang", "BindRequest", "ClusterTopologyBinding"}
)


@dataclass(frozen=True, slots=True)
class ObservedKind:
    """One stream. `versions`: the kind in each version that may be served, the preferred one first.

    `keep` says whether an object is shown at all. `mirrors_deletes`: rows go when their object goes; events stay for
    a day instead. `labels` is the label selector of what the API server sends at all. Pages of a list are read as
    `listed` (None: as `struct`), which may leave text unread; `whole` reads the rest.
    """

    versions: tuple[Kind, ...]
    model: type[Observed]
    struct: Any
    row: Callable[[Any], Any]
    keep: Callable[[Any], bool] = lambda _: True
    listed: Any = None
    whole: Callable[[Any], Any] = lambda listed: listed
    mirrors_deletes: bool = True
    labels: str = ""

    @property
    def name(self) -> str:
        """Key of the stream's state: the plural."""
        return self.versions[0].plural

    @property
    def query(self) -> dict[str, str]:
        """What lists and watches ask for beside their page."""
        return {"labelSelector": self.labels} if self.labels else {}

    @property
    def scope(self) -> dict[str, str]:
        """Which rows of the model belong to this stream."""
        if self.model is ClusterObject:
            return {"group": self.versions[0].group, "plural": self.versions[0].plural}
        return {}

    def item_decoder(self) -> "msgspec.json.Decoder[Any]":
        """Decodes one object."""
        return msgspec.json.Decoder(self.struct)

    def decode_page(self, content: Body) -> ItemList[Any]:
        """One page of a list. Where an object has an odd shape, the others are read all the same."""
        try:
            return _page_decoder(self._listed).decode(content)
        except msgspec.ValidationError:
            page = msgspec.json.decode(content, type=ItemList[msgspec.Raw])
            return ItemList(page.kind, page.metadata, list(self._readable(page.items or [])))

    @property
    def _listed(self) -> Any:
        return self.listed or self.struct

    def _readable(self, items: list[msgspec.Raw]) -> Iterator[Any]:
        decoder = msgspec.json.Decoder(self._listed)
        for item in items:
            try:
                yield decoder.decode(item)
            except msgspec.ValidationError as error:
                log.warning("unreadable object", kind=self.name, error=str(error))


@cache
def _page_decoder(struct: Any) -> "msgspec.json.Decoder[ItemList[Any]]":
    return msgspec.json.Decoder(ItemList[struct])


def keep_pod(pod: wire.PodObject) -> bool:
    """Pods that ask for GPUs, belong to a workload, a graph or a queue, or are for KAI's scheduler; not its own place
    holders, which would count a shared device a second time."""
    if pod.metadata.namespace == RESERVATION_NAMESPACE:
        return False
    labels = pod.metadata.labels or {}
    if pod.spec is not None and pod.spec.scheduler_name == SCHEDULER_NAME:
        return True
    return WORKLOAD_LABEL in labels or QUEUE_LABEL in labels or rows.GRAPH_LABEL in labels or _asks_for_gpus(pod)


def _asks_for_gpus(pod: wire.PodObject) -> bool:
    """Most pods of a cluster say nothing of GPUs: of those nothing needs to be added up."""
    spec = pod.spec or wire.PodSpec()
    says = rows.GPU_FRACTION_ANNOTATION in (pod.metadata.annotations or ()) or GPU_RESOURCE in (spec.overhead or ())
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        asked = container.resources or wire.Resources()
        says = says or GPU_RESOURCE in (asked.requests or ()) or GPU_RESOURCE in (asked.limits or ())
    return says and bool(rows.pod_gpus(pod))


def keep_event(event: wire.EventObject) -> bool:
    """Events about what Muster shows."""
    return event.involved_object.kind in SHOWN_KINDS


def _object(*versions: Kind, labels: str = "") -> ObservedKind:
    first = versions[0]
    make = partial(rows.object_row, kind=first)
    return ObservedKind(versions, ClusterObject, wire.AnyObject, make, labels=labels)


OBSERVED: tuple[ObservedKind, ...] = (
    ObservedKind((kinds.NODE,), Node, wire.NodeObject, rows.node_row),
    ObservedKind(
        (kinds.POD,), Pod, wire.PodObject, rows.pod_row, keep_pod, listed=wire.ListedPod, whole=wire.ListedPod.whole
    ),
    ObservedKind((kinds.EVENT,), ClusterEvent, wire.EventObject, rows.event_row, keep_event, mirrors_deletes=False),
    _object(kinds.NAMESPACE, labels=OWNER_LABEL),
    _object(kinds.PRIORITY_CLASS),
    _object(kinds.KAI_TOPOLOGY),
    _object(kinds.KAI_QUEUE),
    _object(kinds.KAI_SCHEDULING_SHARD),
    _object(kinds.KAI_POD_GROUP),
    _object(kinds.GROVE_CLUSTER_TOPOLOGY_BINDING),
    _object(kinds.GROVE_POD_CLIQUE_SET),
    _object(kinds.GROVE_POD_CLIQUE),
    _object(kinds.DYNAMO_GRAPH_DEPLOYMENT, kinds.DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1),
)
