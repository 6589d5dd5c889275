"""What a script written for Run:ai does with the official client: create, list, filter, update, delete of every group.

`call` runs a method of the client and gives its data: at once, or from the result of its threaded variant.
"""

import base64
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from tests.api.runapy_people import people
from tests.api.walks_of_resources import SPECS

SPAN = {"start": "2026-11-29T10:00:00Z", "end": "2026-11-29T11:00:00Z"}


@dataclass
class Job:
    """The client's groups over one cluster. `suffix` keeps the names of two runs apart; no underscores: runapy
    rewrites them in paths."""

    client: Any
    cluster_id: str
    manifest: str
    call: Callable[[Any], Any]
    suffix: str

    def group(self, name: str) -> Any:
        from runai import api

        return getattr(api, f"{name}Api")(self.client)

    def name(self, word: str) -> str:
        return f"{word}-{self.suffix}"


def clusters(job: Job) -> None:
    group, call = job.group("Clusters"), job.call
    listed = call(group.get_clusters(verbosity="metadata"))
    assert job.cluster_id in [row["uuid"] for row in listed]
    shown = call(group.get_cluster_by_uuid(job.cluster_id))
    assert call(group.update_cluster(job.cluster_id, {"name": job.name("renamed")})) is None
    assert call(group.get_cluster_by_uuid(job.cluster_id))["name"] == job.name("renamed")
    call(group.update_cluster(job.cluster_id, {"name": shown["name"]}))
    # The client's models know neither the address nor the token of a cluster; a plain body goes through unchanged.
    other = {"name": job.name("other"), "server": "https://k8s.example.org", "token": "t"}
    made = call(group.create_cluster(other))
    assert made["uuid"] in [row["uuid"] for row in call(group.get_clusters())]
    call(group.delete_cluster(made["uuid"], force=True))
    assert made["uuid"] not in [row["uuid"] for row in call(group.get_clusters())]
    call(group.get_cluster_metrics(job.cluster_id, metric_type=["TOTAL_GPU"], **SPAN))
    assert "kubectl" in call(group.get_cluster_install_info_by_uuid(job.cluster_id, version="2.24"))["installationStr"]
    assert "kind: ClusterRole" in call(group.get_install_file(job.cluster_id))


def nodes(job: Job) -> None:
    group, call = job.group("Nodes"), job.call
    count = call(group.count_tenant_nodes(filter_by=[f"clusterUuid=={job.cluster_id}"]))["count"]
    listed = call(group.get_tenant_nodes(filter_by=[f"clusterUuid=={job.cluster_id}"], limit=500))["nodes"]
    assert len(listed) == count
    call(group.get_node_telemetry(telemetry_type="TOTAL_GPUS", group_by=["Nodepool", "ClusterId"]))


def topologies(job: Job) -> str:
    from runai import models

    group, call = job.group("NetworkTopologies"), job.call
    body = models.NetworkTopologyCreateRequest(
        name=job.name("dc"),
        clusterId=job.cluster_id,
        levels=["topology.kubernetes.io/zone", "kubernetes.io/hostname"],
    )
    made = call(group.create_network_topology(body))
    found = call(group.get_network_topologies(filter_by=[f"name=={made['name']}"]))["networkTopologies"]
    assert [row["id"] for row in found] == [made["id"]]
    assert call(group.get_network_topologies_count(filter_by=[f"name=={made['name']}"])) == {"count": 1}
    assert call(group.get_network_topology_by_id(made["id"]))["levels"] == made["levels"]
    return str(made["id"])


def node_pools(job: Job, topology: str) -> str:
    from runai import models

    group, call, key = job.group("NodePools"), job.call, "node-role"
    body = models.NodepoolCreateFields(
        name=job.name("pool"), labelKey=key, labelValue=job.name("gpu"), clusterId=job.cluster_id
    )
    made = call(group.create_nodepool(body))
    call(group.patch_nodepool(made["id"], {"networkTopologyId": topology}))
    assert call(group.get_nodepool(made["id"]))["networkTopologyId"] == topology
    call(group.update_nodepool(made["id"], {"networkTopologyId": None}))
    found = call(group.get_nodepools(filter_by=[f"name=={made['name']}"], sort_by="name", sort_order="desc"))
    assert [row["networkTopologyId"] for row in found["nodepools"]] == [None]
    assert call(group.count_nodepools(filter_by=[f"name=={made['name']}"])) == {"count": 1}
    call(group.get_nodepool_metrics(job.cluster_id, made["name"], metric_type=["TOTAL_GPU"], **SPAN))
    return str(made["id"])


def departments(job: Job, pool: str) -> str:
    group, call = job.group("Departments"), job.call
    resources = [{"nodePool": {"id": pool}, "gpu": {"deserved": 8, "limit": None}}]
    made = call(group.create_department({"name": job.name("dep"), "clusterId": job.cluster_id, "resources": resources}))
    call(group.update_department(made["id"], {"description": "changed", "resources": []}))
    resources[0]["gpu"] = {"deserved": 4}
    call(group.patch_department_resources(made["id"], resources))
    shown = call(group.get_department(made["id"]))
    assert shown["description"] == "changed"
    assert [r["gpu"]["deserved"] for r in shown["resources"] if r["nodePool"]["id"] == pool] == [4]
    found = call(group.get_departments(filter_by=[f"name=={made['name']}"], verbosity="brief"))["departments"]
    assert [row["id"] for row in found] == [made["id"]]
    assert call(group.count_departments(filter_by=[f"name=={made['name']}"])) == {"count": 1}
    empty = call(group.create_department({"name": job.name("empty"), "clusterId": job.cluster_id}))
    call(group.delete_department(empty["id"]))
    call(group.get_departments_telemetry(telemetry_type="GPU_QUOTA", group_by=["CLUSTER_ID"]))
    call(group.get_department_metrics(made["id"], metric_type=["GPU_ALLOCATION"], **SPAN))
    return str(made["id"])


def projects(job: Job, department: str) -> Any:
    group, call = job.group("Projects"), job.call
    body = {"name": job.name("project"), "clusterId": job.cluster_id, "parentId": department, "resources": []}
    made = call(group.create_project(body))
    default = next(r for r in made["resources"] if r["nodePool"]["name"] == "default")["nodePool"]
    call(group.update_project_resources(made["id"], [{"nodePool": default, "gpu": {"deserved": 3}}]))
    call(group.update_project(made["id"], {"description": "changed", "resources": []}))
    shown = call(group.get_project(made["id"]))
    assert [r["gpu"]["deserved"] for r in shown["resources"] if r["nodePool"] == default] == [3]
    found = call(group.get_projects(filter_by=[f"parentId=={department}", "name=@project"], search=job.suffix))
    assert [row["id"] for row in found["projects"]] == [made["id"]]
    assert call(group.count_projects(filter_by=[f"parentId=={department}"])) == {"count": 1}
    empty = call(group.create_project({**body, "name": job.name("empty")}))
    call(group.delete_project(empty["id"]))
    call(group.get_projects_telemetry(telemetry_type="GPU_QUOTA", group_by=["ParentId"]))
    call(group.get_project_metrics(made["id"], metric_type=["GPU_ALLOCATION"], **SPAN))
    assert call(job.group("OrgUnit").get_priorities())["priorities"]
    return shown


# The kinds of credentials by their names in the client's methods: one, and the list of them.
CREDENTIALS = {
    "generic-secret": ("generic_secret", "generic_secret"),
    "docker-registry": ("docker_registry", "docker_registries"),
    "password": ("password", "passwords"),
    "access-key": ("access_key", "access_keys"),
    "ngc-api-key": ("ngc_api_key", "ngc_api_key"),
}


def credentials(job: Job, project: Any) -> None:
    group, call, within = job.group("Credentials"), job.call, {"project_id": int(project["id"])}
    meta = {"name": job.name("shared"), "scope": "department", "departmentId": project["parentId"]}
    shared = call(group.create_docker_registry({"meta": meta, "spec": SPECS["docker-registry"]}))["meta"]["id"]
    listed = call(group.list_docker_registries(scope="department", department_id=project["parentId"]))["entries"]
    assert [row["meta"]["id"] for row in listed] == [shared]
    call(group.delete_docker_registry(shared))
    for kind, (one, many) in CREDENTIALS.items():
        meta = {"name": job.name("token"), "scope": "project", "projectId": int(project["id"])}
        made = call(getattr(group, f"create_{one}")({"meta": meta, "spec": SPECS[kind]}))
        id_ = made["meta"]["id"]
        call(getattr(group, f"update_{one}")(id_, {"meta": {"name": job.name("other")}}))
        assert call(getattr(group, f"get_{one}_by_id")(id_))["meta"]["name"] == job.name("other")
        assert [row["meta"]["id"] for row in call(getattr(group, f"list_{many}")(**within))["entries"]] == [id_]
        assert [row["meta"]["id"] for row in call(group.list_credentials_assets(**within))["entries"]] == [id_]
        call(getattr(group, f"delete_{one}")(id_))
        assert call(group.list_credentials_assets(**within))["entries"] == []


def workloads(job: Job, project: Any) -> str:
    v1, v2, call = job.group("Workloads"), job.group("WorkloadsV2"), job.call
    manifest = job.manifest.replace("name: vllm-agg", f"name: {job.name('graph')}", 1)
    encoded = base64.b64encode(manifest.encode()).decode()
    metadata = {"name": job.name("graph"), "projectId": project["id"], "clusterId": job.cluster_id}
    made = call(v2.create_workload_v2({"metadata": metadata, "manifestBase64Encoded": encoded}))
    id_ = made["metadata"]["id"]
    changed = manifest.replace("replicas: 1", "replicas: 2", 1)
    call(v2.update_workload_v2(id_, {"manifestBase64Encoded": base64.b64encode(changed.encode()).decode()}))
    replaced = call(v2.get_workload_v2_by_id(id_))["workload"]["rawManifest"]
    assert replaced["spec"] == yaml.safe_load(changed)["spec"] != yaml.safe_load(manifest)["spec"]
    call(v2.update_workload_v2(id_, {"desiredPhase": "Stopped"}))
    assert call(v2.get_workload_v2_by_id(id_))["workload"]["desiredPhase"] == "Stopped"
    found = call(v1.get_workloads(filter_by=[f"projectName=={project['name']}", "name=^graph"], sort_by="name"))
    assert [row["id"] for row in found["workloads"]] == [id_]
    assert call(v1.count_workloads(search=job.name("graph"))) == {"count": 1}
    assert call(v1.get_workload(id_))["name"] == metadata["name"]
    call(v1.get_workloads_telemetry(telemetry_type="WORKLOADS_COUNT", group_by=["Phase"]))
    call(v1.get_workload_metrics(id_, metric_type=["GPU_UTILIZATION"], **SPAN))
    pods, events = job.group("Pods"), job.group("Events")
    assert "pods" in call(pods.get_workload_pods(id_))
    assert "pods" in call(pods.list_pods(filter_by=[f"workloadId=={id_}"], verbosity="full"))
    assert "count" in call(pods.count_pods(filter_by=[f"workloadId=={id_}"]))
    assert "events" in call(events.get_workload_events(id_))
    assert call(events.get_workload_history(id_))["records"]
    batch = call(job.group("WorkloadsBatch").batch_workloads({"ids": [id_, str(uuid.uuid4())], "action": "resume"}))
    assert ((batch["succeeded"], len(batch["failed"]))) == ([id_], 1), batch
    words = job.group("WorkloadProperties")
    assert call(words.list_categories())["categories"]
    assert call(words.list_workload_types())["types"]
    assert "priorities" in call(words.get_workload_priorities(sort_by="value"))
    return str(id_)


def reports(job: Job) -> None:
    group, call = job.group("Reports"), job.call
    assert call(group.are_reports_available()) == {"isAvailable": True}
    made = call(group.create_report({"name": job.name("usage"), **SPAN, "groupBy": "Project"}))
    assert call(group.get_report_by_id(made["id"]))["status"] == "Ready"
    assert call(group.count_reports(filter_by=[f"name=={made['name']}"])) == {"count": 1}
    assert [row["id"] for row in call(group.list_reports(search=made["name"]))["reports"]] == [made["id"]]
    call(group.delete_report_by_id(made["id"]))


def settings(job: Job) -> None:
    group, call = job.group("Tenant"), job.call
    keys = [row["key"] for row in call(group.get_tenant_settings())]
    assert "api.require-if-match" in keys
    call(group.update_tenant_setting({"key": "api.require-if-match", "value": False}))
    assert call(group.get_tenant_settings_by_key("api.require-if-match")) is False
    call(group.update_tenant_setting({"key": "api.require-if-match", "value": True}))
    security = job.group("Settings")
    assert call(security.update_security_setting_by_key("browserSessionTimeout", {"idleTimeout": 60}))
    assert call(security.get_security_setting_by_key("browserSessionTimeout")) == {"idleTimeout": 60}
    assert call(security.get_security_settings())["browserSessionTimeout"] == {"idleTimeout": 60}


def do_everything(job: Job) -> None:
    """Each group once, and then what was made is deleted, the newest first."""
    clusters(job)
    nodes(job)
    topology = topologies(job)
    pool = node_pools(job, topology)
    department = departments(job, pool)
    project = projects(job, department)
    credentials(job, project)
    workload = workloads(job, project)
    reports(job)
    settings(job)
    people(job, project)
    call = job.call
    assert call(job.group("WorkloadsV2").delete_workload_v2(workload))["desiredPhase"] == "Deleted"
    call(job.group("NodePools").delete_nodepool(pool))
    call(job.group("NetworkTopologies").delete_network_topology(topology))
