"""What Muster's service account may do in a cluster: the list that is tested, what each is for, and the manifest that
grants it. Pure. The API server's audit log is the witness that nothing is missing or spare: tests/cluster/rights.txt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from clusters import kinds
from clusters.kinds import Kind
from clusters.names import MANAGED_BY, MANAGED_BY_LABEL

NAMESPACE = "muster-system"
ACCOUNT = "muster"
WATCH = ("list", "watch")
KEEP = ("get", "create", "patch", "delete")
ALL = ("get", "list", "watch", "create", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Permission:
    """One verb on one resource. `resource` is the plural, with `/subresource` where it is one."""

    verb: str
    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")


@dataclass(frozen=True, slots=True)
class Grant:
    """Verbs on kinds, or on a subresource of theirs, and what stops working without."""

    verbs: tuple[str, ...]
    kinds: tuple[Kind, ...]
    without: str | Promise
    subresource: str = ""

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """One by one."""
        end = f"/{self.subresource}" if self.subresource else ""
        return tuple(Permission(verb, kind.group, kind.plural + end) for kind in self.kinds for verb in self.verbs)


_UNSEEN = _("what is shown of it stays as it was")
_UNREACHED = _("placement does not reach Grove’s own scheduler back-end")
_UNWRITTEN = _("what is defined here is not written or repaired")

GRANTS: tuple[Grant, ...] = (
    Grant(WATCH, (kinds.NODE,), _("nodes, their GPUs and the members of node pools stay as they were")),
    Grant(("patch",), (kinds.NODE,), _("nodes do not get the label of their node pool")),
    Grant(WATCH, (kinds.POD,), _("pods, allocated GPUs, the state of workloads and GPU metrics stay as they were")),
    Grant(("get",), (kinds.POD,), _("logs of pods cannot be read"), "log"),
    Grant(("get",), (kinds.POD,), _("GPU utilisation is not measured"), "proxy"),
    Grant(WATCH, (kinds.EVENT,), _("why something waits is told without the scheduler’s events")),
    Grant(WATCH, (kinds.PRIORITY_CLASS,), _("priority classes stay as they were")),
    Grant(ALL, (kinds.NAMESPACE,), _("namespaces of projects are not made, watched or deleted")),
    Grant(KEEP, (kinds.SECRET,), _("secrets of projects are not written or deleted")),
    Grant(
        ("list",),
        (kinds.DEPLOYMENT, kinds.DAEMON_SET, kinds.STATEFUL_SET),
        _("whether the components are installed and healthy is not known"),
    ),
    Grant(WATCH, (kinds.KAI_TOPOLOGY, kinds.KAI_SCHEDULING_SHARD, kinds.KAI_QUEUE), _UNSEEN),
    Grant(KEEP, (kinds.KAI_TOPOLOGY, kinds.KAI_SCHEDULING_SHARD, kinds.KAI_QUEUE), _UNWRITTEN),
    Grant(WATCH, (kinds.KAI_POD_GROUP,), _("why a workload waits and whether its placement arrived stay as they were")),
    Grant(WATCH, (kinds.GROVE_POD_CLIQUE_SET, kinds.GROVE_POD_CLIQUE), _UNSEEN),
    Grant(ALL, (kinds.GROVE_CLUSTER_TOPOLOGY_BINDING,), _UNREACHED),
    Grant(WATCH, (kinds.DYNAMO_GRAPH_DEPLOYMENT,), _UNSEEN),
    Grant(KEEP, (kinds.DYNAMO_GRAPH_DEPLOYMENT,), _UNWRITTEN),
    Grant(("get",), (kinds.CUSTOM_RESOURCE_DEFINITION,), _UNREACHED),
)
_BY_WORDS: Mapping[str, tuple[Permission, Grant]] = {
    str(permission): (permission, grant) for grant in GRANTS for permission in grant.permissions
}


def needed_permissions() -> tuple[Permission, ...]:
    """Every verb on every resource, one by one, as a test asks for them."""
    return tuple(permission for permission, _grant in _BY_WORDS.values())


def without(words: str) -> str | Promise:
    """What stops working without the permission that is spelled so; empty for one that is not needed."""
    found = _BY_WORDS.get(words)
    return found[1].without if found else ""


def missing_permissions(rules: Sequence[Mapping[str, Any]]) -> tuple[Permission, ...]:
    """What is needed and not granted by `rules`, the `resourceRules` of a SelfSubjectRulesReview."""
    return tuple(wanted for wanted in needed_permissions() if not any(_grants(rule, wanted) for rule in rules))


def _grants(rule: Mapping[str, Any], wanted: Permission) -> bool:
    if rule.get("resourceNames"):
        return False
    _plural, _slash, subresource = wanted.resource.partition("/")
    resources = {wanted.resource, "*", *([f"*/{subresource}"] if subresource else ())}
    return (
        bool({wanted.verb, "*"} & set(rule.get("verbs") or ()))
        and bool({wanted.group, "*"} & set(rule.get("apiGroups") or ()))
        and bool(resources & set(rule.get("resources") or ()))
    )


def rbac_manifest() -> str:
    """The YAML to apply: namespace, service account with a token that lasts, cluster role and its binding."""
    labels = {MANAGED_BY_LABEL: MANAGED_BY}
    account = {"name": ACCOUNT, "namespace": NAMESPACE, "labels": labels}
    documents = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": account
            | {"name": f"{ACCOUNT}-token", "annotations": {"kubernetes.io/service-account.name": ACCOUNT}},
            "type": "kubernetes.io/service-account-token",
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": ACCOUNT, "labels": labels},
            "rules": cluster_rules(),
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": ACCOUNT, "labels": labels},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
        },
    ]
    return "---\n".join(
        yaml.dump(document, sort_keys=False, default_flow_style=None, width=100, Dumper=_Plain)
        for document in documents
    )


class _Plain(yaml.SafeDumper):
    """Writes every value out: manifests are read by people."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def token_command() -> str:
    """Prints the token of the account that the manifest makes."""
    template = "{{.data.token | base64decode}}"
    return f"kubectl --namespace {NAMESPACE} get secret {ACCOUNT}-token --output go-template='{template}'"


def install_commands() -> str:
    """A script for who administers the cluster: applies the manifest, then prints the account's token."""
    return f"kubectl apply --filename - <<'EOF'\n{rbac_manifest()}EOF\n{token_command()}\n"


def cluster_rules() -> list[dict[str, list[str]]]:
    """The rules of the ClusterRole: each resource once, those of a group with the same verbs together."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for permission in needed_permissions():
        verbs.setdefault((permission.group, permission.resource), []).append(permission.verb)
    rules: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), found in verbs.items():
        ordered = tuple(verb for verb in ALL if verb in found)
        rules.setdefault((group, ordered), []).append(resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(found)}
        for (group, found), resources in rules.items()
    ]
