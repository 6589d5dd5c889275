"""What a submitted manifest may not hold: everything that `allowed_fields` does not list is refused with its path,
and so are values that are of the right type and wrong all the same. Pure.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusters.names import (
    DYNAMO_QUEUE_ANNOTATION,
    PREFERRED_PLACEMENT_ANNOTATION,
    REQUIRED_PLACEMENT_ANNOTATION,
    TOPOLOGY_ANNOTATION,
    is_label_key,
    is_label_value,
)
from core.errors import Fault
from core.words import gettext as _
from core.words import gettext_noop
from topology.durations import is_go_duration
from workloads.allowed_fields import ROOT, WHY, spec_rule
from workloads.allowed_parts import ANY, Fields, Rule
from workloads.graph import PREEMPTIBILITY_LABEL, PRIORITY_LABEL, V1ALPHA1
from workloads.leaves import Leaf

SCHEDULER = "kai-scheduler"
# Annotations that become durations of the pod group.
PREEMPTION_DELAY = "kai.scheduler/preemption-delay"
STALENESS_GRACE_PERIOD = "kai.scheduler/staleness-grace-period"
# What is read as a label or as an annotation only: elsewhere KAI and Dynamo pass over it in silence.
_HOMES: Mapping[str, str] = {
    PRIORITY_LABEL: "labels",
    PREEMPTIBILITY_LABEL: "labels",
    TOPOLOGY_ANNOTATION: "annotations",
    REQUIRED_PLACEMENT_ANNOTATION: "annotations",
    PREFERRED_PLACEMENT_ANNOTATION: "annotations",
    DYNAMO_QUEUE_ANNOTATION: "annotations",
    PREEMPTION_DELAY: "annotations",
    STALENESS_GRACE_PERIOD: "annotations",
}
_SEMVER = re.compile(r"v?\d+\.\d+\.\d+([-+.][0-9A-Za-z.+-]*)?\Z")


class _ShapeFault(Fault):
    """A value of another type than the field has."""


class _StructureFault(_ShapeFault):
    """Something else where a mapping or a list must be."""


def structure_faults(document: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Where `document` lacks the mappings and lists that reading and editing it rely on."""
    return tuple(fault for fault in _all_refused(document) if isinstance(fault, _StructureFault))


def check_allowed(document: Mapping[str, Any], *, namespace: str) -> tuple[Fault, ...]:
    """Every field that may not be submitted to `namespace`, in the order of the document; () if all may."""
    is_alpha = document.get("apiVersion") == V1ALPHA1
    faults = list(_all_refused(document))
    if any(isinstance(fault, _ShapeFault) for fault in faults):  # what follows reads the document by its shape
        return tuple(faults)
    faults += _values(document, namespace)
    for field, entry in _component_entries(document, is_alpha):
        faults += _component_faults(field, entry, is_alpha)
    return tuple(faults)


def _all_refused(document: Mapping[str, Any]) -> Iterator[Fault]:
    is_alpha = document.get("apiVersion") == V1ALPHA1
    return _refused(document, {**ROOT, "spec": spec_rule(is_alpha=is_alpha)}, "")


def _refused(value: Any, rule: Rule, path: str) -> Iterator[Fault]:
    if isinstance(rule, Leaf):
        fault = rule.fault(value, path)
        if fault is not None:
            yield _ShapeFault(fault.field, fault.message, fault.allowed)
        return
    if rule is ANY or value is None:
        return
    if isinstance(rule, list):
        yield from _refused_entries(value, rule[0], path)
        return
    if not isinstance(value, Mapping):
        yield _StructureFault(path, _("it is not a mapping"))
        return
    for key, inner in value.items():
        field = f"{path}.{key}" if path else key
        inner_rule = rule.get("*", rule.get(key))
        if inner_rule is None:
            why = _(WHY.get(key, gettext_noop("it is not a field that Muster knows")))
            yield Fault(field, _("it may not be set: %(why)s") % {"why": why}, ", ".join(sorted(rule)))
        else:
            yield from _refused(inner, inner_rule, field)
    if isinstance(rule, Fields):
        yield from _lacking(value, rule, path)


def _lacking(value: Mapping[str, Any], rule: Fields, path: str) -> Iterator[Fault]:
    for key in rule.needs:
        if key not in value or (value[key] is None and not isinstance(rule[key], Leaf)):
            yield _ShapeFault(f"{path}.{key}", _("it has no value"))


def _refused_entries(value: Any, rule: Rule, path: str) -> Iterator[Fault]:
    if not isinstance(value, list):
        yield _StructureFault(path, _("it is not a list"))
        return
    for index, inner in enumerate(value):
        if inner is None:
            yield _StructureFault(f"{path}[{index}]", _("an entry of the list is empty"))
        yield from _refused(inner, rule, f"{path}[{index}]")


def _values(document: Mapping[str, Any], namespace: str) -> Iterator[Fault]:
    metadata = document.get("metadata") or {}
    own = metadata.get("namespace")
    if own not in (None, "", namespace):
        message = _("%(value)s is not the project’s namespace") % {"value": repr(str(own)[:63])}
        yield Fault("metadata.namespace", message, namespace)
    for place in ("metadata", "spec"):
        for section in ("labels", "annotations"):
            entries, field = (document.get(place) or {}).get(section), f"{place}.{section}"
            yield from _entries(entries, field, section == "labels")
            yield from _misplaced(entries, field, section)
        yield from _durations((document.get(place) or {}).get("annotations"), f"{place}.annotations")


def _entries(entries: Any, field: str, are_labels: bool) -> Iterator[Fault]:
    if not isinstance(entries, Mapping):
        return
    for key, value in entries.items():
        if not is_label_key(key):
            yield Fault(f"{field}[{key[:80]}]", _("the key is not a label key"))
        elif not isinstance(value, str):
            yield Fault(f"{field}[{key}]", _("the value is not text"), _("quote it"))
        elif are_labels and not is_label_value(value):
            message = _("%(value)s is not a label value") % {"value": repr(value[:80])}
            yield Fault(f"{field}[{key}]", message, _("at most 63 of A–Z a–z 0–9 - _ ."))
        elif key.startswith("muster.dev/"):
            yield Fault(f"{field}[{key}]", _("Muster writes it"))


def _misplaced(entries: Any, field: str, section: str) -> Iterator[Fault]:
    for key in entries if isinstance(entries, Mapping) else ():
        home = _HOMES.get(key, section)
        if home != section:
            place = "spec.priorityClassName" if key == PRIORITY_LABEL else f"spec.{home}[{key}]"
            yield Fault(f"{field}[{key}]", _("nothing reads it here"), place)


def _durations(entries: Any, field: str) -> Iterator[Fault]:
    """What Go cannot parse leaves the gang without a pod group, or blinds every reader of pod groups.

    KAI's parser takes no negative delay; a negative grace period means never (kai-scheduler.md §1.3).
    """
    entries = entries if isinstance(entries, Mapping) else {}
    for key in (PREEMPTION_DELAY, STALENESS_GRACE_PERIOD):
        text = entries.get(key)
        if not isinstance(text, str):
            continue
        if not is_go_duration(text):
            message = _("%(value)s is not a duration") % {"value": repr(text[:40])}
            yield Fault(f"{field}[{key}]", message, _("numbers with the units h, m, s, ms, us, ns, such as 8h40m"))
        elif key == PREEMPTION_DELAY and text.startswith("-"):
            yield Fault(f"{field}[{key}]", _("it may not be negative"))


def _component_entries(document: Mapping[str, Any], is_alpha: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    spec = document.get("spec") or {}
    if is_alpha:
        entries = [(f"spec.services.{name}", entry) for name, entry in (spec.get("services") or {}).items()]
    else:
        entries = [(f"spec.components[{i}]", entry) for i, entry in enumerate(spec.get("components") or ())]
    return ((field, entry) for field, entry in entries if isinstance(entry, Mapping))


def _component_faults(field: str, entry: Mapping[str, Any], is_alpha: bool) -> Iterator[Fault]:
    if is_alpha:
        pod, pod_field = entry.get("extraPodSpec") or {}, f"{field}.extraPodSpec"
        main, main_field = pod.get("mainContainer") or {}, f"{pod_field}.mainContainer"
    else:
        pod, pod_field = (entry.get("podTemplate") or {}).get("spec") or {}, f"{field}.podTemplate.spec"
        containers = [c for c in pod.get("containers") or () if isinstance(c, Mapping)]
        main = next((c for c in containers if c.get("name") == "main"), {})
        main_field = f"{pod_field}.containers"
    if not main.get("image"):
        yield Fault(main_field, _("no container named main with an image"), _("image of the Dynamo runtime"))
    elif not entry.get("runtimeVersionOverride") and not _SEMVER.match(_tag(str(main["image"]))):
        yield Fault(
            f"{field}.runtimeVersionOverride",
            _("the tag of image %(image)s is not a version, so the operator must be told one")
            % {"image": repr(str(main["image"])[:120])},
            "MAJOR.MINOR.PATCH",
        )
    if pod.get("schedulerName") not in (None, "", SCHEDULER):
        message = _("%(value)s starts no gang") % {"value": repr(str(pod["schedulerName"])[:63])}
        yield Fault(f"{pod_field}.schedulerName", message, SCHEDULER)
    yield from _security_faults(pod, pod_field)
    for holder, path in _metadata_holders(entry, field, is_alpha):
        for section in ("labels", "annotations"):
            yield from _entries(holder.get(section), f"{path}{section}", section == "labels")
            yield from _reserved(holder.get(section), f"{path}{section}")


def _metadata_holders(entry: Mapping[str, Any], field: str, is_alpha: bool) -> Iterator[tuple[Mapping[str, Any], str]]:
    if is_alpha:
        yield entry, f"{field}."
        yield entry.get("extraPodMetadata") or {}, f"{field}.extraPodMetadata."
    else:
        yield (entry.get("podTemplate") or {}).get("metadata") or {}, f"{field}.podTemplate.metadata."


def _reserved(entries: Any, field: str) -> Iterator[Fault]:
    """Queue, pool and gang belong to the whole graph: a component cannot leave it."""
    for key in entries if isinstance(entries, Mapping) else ():
        if key.startswith("kai.scheduler/") or key in ("project", *_HOMES):
            yield Fault(f"{field}[{key}]", _("it holds for the whole graph, not for one component"), "spec")


def _security_faults(pod: Mapping[str, Any], field: str) -> Iterator[Fault]:
    containers = [("mainContainer", pod.get("mainContainer"))]
    for listed in ("containers", "initContainers"):
        containers += [(f"{listed}[{i}]", container) for i, container in enumerate(pod.get(listed) or ())]
    for path, container in containers:
        security = (container.get("securityContext") or {}) if isinstance(container, Mapping) else {}
        if security.get("allowPrivilegeEscalation"):
            where = f"{field}.{path}.securityContext.allowPrivilegeEscalation"
            yield Fault(where, _("it may not be true"), "false")


def _tag(image: str) -> str:
    """The tag of an image reference; empty for none, or for a digest."""
    last = image.rsplit("/", 1)[-1]
    return "" if "@" in last or ":" not in last else last.rsplit(":", 1)[1]
