"""The Kubernetes kinds that Muster and the simulated cluster speak of: group, version, plural, scope. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One served resource; `path()` is its URL below the API server's root."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """`apiVersion` as manifests spell it: `v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """URL path of the collection or the object. Callers validate names first (`clusters.names`)."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if self.namespaced and namespace is not None:
            root += f"/namespaces/{namespace}"
        return f"{root}/{self.plural}" + (f"/{name}" if name is not None else "")


NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
POD = Kind("", "v1", "Pod", "pods", namespaced=True)
EVENT = Kind("", "v1", "Event", "events", namespaced=True)
SECRET = Kind("", "v1", "Secret", "secrets", namespaced=True)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
SERVICE = Kind("", "v1", "Service", "services", namespaced=True)
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
ENDPOINT_SLICE = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", namespaced=True)
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
PRIORITY_CLASS = Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)

KAI_TOPOLOGY = Kind("kai.scheduler", "v1alpha1", "Topology", "topologies", namespaced=False)
KAI_SCHEDULING_SHARD = Kind("kai.scheduler", "v1", "SchedulingShard", "schedulingshards", namespaced=False)
KAI_CONFIG = Kind("kai.scheduler", "v1", "Config", "configs", namespaced=False)
KAI_QUEUE = Kind("scheduling.run.ai", "v2", "Queue", "queues", namespaced=False)
KAI_POD_GROUP = Kind("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups", namespaced=True)

GROVE_CLUSTER_TOPOLOGY_BINDING = Kind(
    "grove.io", "v1alpha1", "ClusterTopologyBinding", "clustertopologybindings", namespaced=False
)
GROVE_POD_CLIQUE_SET = Kind("grove.io", "v1alpha1", "PodCliqueSet", "podcliquesets", namespaced=True)
GROVE_POD_CLIQUE = Kind("grove.io", "v1alpha1", "PodClique", "podcliques", namespaced=True)
GROVE_SCALING_GROUP = Kind("grove.io", "v1alpha1", "PodCliqueScalingGroup", "podcliquescalinggroups", namespaced=True)
GROVE_POD_GANG = Kind("scheduler.grove.io", "v1alpha1", "PodGang", "podgangs", namespaced=True)

DYNAMO_GRAPH_DEPLOYMENT = Kind(
    "nvidia.com", "v1beta1", "DynamoGraphDeployment", "dynamographdeployments", namespaced=True
)
DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1 = Kind(
    "nvidia.com", "v1alpha1", "DynamoGraphDeployment", "dynamographdeployments", namespaced=True
)
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets", namespaced=True)
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
