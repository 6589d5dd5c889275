"""Causes that no scheduler could tell: the row, the cluster's software, operators, gates, images, secrets. Pure."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workloads.progress import CONTAINER_FAULTS, PodFacts
from workloads.verdicts import is_noise

GRACE_SECONDS = 60
"""So long operators and podgrouper are at work before it counts as a fault that they have not done theirs."""
IMAGE_FAULTS = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull")
CONFIG_FAULTS = ("CreateContainerConfigError", "CreateContainerError")
_MISSING_OBJECT = re.compile(r'(secret|configmap) "([^"]+)" not found', re.IGNORECASE)
_MISSING_QUEUE = re.compile(r"queue '?\"?([-a-z0-9.]+)'?\"? not found", re.IGNORECASE)
_WEBHOOK = re.compile(r"failed calling webhook|conversion webhook", re.IGNORECASE)
_STARTUP = re.compile(r"grove-initc|PodInitializing|Init:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause: a code of `diagnosis_words`, names for its sentence, KAI's, Grove's or Dynamo's own words."""

    code: str
    permanent: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a workload beside the scheduler's snapshot. `wanted_pods`: how many its graph asks for.

    `components` are the cluster's by key ({health, parts: [{name, health}]}); `served` its kinds; `events` (reason,
    message), the newest first; `grouped` how many pods name a pod group that exists; `age` the seconds that its oldest
    waiting pod (or, without any, it itself) has waited.
    """

    pods: Sequence[PodFacts]
    wanted_pods: int
    grouped: int
    conditions: Sequence[Mapping[str, Any]]
    components: Mapping[str, Mapping[str, Any]]
    served: Mapping[str, Mapping[str, Sequence[str]]]
    graph: Mapping[str, Any] | None
    lost: Sequence[str] = ()
    events: Sequence[tuple[str, str]] = ()
    age: float = math.inf

    def condition(self, type_: str) -> Mapping[str, Any] | None:
        """The condition of this type where it is False."""
        found = (each for each in self.conditions if each.get("type") == type_ and each.get("status") == "False")
        return next(found, None)


def find_outside(facts: Facts) -> list[Finding]:
    """Everything that stops it outside the scheduler, by what blocks first: the row, then the graph, then its pods."""
    row = list(_row(facts))
    if row:
        return row
    if not [pod for pod in facts.pods if not pod.leaving]:
        return list(_no_pods(facts))
    return [*_lost(facts), *_ungrouped(facts), *_pods(facts), *_kai(facts)]


def _row(facts: Facts) -> Iterator[Finding]:
    """Muster's own row: refused, or not written to the cluster."""
    refused = facts.condition("Accepted")
    if refused is not None:
        yield Finding("Refused", True, {"message": str(refused.get("message", ""))})
        return
    if "dynamographdeployments" not in facts.served.get("nvidia.com", {}) and facts.served:
        yield Finding("KindNotServed", True, {"kind": "DynamoGraphDeployment", "component": "NVIDIA Dynamo"})
        return
    failed = facts.condition("Synced")
    if failed is None or failed.get("reason") == "Deleting":
        return
    message = str(failed.get("message", ""))
    if _WEBHOOK.search(message):
        yield Finding("WebhookDown", False, {"message": message})
    else:
        yield Finding("NotSynced", False, {"message": message})


def _no_pods(facts: Facts) -> Iterator[Finding]:
    """No pod yet: who should have made it is down, or says why not."""
    words = tuple(_operator_words(facts.graph))
    if not facts.wanted_pods:
        yield Finding("NoReplicas", True, words=words)
        return
    queue = next((match for word in words if (match := _MISSING_QUEUE.search(word))), None)
    if queue is not None:
        yield Finding("QueueRefused", facts.age >= GRACE_SECONDS, {"queue": queue[1]}, words=words)
        return
    down = [*_down(facts, "dynamo", "operator"), *_down(facts, "grove", "operator")]
    yield from down
    if not down and not words and facts.age < GRACE_SECONDS:
        yield Finding("Making", False, {}, {"pods": facts.wanted_pods, "grace": GRACE_SECONDS})
    elif not down:
        yield Finding("NoPods", False, {}, {"pods": facts.wanted_pods}, words)


def _operator_words(graph: Mapping[str, Any] | None) -> Iterator[str]:
    for condition in ((graph or {}).get("status") or {}).get("conditions") or ():
        if condition.get("status") == "False" and condition.get("message"):
            yield str(condition["message"])


def _down(facts: Facts, component: str, *parts: str) -> Iterator[Finding]:
    """A component's parts that are not healthy; unknown health is no cause."""
    found = facts.components.get(component) or {}
    if found.get("health") == "missing":
        yield Finding("ComponentMissing", True, {"component": component})
        return
    for part in found.get("parts") or ():
        if part.get("name") in parts and part.get("health") in ("degraded", "missing"):
            names = {"component": component, "part": str(part["name"]), "object": str(part.get("object", ""))}
            yield Finding(
                "ComponentDown", False, names, {"ready": part.get("ready", 0), "wanted": part.get("wanted", 0)}
            )


def _lost(facts: Facts) -> Iterator[Finding]:
    if facts.lost:
        yield Finding("NodeLost", False, {"nodes": ", ".join(facts.lost)}, {"nodes": len(facts.lost)})


def _ungrouped(facts: Facts) -> Iterator[Finding]:
    """Pods that belong to no pod group: nobody schedules them."""
    waiting = [pod for pod in facts.pods if not pod.node and not pod.leaving]
    if not waiting or facts.grouped:
        return
    words = tuple(
        message for reason, message in facts.events if reason == "PodGrouperWarning" and not is_noise(reason, message)
    )
    down = [] if words else list(_down(facts, "kai-scheduler", "podgrouper"))
    yield from down
    if not down and not words and facts.age < GRACE_SECONDS:
        yield Finding("Grouping", False, {}, {"pods": len(waiting), "grace": GRACE_SECONDS})
    elif not down:
        yield Finding("NotGrouped", bool(words), {}, {"pods": len(waiting)}, words)


def _kai(facts: Facts) -> Iterator[Finding]:
    """The scheduler or the binder is down."""
    waiting = any(not pod.node and not pod.leaving for pod in facts.pods)
    if waiting and facts.grouped:
        yield from _down(facts, "kai-scheduler", "scheduler", "binder")


def _pods(facts: Facts) -> Iterator[Finding]:
    """What keeps placed pods from starting, one finding for each kind of fault."""
    seen: set[tuple[str, str]] = set()
    for pod in facts.pods:
        finding = None if pod.leaving or pod.ready else _pod(pod) or _mount(pod, facts)
        if finding is None:
            continue
        key = (finding.code, finding.names.get("object", ""))
        if key not in seen:
            seen.add(key)
            yield finding


def _mount(pod: PodFacts, facts: Facts) -> Finding | None:
    """A volume that cannot be set up: only the kubelet's events say so."""
    if not pod.holds or pod.phase != "Pending":
        return None
    for reason, message in facts.events:
        missing = _MISSING_OBJECT.search(message) if reason == "FailedMount" else None
        if missing:
            names = {"pod": pod.name, "kind": missing[1].lower(), "object": missing[2]}
            return Finding("SecretMissing", True, names, words=(message,))
    return None


def _pod(pod: PodFacts) -> Finding | None:
    words = (pod.message,) if pod.message else ()
    missing = _MISSING_OBJECT.search(pod.message)
    if missing and pod.reason in (*CONFIG_FAULTS, "FailedMount", "ContainerCreating", *IMAGE_FAULTS):
        return Finding(
            "SecretMissing", True, {"pod": pod.name, "kind": missing[1].lower(), "object": missing[2]}, words=words
        )
    if pod.reason in IMAGE_FAULTS:
        return Finding("ImageMissing", True, {"pod": pod.name, "fault": pod.reason}, words=words)
    if pod.reason in CONTAINER_FAULTS:
        return Finding("Container", False, {"pod": pod.name, "fault": pod.reason}, words=words)
    if pod.holds and _STARTUP.search(f"{pod.reason} {pod.message}"):
        return Finding("StartupOrder", False, {"pod": pod.name}, words=words)
    return None
