"""What would be applied, as far as the database knows the cluster: for pages, which make no call."""

from typing import Any

from clusters.models import ClusterObject
from core.errors import InvalidInput
from workloads.checks import Submission, placement_of, quotas_of
from workloads.graph import API_VERSIONS
from workloads.manifests import Manifest, Target, WorkloadSpec, graph_manifest
from workloads.models import Preemptibility, Workload
from workloads.reconcile.spec import spec_of


def rendered_manifest(workload: Workload) -> Manifest | None:
    """The graph as it would be applied; None where it cannot be rendered."""
    try:
        return manifest_for(spec_of(workload), workload.cluster)
    except InvalidInput:
        return None


def submission_manifest(submission: Submission) -> Manifest | None:
    """The graph that a submission would make; None where the project has no queue on the pool. Raises
    `InvalidInput` where the served version lacks a field."""
    project, pool, graph = submission.project, submission.pool, submission.graph
    quota, _parent = quotas_of(project, pool)
    if quota is None:
        return None
    topology, required, preferred = placement_of(submission)
    spec = WorkloadSpec(
        name=graph.name,
        namespace=project.namespace,
        owner=f"{Workload._meta.label}.…",
        workload="…",
        document=submission.document,
        queue=quota.queue_name,
        node_pool=pool.shard,
        topology=topology,
        required=required,
        preferred=preferred,
        priority_class=graph.wishes.priority_class,
        preemptibility=graph.wishes.preemptibility or Preemptibility.PREEMPTIBLE.value,
    )
    return manifest_for(spec, project.cluster)


def manifest_for(spec: WorkloadSpec, cluster: Any) -> Manifest:
    """The graph for a spec that need not be stored. Raises `InvalidInput` where the served version lacks a field."""
    versions = (cluster.served or {}).get("nvidia.com", {}).get("dynamographdeployments") or ()
    served = [version for version in API_VERSIONS if version.partition("/")[2] in versions]
    own = str(spec.document.get("apiVersion"))
    return graph_manifest(spec, Target(served[0] if served else own, **_binding(spec, cluster)))


def _binding(spec: WorkloadSpec, cluster: Any) -> dict[str, Any]:
    row = ClusterObject.objects.filter(
        cluster=cluster, group="grove.io", plural="clustertopologybindings", name=spec.topology
    ).first()
    if row is None or not spec.topology:
        return {}
    levels = (row.manifest.get("spec") or {}).get("levels") or ()
    return {
        "binding": spec.topology,
        "domains": {level["key"]: level["domain"] for level in levels},
        "takes_override": True,
    }
