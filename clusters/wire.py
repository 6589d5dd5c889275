"""What Muster reads of Kubernetes objects on the wire: msgspec structs that hold only the fields used. Pure.

`gc=False` keeps them off the cyclic collector: they hold no cycles, and there are many.
"""

from typing import Any

import msgspec

Quantity = str | int | float


class Owner(msgspec.Struct, gc=False):
    kind: str = ""
    name: str = ""
    uid: str = ""


class Meta(msgspec.Struct, gc=False, rename="camel"):
    name: str
    uid: str
    resource_version: str
    creation_timestamp: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    deletion_timestamp: str | None = None
    owner_references: list[Owner] | None = None


class Condition(msgspec.Struct, gc=False, rename="camel"):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Taint(msgspec.Struct, gc=False):
    key: str
    effect: str = ""
    value: str = ""


class Address(msgspec.Struct, gc=False):
    type: str
    address: str


class NodeInfo(msgspec.Struct, gc=False, rename="camel"):
    kubelet_version: str = ""


class NodeSpec(msgspec.Struct, gc=False):
    unschedulable: bool = False
    taints: list[Taint] | None = None


class NodeStatus(msgspec.Struct, gc=False, rename="camel"):
    capacity: dict[str, Quantity | None] | None = None
    allocatable: dict[str, Quantity | None] | None = None
    conditions: list[Condition] | None = None
    addresses: list[Address] | None = None
    node_info: NodeInfo | None = None


class NodeObject(msgspec.Struct, gc=False):
    """`v1.Node`."""

    metadata: Meta
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class Resources(msgspec.Struct, gc=False):
    requests: dict[str, Quantity] | None = None
    limits: dict[str, Quantity] | None = None


class Container(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    image: str = ""
    resources: Resources | None = None
    restart_policy: str = ""  # of init containers: Always makes a sidecar


class Gate(msgspec.Struct, gc=False):
    name: str = ""


class Toleration(msgspec.Struct, gc=False, rename="camel", omit_defaults=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class PodSpec(msgspec.Struct, gc=False, rename="camel"):
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    node_name: str = ""
    scheduling_gates: list[Gate] | None = None
    overhead: dict[str, Quantity] | None = None
    scheduler_name: str = ""
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None
    affinity: dict[str, Any] | None = None


class Waiting(msgspec.Struct, gc=False):
    reason: str = ""
    message: str = ""


class ContainerState(msgspec.Struct, gc=False):
    waiting: Waiting | None = None
    terminated: Waiting | None = None


class ContainerStatus(msgspec.Struct, gc=False, rename="camel"):
    restart_count: int = 0
    state: ContainerState | None = None


class PodStatus(
    msgspec.Struct,
    gc=False,
    rename={
        "pod_ip": "podIP",
        "container_statuses": "containerStatuses",
        "init_container_statuses": "initContainerStatuses",
    },
):
    phase: str = "Unknown"
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    pod_ip: str = ""
    reason: str = ""
    message: str = ""


class PodObject(msgspec.Struct, gc=False):
    """`v1.Pod`."""

    metadata: Meta
    spec: PodSpec | None = None
    status: PodStatus | None = None


_NONE = msgspec.Raw(b"null")
_pod_spec = msgspec.json.Decoder(PodSpec | None)
_pod_status = msgspec.json.Decoder(PodStatus | None)


class ListedPod(msgspec.Struct, gc=False):
    """A pod of a list, of which only the metadata was read: of most pods it says that they are as they were.

    It keeps the text of its whole page.
    """

    metadata: Meta
    spec: msgspec.Raw = _NONE
    status: msgspec.Raw = _NONE

    def whole(self) -> PodObject:
        """The pod. Raises `msgspec.ValidationError`."""
        return PodObject(self.metadata, _pod_spec.decode(self.spec), _pod_status.decode(self.status))


class Involved(msgspec.Struct, gc=False):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Source(msgspec.Struct, gc=False):
    component: str = ""


class Series(msgspec.Struct, gc=False, rename="camel"):
    count: int = 0
    last_observed_time: str | None = None


class EventObject(msgspec.Struct, gc=False, rename="camel"):
    """`v1.Event`, as written through either API."""

    metadata: Meta
    involved_object: Involved
    type: str = ""
    reason: str = ""
    message: str | None = None
    count: int | None = None
    source: Source | None = None
    reporting_component: str = ""
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: Series | None = None


class AnyObject(msgspec.Struct, gc=False, rename="camel"):
    """A custom resource, whole."""

    metadata: dict[str, Any]
    api_version: str = ""
    kind: str = ""
    spec: Any = msgspec.UNSET
    status: Any = msgspec.UNSET
    value: Any = msgspec.UNSET  # of a PriorityClass
    description: Any = msgspec.UNSET
    global_default: Any = msgspec.UNSET
    preemption_policy: Any = msgspec.UNSET


class BookmarkMeta(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str


class Bookmark(msgspec.Struct, gc=False):
    """The object of a BOOKMARK event."""

    metadata: BookmarkMeta
