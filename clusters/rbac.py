"""What Muster's service account may do in a cluster: the list that is tested, and the manifest that grants it. Pure."""

from dataclasses import dataclass

import yaml

from clusters import kinds
from clusters.kinds import Kind
from clusters.names import MANAGED_BY, MANAGED_BY_LABEL

NAMESPACE = "muster-system"
ACCOUNT = "muster"
READ = ("get", "list", "watch")
WRITE = (*READ, "create", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Grant:
    """Verbs on kinds, and what for."""

    verbs: tuple[str, ...]
    kinds: tuple[Kind, ...]
    subresources: tuple[str, ...] = ()


GRANTS: tuple[Grant, ...] = (
    Grant((*READ, "patch"), (kinds.NODE,)),
    Grant(READ, (kinds.POD, kinds.EVENT, kinds.PRIORITY_CLASS, kinds.SERVICE), ("pods/log", "pods/proxy")),
    Grant(WRITE, (kinds.NAMESPACE,)),
    Grant(("get", "create", "patch", "delete"), (kinds.SECRET,)),
    Grant(("list",), (kinds.DEPLOYMENT, kinds.DAEMON_SET, kinds.STATEFUL_SET)),
    Grant(WRITE, (kinds.KAI_TOPOLOGY, kinds.KAI_SCHEDULING_SHARD, kinds.KAI_QUEUE)),
    Grant(READ, (kinds.KAI_POD_GROUP,)),
    Grant(READ, (kinds.GROVE_POD_CLIQUE_SET, kinds.GROVE_POD_CLIQUE)),
    Grant(WRITE, (kinds.GROVE_CLUSTER_TOPOLOGY_BINDING, kinds.DYNAMO_GRAPH_DEPLOYMENT)),
    Grant(("get",), (kinds.CUSTOM_RESOURCE_DEFINITION,)),
)


def needed_permissions() -> tuple[tuple[str, Kind], ...]:
    """Every verb on every kind, one by one, as a test asks for them."""
    return tuple((verb, kind) for grant in GRANTS for kind in grant.kinds for verb in grant.verbs)


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
            "rules": [rule for grant in GRANTS for rule in _rules(grant)],
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


def _rules(grant: Grant) -> list[dict[str, list[str]]]:
    groups = dict.fromkeys(kind.group for kind in grant.kinds)
    rules = [
        {
            "apiGroups": [group],
            "resources": [kind.plural for kind in grant.kinds if kind.group == group],
            "verbs": list(grant.verbs),
        }
        for group in groups
    ]
    if grant.subresources:
        rules.append({"apiGroups": [""], "resources": list(grant.subresources), "verbs": ["get"]})
    return rules
