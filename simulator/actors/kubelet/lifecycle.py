"""Pod and container statuses as a kubelet writes them, step by step. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from clusters.operators.objects import spec_of, status_of
from simulator.client import Object


class Step(Enum):
    """How far a pod has come."""

    WAITING_FOR_INIT = auto()
    INIT_FAILED = auto()
    IMAGE_FAILED = auto()
    CONFIG_FAILED = auto()
    CREATING = auto()
    RUNNING = auto()
    READY = auto()
    LOST = auto()


BEFORE_INIT = frozenset({Step.WAITING_FOR_INIT, Step.INIT_FAILED})


class Failure(NamedTuple):
    """Why a container cannot be started, in the kubelet's words."""

    reason: str
    message: str


NOTHING: Mapping[str, Failure] = {}


def status_at(
    step: Step, pod: Object, now: str, *, host: str = "", failing: Mapping[str, Failure] = NOTHING
) -> tuple[Object, list[Object]]:
    """(status without conditions, conditions) of a pod at `step`.

    `host` is the node's address; `failing`, with a step that FAILED, why containers wait, by name.
    """
    started = step in (Step.RUNNING, Step.READY)
    status: Object = {
        "phase": "Running" if started or step is Step.LOST else "Pending",
        **({"hostIP": host, "hostIPs": [{"ip": host}]} if host else {}),
        "startTime": status_of(pod).get("startTime") or now,
        "containerStatuses": [_container(c, step, pod, now, failing) for c in spec_of(pod).get("containers") or ()],
    }
    init = spec_of(pod).get("initContainers") or ()
    if init:
        status["initContainerStatuses"] = [_init_container(c, step, now, failing) for c in init]
    if started:
        address = address_of(pod["metadata"]["uid"], 10)
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    ready = step is Step.READY
    not_ready = {"reason": "ContainersNotReady", "message": _unready_text(pod)}
    lost = {"reason": "NodeLost", "message": "Node is not responding"} if step is Step.LOST else not_ready
    conditions = [
        {"type": "PodReadyToStartContainers", "status": "True"},
        {"type": "Initialized", "status": "False" if step in BEFORE_INIT else "True"},
        {"type": "ContainersReady", "status": "True" if ready else "False", **({} if ready else lost)},
        {"type": "Ready", "status": "True" if ready else "False", **({} if ready else lost)},
        {"type": "PodScheduled", "status": "True"},
    ]
    return status, conditions


def waits_for(pod: Object) -> list[tuple[str, int]]:
    """(PodClique, ready pods) that Grove's init container waits for."""
    found = []
    for container in spec_of(pod).get("initContainers") or ():
        for argument in container.get("args") or ():
            if str(argument).startswith("--podcliques="):
                name, _, number = str(argument).removeprefix("--podcliques=").rpartition(":")
                found.append((name, int(number)))
    return found


def images_of(pod: Object) -> Sequence[str]:
    spec = spec_of(pod)
    parts = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return [container.get("image", "") for container in parts]


def address_of(text: str, network: int) -> str:
    """A stable address in `network`.0.0.0/8 for a name or uid."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"{network}.{digest[0]}.{digest[1]}.{max(digest[2], 1)}"


def _container(container: Object, step: Step, pod: Object, now: str, failing: Mapping[str, Failure]) -> Object:
    started = step in (Step.RUNNING, Step.READY, Step.LOST)
    old = _old_status(pod, container["name"])
    running = (old.get("state") or {}).get("running") or {}
    image = container.get("image", "")
    status: Object = {
        "name": container["name"],
        "image": image,
        "imageID": "",
        "ready": step is Step.READY,
        "started": started,
        "restartCount": old.get("restartCount", 0),
        "lastState": old.get("lastState") or {},
    }
    if started:
        digest = hashlib.sha256(image.encode()).hexdigest()
        status["imageID"] = f"{image.rpartition(':')[0] or image}@sha256:{digest}"
        status["containerID"] = f"containerd://{hashlib.sha256((pod['metadata']['uid'] + image).encode()).hexdigest()}"
        status["state"] = {"running": {"startedAt": running.get("startedAt", now)}, "waiting": None}
        return status
    reason = {"reason": "PodInitializing" if step in BEFORE_INIT else "ContainerCreating"}
    if container["name"] in failing:
        reason = failing[container["name"]]._asdict()
    status["state"] = {"waiting": reason}
    return status


def _init_container(container: Object, step: Step, now: str, failing: Mapping[str, Failure]) -> Object:
    waiting = step is Step.WAITING_FOR_INIT
    done = step in (Step.RUNNING, Step.READY, Step.LOST)
    state: Object = {"running": {"startedAt": now}} if waiting else {"waiting": {"reason": "PodInitializing"}}
    if container["name"] in failing:
        state = {"waiting": failing[container["name"]]._asdict(), "running": None}
    if done:
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
        state = {"terminated": ended, "running": None, "waiting": None}
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": done,
        "restartCount": 0,
        "state": state,
    }


def _old_status(pod: Object, name: str) -> Object:
    for status in status_of(pod).get("containerStatuses") or ():
        if status.get("name") == name:
            return dict(status)
    return {}


def _unready_text(pod: Object) -> str:
    names = " ".join(c["name"] for c in spec_of(pod).get("containers") or ())
    return f"containers with unready status: [{names}]"
