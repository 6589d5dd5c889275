"""What Grove's validating webhook refuses, with its texts (golden/grove/09, 12, 16–18; dynamo issue 11837). Pure.

A cluster without the webhook does not refuse: the operator then reports the same text in an event.
"""

import json

from clusters.operators.grove.defaults import defaulted_spec
from clusters.operators.grove.names import QUEUE_LABEL
from clusters.operators.grove.topology import Bindings, domain_keys, topology_name
from clusters.operators.objects import annotations_of, labels_of
from simulator.client import Object

WEBHOOK = 'admission webhook "pcs.validating.webhooks.grove.io" denied the request: '


def refusal(pcs: Object, bindings: Bindings, *, own_backend: bool) -> str:
    """Why a PodCliqueSet is refused, "" when it is not. `own_backend`: Grove makes the PodGroups itself."""
    spec = defaulted_spec(pcs["spec"])
    found = _size_refusal(spec["template"]) or _topology_refusal(spec["template"], bindings)
    if not found and own_backend:
        found = _queue_refusal(pcs, spec)
    return found


def queue_of(pcs: Object, cliques: list[Object]) -> str:
    """The queue of a PodCliqueSet in Grove's own back-end: its label or annotation, else its cliques'."""
    return _queue(labels_of(pcs), annotations_of(pcs)) or next(
        (queue for queue in map(_clique_queue, cliques) if queue), ""
    )


def _queue_refusal(pcs: Object, spec: Object) -> str:
    cliques = spec["template"]["cliques"]
    name = f"{pcs['metadata'].get('namespace', '')}/{pcs['metadata']['name']}"
    queue = queue_of(pcs, cliques)
    if not queue:
        text = f"no KAI queue is configured on PodCliqueSet {name} or its PodClique templates"
        return _invalid("spec", spec, text)
    for clique in cliques:
        own = _clique_queue(clique)
        if own and own != queue:
            text = (
                f'KAI queue on PodCliqueSet {name} is "{queue}" but PodClique template '
                f'"{clique["name"]}" resolves to "{own}"'
            )
            return _invalid("spec", spec, text)
    return ""


def _size_refusal(template: Object) -> str:
    faults = []
    for index, group in enumerate(template.get("podCliqueScalingGroups") or ()):
        path = f"spec.template.podCliqueScalingGroups[{index}]"
        replicas, least = group["replicas"], group["minAvailable"]
        if replicas <= 0:
            faults.append(f"{path}.replicas: Invalid value: {replicas}: must be greater than 0")
        if least > replicas:
            text = "minAvailable must not be greater than replicas"
            faults.append(f"{path}.minAvailable: Invalid value: {least}: {text}")
    return f"[{', '.join(faults)}]" if len(faults) > 1 else "".join(faults)


def _topology_refusal(template: Object, bindings: Bindings) -> str:
    name = topology_name(template)
    if not name:
        return ""
    path = "spec.template.topologyConstraint"
    binding = bindings.get(name)
    if binding is None:
        text = f'ClusterTopologyBinding "{name}" not found'
        return f'{path}.topologyName: Invalid value: "{name}": {text}'
    domains = list(domain_keys(binding))
    own = (template.get("topologyConstraint") or {}).get("pack") or {}
    for mode in ("required", "preferred"):
        if own.get(mode) and own[mode] not in domains:
            text = f"topology domain '{own[mode]}' does not exist in cluster topology [{' '.join(domains)}]"
            return f'{path}.pack.{mode}: Invalid value: "{own[mode]}": {text}'
    return _nesting_refusal(template, domains, own.get("required", ""))


def _nesting_refusal(template: Object, domains: list[str], outer: str) -> str:
    parts = [("PodClique", clique) for clique in template["cliques"]]
    parts += [("PodCliqueScalingGroup", group) for group in template.get("podCliqueScalingGroups") or ()]
    for kind, part in parts:
        pack = (part.get("topologyConstraint") or {}).get("pack") or {}
        inner = pack.get("required", "")
        if inner in domains and outer in domains and domains.index(inner) < domains.index(outer):
            return (
                f'spec.template.topologyConstraint: Invalid value: "{outer}": PodCliqueSet topology constraint '
                f"domain '{outer}' is narrower than {kind} '{part['name']}' topology constraint domain '{inner}'"
            )
        unknown = next(
            (pack[mode] for mode in ("required", "preferred") if pack.get(mode, outer) not in (*domains, "")), ""
        )
        if unknown:
            text = f"topology domain '{unknown}' does not exist in cluster topology [{' '.join(domains)}]"
            return f'spec.template.topologyConstraint.pack: Invalid value: "{unknown}": {text}'
    return ""


def _queue(labels: object, annotations: object) -> str:
    for source in (labels, annotations):
        if isinstance(source, dict) and source.get(QUEUE_LABEL):
            return str(source[QUEUE_LABEL])
    return ""


def _clique_queue(clique: Object) -> str:
    return _queue(clique.get("labels") or {}, clique.get("annotations") or {})


def _invalid(path: str, value: Object, text: str) -> str:
    return f"{path}: Invalid value: {json.dumps(value, separators=(',', ':'))}: {text}"
