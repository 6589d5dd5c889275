"""What the scheduler heeds of a pod beyond the columns of its row, in one small mapping; {} for a plain pod. Pure.

Keys, all optional: `scheduler` (when it is not KAI's), `subgroup`, `nodeSelector`, `tolerations`, `affinity` (required
terms only, as Kubernetes spells them), `labels` (of a pod with terms on other pods), `taskPriority`, `fraction`,
`gpuMemory` (MiB), `devices`, `gpuGroups`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from clusters import wire

SCHEDULER_NAME = "kai-scheduler"
SUBGROUP_LABEL = "kai.scheduler/subgroup-name"
TASK_PRIORITY_LABEL = "kai.scheduler/task-priority"
GPU_GROUP_LABEL = "runai-gpu-group"
FRACTION_ANNOTATION = "gpu-fraction"
FRACTION_DEVICES_ANNOTATION = "gpu-fraction-num-devices"
GPU_MEMORY_ANNOTATION = "gpu-memory"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
POD_TERMS = ("podAffinity", "podAntiAffinity")
# The API server gives them to every pod; KAI uses no node that has these taints.
DEFAULT_TOLERATIONS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})


def scheduling_of(meta: wire.Meta, spec: wire.PodSpec) -> dict[str, Any]:
    """The mapping of one pod."""
    labels, annotations = meta.labels or {}, meta.annotations or {}
    affinity = _required(spec.affinity or {})
    found = {
        "scheduler": "" if spec.scheduler_name == SCHEDULER_NAME else spec.scheduler_name or "default-scheduler",
        "subgroup": labels.get(SUBGROUP_LABEL),
        "nodeSelector": spec.node_selector,
        "tolerations": [msgspec.to_builtins(entry) for entry in spec.tolerations or () if not _is_default(entry)],
        "affinity": affinity,
        "labels": labels if any(name in affinity for name in POD_TERMS) else None,
        "taskPriority": labels.get(TASK_PRIORITY_LABEL),
        "fraction": annotations.get(FRACTION_ANNOTATION),
        "gpuMemory": annotations.get(GPU_MEMORY_ANNOTATION),
        "devices": annotations.get(FRACTION_DEVICES_ANNOTATION),
        "gpuGroups": [value for key, value in sorted(labels.items()) if key.startswith(GPU_GROUP_LABEL)],
    }
    return {key: value for key, value in found.items() if value}


def _is_default(entry: wire.Toleration) -> bool:
    return entry.key in DEFAULT_TOLERATIONS and entry.effect == "NoExecute" and entry.toleration_seconds is not None


def _required(affinity: Mapping[str, Any]) -> dict[str, Any]:
    """The affinity without its preferences."""
    parts = {name: part.get(REQUIRED) for name, part in affinity.items() if isinstance(part, dict)}
    return {name: {REQUIRED: terms} for name, terms in parts.items() if terms}
