"""What Grove's mutating webhook fills into a PodCliqueSet spec (the `defaulted_spec` of golden/grove). Pure."""

from typing import Any

from clusters.operators.objects import Object


def defaulted_spec(spec: Object) -> Object:
    """A new spec with every default in place; `spec` is not changed."""
    template = dict(spec.get("template") or {})
    template["cliques"] = [_clique(clique) for clique in template.get("cliques") or ()]
    template.setdefault("cliqueStartupType", "CliqueStartupTypeAnyOrder")
    template.setdefault("headlessServiceConfig", {"publishNotReadyAddresses": True})
    template.setdefault("terminationDelay", "4h0m0s")
    if template.get("podCliqueScalingGroups"):
        template["podCliqueScalingGroups"] = [_scaling_group(g) for g in template["podCliqueScalingGroups"]]
    return {**spec, "replicas": spec.get("replicas", 1), "template": template}


def _clique(clique: Object) -> Object:
    spec = dict(clique["spec"])
    replicas = spec.setdefault("replicas", 1)
    spec.setdefault("minAvailable", max(replicas, 1))
    spec.setdefault("roleName", clique["name"])
    pod_spec: dict[str, Any] = dict(spec.get("podSpec") or {})
    pod_spec.setdefault("restartPolicy", "Always")
    pod_spec.setdefault("terminationGracePeriodSeconds", 30)
    spec["podSpec"] = pod_spec
    return {**clique, "spec": spec}


def _scaling_group(group: Object) -> Object:
    return {**group, "replicas": group.get("replicas", 1), "minAvailable": group.get("minAvailable", 1)}
