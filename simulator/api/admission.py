"""Admission: what the API server's plugins and the operators' webhooks change or refuse."""

from typing import TYPE_CHECKING

from simulator.api import dynamo_webhook, kai_webhooks
from simulator.api.errors import forbidden
from simulator.api.escalation import check_escalation
from simulator.api.requests import WriteOptions
from simulator.api.resources import Resource
from simulator.api.store import CollectionName
from simulator.api.webhooks import Webhook
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

PODS: CollectionName = ("", "pods")
WEBHOOKS: dict[CollectionName, Webhook] = {**kai_webhooks.WEBHOOKS, **dynamo_webhook.WEBHOOKS}
_PROTECTED = frozenset({"default", "kube-system", "kube-public"})


def mutate(server: "Server", resource: Resource, new: Object, old: Object | None, options: WriteOptions) -> Object:
    """Plugins that fill in: the priority of a new pod. Raises 403 for a class or service account that is not there, and
    for a role that would grant what its author does not hold."""
    check_escalation(server, resource, new, old, options.user)
    if resource.storage != PODS or old is not None:
        return new
    spec = new.get("spec") or {}
    name = new["metadata"].get("name", "")
    account = (new["metadata"].get("namespace", ""), spec.get("serviceAccountName", "default"))
    if account not in server.store.collection(("", "serviceaccounts")).entries:
        why = f'error looking up service account {"/".join(account)}: serviceaccount "{account[1]}" not found'
        raise forbidden("", "pods", name, why)
    return {**new, "spec": {**spec, **_priority(server, spec, name)}}


def validate(server: "Server", resource: Resource, new: Object, old: Object | None, options: WriteOptions) -> list[str]:
    """Warnings of the webhooks; raises what they refuse."""
    webhook = WEBHOOKS.get(resource.storage)
    if webhook is None or (old is not None and _same(new, old)):
        return []
    return webhook.check(server, resource.kind.group, new, old)


def validate_delete(server: "Server", resource: Resource, old: Object) -> None:
    """Raises what may not be deleted."""
    name = old["metadata"]["name"]
    if resource.storage == ("", "namespaces") and name in _PROTECTED:
        raise forbidden("", "namespaces", name, "this namespace may not be deleted")
    webhook = WEBHOOKS.get(resource.storage)
    if webhook is not None:
        webhook.check_delete(server, resource.kind.group, old)


def _same(new: Object, old: Object) -> bool:
    """Only metadata differs: nothing that these webhooks look at, except annotations."""
    annotations = new["metadata"].get("annotations") == old["metadata"].get("annotations")
    return annotations and new.get("spec") == old.get("spec")


def _require_same_priority(spec: Object, computed: int, pod: str) -> None:
    given = spec.get("priority")
    if given is not None and given != computed:
        why = (
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {computed} from the given PriorityClass name"
        )
        raise forbidden("", "pods", pod, why)


def _priority(server: "Server", spec: Object, pod: str) -> Object:
    classes = server.store.collection(("scheduling.k8s.io", "priorityclasses")).entries
    name = spec.get("priorityClassName")
    if name:
        found = classes.get(("", name))
        if found is None:
            raise forbidden("", "pods", pod, f"no PriorityClass with name {name} was found")
    else:
        found = next((entry for entry in classes.values() if entry.object.get("globalDefault")), None)
    _require_same_priority(spec, found.object.get("value", 0) if found else 0, pod)
    if found is None:
        return {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
    return {
        "priorityClassName": found.key[1],
        "priority": found.object.get("value", 0),
        "preemptionPolicy": found.object.get("preemptionPolicy", "PreemptLowerPriority"),
    }
