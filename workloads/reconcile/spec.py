"""From the row to what is rendered, and what the cluster can take of it."""

from clusters.kinds import CUSTOM_RESOURCE_DEFINITION, DYNAMO_GRAPH_DEPLOYMENT, GROVE_CLUSTER_TOPOLOGY_BINDING, Kind
from clusters.kube.errors import Forbidden, NotServed
from clusters.kube.gateway import Gateway
from clusters.names import owner_label_value
from core.errors import InvalidInput
from organizations.models import Quota
from workloads.graph import API_VERSIONS
from workloads.manifests import Target, WorkloadSpec
from workloads.models import Workload


def spec_of(workload: Workload) -> WorkloadSpec:
    """The row as what is to be rendered. Raises `InvalidInput` where the project has no queue on the pool any more."""
    pool = workload.node_pool
    quota = Quota.objects.filter(project=workload.project_id, node_pool=pool).first()
    if quota is None:
        message = f"project {workload.project.name} has no quota on node pool {pool.name}, so there is no queue"
        raise InvalidInput.of("node_pool", message)
    return WorkloadSpec(
        name=workload.name,
        namespace=workload.project.namespace,
        owner=owner_of(workload),
        workload=str(workload.pk),
        document=workload.manifest,
        queue=quota.queue_name,
        node_pool=pool.shard,
        topology=workload.topology_name,
        required=workload.required_level,
        preferred=workload.preferred_level,
        priority_class=workload.priority_class,
        preemptibility=workload.preemptibility,
    )


def owner_of(workload: Workload) -> str:
    """The value of `OWNER_LABEL` on its graph."""
    return owner_label_value(Workload._meta.label, workload.pk)


def served_kind(gateway: Gateway) -> Kind:
    """The graph's kind in the version to write: v1beta1 where it is served, else v1alpha1. Raises `NotServed`."""
    served = gateway.served_versions(DYNAMO_GRAPH_DEPLOYMENT)
    for api_version in API_VERSIONS:
        version = api_version.partition("/")[2]
        if version in served:
            kind = DYNAMO_GRAPH_DEPLOYMENT
            return Kind(kind.group, version, kind.kind, kind.plural, namespaced=True)
    raise NotServed("The cluster does not serve DynamoGraphDeployment: the Dynamo operator is not installed.")


def target_of(spec: WorkloadSpec, gateway: Gateway, kind: Kind) -> Target:
    """What the cluster serves for this spec: the version, and the levers for Grove's own back-end."""
    if not spec.topology:
        return Target(kind.api_version)
    try:
        binding = gateway.get(GROVE_CLUSTER_TOPOLOGY_BINDING, spec.topology)
    except (NotServed, Forbidden):
        binding = None  # for Grove's own back-end only
    if binding is None:
        return Target(kind.api_version)
    levels = (binding.get("spec") or {}).get("levels") or ()
    return Target(
        api_version=kind.api_version,
        binding=spec.topology,
        domains={level["key"]: level["domain"] for level in levels},
        takes_override=_takes_override(gateway, kind),
    )


def _takes_override(gateway: Gateway, kind: Kind) -> bool:
    """Whether the installed CRD has `spec.providerOverride`; if it may not be read, no."""
    try:
        crd = gateway.get(CUSTOM_RESOURCE_DEFINITION, f"{kind.plural}.{kind.group}")
    except Forbidden:
        return False
    for version in ((crd or {}).get("spec") or {}).get("versions") or ():
        if version.get("name") == kind.version:
            schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
            spec = (schema.get("properties") or {}).get("spec") or {}
            return "providerOverride" in (spec.get("properties") or {})
    return False
