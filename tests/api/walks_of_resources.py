"""The walks of clusters, topologies, pools, departments, projects, credentials, reports, settings and workloads: each
write is followed by the GET that shows its effect."""

import base64
from collections.abc import Iterator
from typing import Any

from clusters.models import ClusterObject
from controlplane.tasks import reconcile_row
from tests.api.conftest import MANIFEST
from tests.api.tour import CREDENTIALS, ORG, V1, Tour, Walk, walk

REPORT = {"name": "usage", "start": "2026-11-29T17:00:00Z", "end": "2026-11-29T19:00:00Z"}
SPECS: dict[str, dict[str, Any]] = {
    "generic-secret": {"keyValuePairs": [{"key": "KEY", "value": "v"}]},
    "password": {"user": "ada", "password": "p"},
    "access-key": {"accessKeyId": "AKIA", "secretAccessKey": "s"},
    "ngc-api-key": {"ngc_api_key": "n"},
    "docker-registry": {"url": "registry.example.org", "user": "ada", "password": "p"},
}
FABRIC_UID = "0f6d3f4e-0000-4000-8000-0000000000f1"
UNITS = ("department", "project")


@walk("POST /api/v1/clusters")
def _(tour: Tour) -> None:
    made = tour("POST", f"{V1}/clusters", {"name": "second", "server": "https://k8s.example.org", "token": "t"})
    assert tour("GET", f"{V1}/clusters/{made['uuid']}")["name"] == "second"


@walk("PUT /api/v1/clusters/{clusterUuid}")
def _(tour: Tour) -> None:
    path = f"{V1}/clusters/{tour.world.cluster.pk}"
    tour("PUT", path, {"name": "renamed"})
    assert tour("GET", path)["name"] == "renamed"


@walk("DELETE /api/v1/clusters/{clusterUuid}")
def _(tour: Tour) -> None:
    listed = [row["uuid"] for row in tour("GET", f"{V1}/clusters")]
    tour("DELETE", f"{V1}/clusters/{tour.world.cluster.pk}?objects=leave")
    assert (listed, tour("GET", f"{V1}/clusters")) == ([str(tour.world.cluster.pk)], [])


@walk("POST /api/v1/clusters/{}/adoptions")
def _(tour: Tour) -> None:
    cluster, path = tour.world.cluster, f"{V1}/clusters/{tour.world.cluster.pk}/adoptions"
    manifest = {"metadata": {"name": "fabric"}, "spec": {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}}
    theirs = ClusterObject.objects.create(
        cluster=cluster, uid=FABRIC_UID, name="fabric", group="kai.scheduler", plural="topologies", manifest=manifest,
        resource_version="1", created_at=tour.world.now,
    )  # fmt: skip
    assert [one["uid"] for one in tour("GET", path)["candidates"]] == [theirs.uid]
    done = tour("POST", path, {"adopt": [theirs.uid]})
    assert [one["accepted"] for one in done["results"]] == [True]
    assert [one["name"] for one in tour("GET", path)["adoptions"]] == ["fabric"]


@walk("POST /api/v1/network-topologies")
def _(tour: Tour) -> None:
    body = {"name": "other", "levels": ["kubernetes.io/hostname"], "clusterId": str(tour.world.cluster.pk)}
    made = tour("POST", f"{V1}/network-topologies", body)
    assert tour("GET", f"{V1}/network-topologies/{made['id']}")["levels"] == body["levels"]


@walk("DELETE /api/v1/network-topologies/{networkTopologyId}")
def _(tour: Tour) -> None:
    path = f"{V1}/network-topologies/{tour.world.topology.pk}"
    tour("DELETE", path)
    assert tour("GET", path)["phase"] == "Deleting"


@walk("POST /api/v1/node-pools")
def _(tour: Tour) -> None:
    body = {"name": "h100", "labelKey": "gpu", "labelValue": "h100", "clusterId": str(tour.world.cluster.pk)}
    made = tour("POST", f"{V1}/node-pools", body)
    shown = tour("GET", f"{V1}/node-pools/{made['id']}")
    assert {key: shown[key] for key in body} == body


def _pool_changed(method: str) -> Walk:
    def change(tour: Tour) -> None:
        path, topology = f"{V1}/node-pools/{tour.world.pool.pk}", str(tour.world.topology.pk)
        assert tour("GET", path)["networkTopologyId"] is None
        tour(method, path, {"networkTopologyId": topology})
        assert tour("GET", path)["networkTopologyId"] == topology

    return change


walk("PUT /api/v1/node-pools/{nodepoolId}")(_pool_changed("PUT"))
walk("PATCH /api/v1/node-pools/{nodepoolId}")(_pool_changed("PATCH"))


@walk("DELETE /api/v1/node-pools/{nodepoolId}")
def _(tour: Tour) -> None:
    body = {"name": "h100", "labelKey": "gpu", "labelValue": "h100", "clusterId": str(tour.world.cluster.pk)}
    path = f"{V1}/node-pools/{tour('POST', f'{V1}/node-pools', body)['id']}"
    tour("DELETE", path)
    assert tour("GET", path)["phase"] == "Deleting"


def _unit(tour: Tour, kind: str, name: str) -> str:
    """The path of a new department or project."""
    body = {"name": name, "clusterId": str(tour.world.cluster.pk), "resources": []}
    if kind == "project":
        body["parentId"] = str(tour.world.department.pk)
    return f"{ORG}/{kind}s/{tour('POST', f'{ORG}/{kind}s', body)['id']}"


def _unit_walks(kind: str) -> Iterator[tuple[str, Walk]]:
    one = f"{ORG}/{kind}s/{{{kind}Id}}"

    def make(tour: Tour) -> None:
        assert tour("GET", _unit(tour, kind, "another"))["name"] == "another"

    def change(tour: Tour) -> None:
        path = f"{ORG}/{kind}s/{getattr(tour.world, kind).pk}"
        tour("PUT", path, {"description": "changed", "resources": []})
        assert tour("GET", path)["description"] == "changed"

    def delete(tour: Tour) -> None:
        path = _unit(tour, kind, "another")
        tour("DELETE", path)
        reconcile_row(f"organizations.{kind.title()}", path.rpartition("/")[2])
        assert tour.is_gone(path)

    def resources(method: str) -> Walk:
        def write(tour: Tour) -> None:
            path = f"{ORG}/{kind}s/{getattr(tour.world, kind).pk}"
            tour(method, f"{path}/resources", [{"nodePool": {"id": str(tour.world.pool.pk)}, "gpu": {"deserved": 5}}])
            assert [row["gpu"]["deserved"] for row in tour("GET", path)["resources"]] == [5]

        return write

    yield f"POST {ORG}/{kind}s", make
    yield f"PUT {one}", change
    yield f"DELETE {one}", delete
    yield f"PUT {one}/resources", resources("PUT")
    yield f"PATCH {one}/resources", resources("PATCH")


for _kind in UNITS:
    for _name, _walk in _unit_walks(_kind):
        walk(_name)(_walk)


@walk("POST /api/v1/org-unit/reports")
def _(tour: Tour) -> None:
    made = tour("POST", f"{ORG}/reports", REPORT)
    assert tour("GET", f"{ORG}/reports/{made['id']}")["name"] == "usage"


@walk("DELETE /api/v1/org-unit/reports/{reportId}")
def _(tour: Tour) -> None:
    path = f"{ORG}/reports/{tour('POST', f'{ORG}/reports', REPORT)['id']}"
    tour("DELETE", path)
    assert tour.is_gone(path)


@walk("PUT /v1/k8s/setting")
def _(tour: Tour) -> None:
    tour("PUT", "/v1/k8s/setting", {"key": "api.require-if-match", "value": False})
    assert tour("GET", "/v1/k8s/setting/api.require-if-match") is False


def new_credential(tour: Tour, kind: str) -> str:
    """The path of a new credential of a kind."""
    meta = {"name": "mine", "scope": "project", "projectId": tour.world.project.pk}
    made = tour("POST", f"{CREDENTIALS}/{kind}", {"meta": meta, "spec": SPECS[kind]})
    return f"{CREDENTIALS}/{kind}/{made['meta']['id']}"


def _credential_walks(kind: str) -> Iterator[tuple[str, Walk]]:
    def make(tour: Tour) -> None:
        assert tour("GET", new_credential(tour, kind))["meta"]["name"] == "mine"

    def change(tour: Tour) -> None:
        path = new_credential(tour, kind)
        tour("PUT", path, {"meta": {"name": "other"}})
        assert tour("GET", path)["meta"]["name"] == "other"

    def delete(tour: Tour) -> None:
        path = new_credential(tour, kind)
        tour("DELETE", path)
        assert tour.is_gone(path)

    yield f"POST {CREDENTIALS}/{kind}", make
    yield f"PUT {CREDENTIALS}/{kind}/{{AssetId}}", change
    yield f"DELETE {CREDENTIALS}/{kind}/{{AssetId}}", delete


for _kind in SPECS:
    for _name, _walk in _credential_walks(_kind):
        walk(_name)(_walk)


def submission(tour: Tour) -> dict[str, Any]:
    """A graph that is not there yet."""
    metadata = {"name": "another", "projectId": str(tour.world.project.pk)}
    manifest = MANIFEST.replace("name: vllm-agg", "name: another", 1)
    return {"metadata": metadata, "manifestBase64Encoded": base64.b64encode(manifest.encode()).decode()}


@walk("POST /api/v2/workloads")
def _(tour: Tour) -> None:
    made = tour("POST", "/api/v2/workloads", submission(tour))
    assert tour("GET", f"/api/v2/workloads/{made['metadata']['id']}")["workload"]["metadata"]["name"] == "another"


@walk("PUT /api/v2/workloads/{WorkloadV2Id}")
def _(tour: Tour) -> None:
    path = f"/api/v2/workloads/{tour.world.running.pk}"
    tour("PUT", path, {"desiredPhase": "Stopped"})
    assert tour("GET", path)["workload"]["desiredPhase"] == "Stopped"


@walk("DELETE /api/v2/workloads/{WorkloadV2Id}")
def _(tour: Tour) -> None:
    path = f"/api/v2/workloads/{tour.world.running.pk}"
    tour("DELETE", path)
    assert tour("GET", path)["workload"]["desiredPhase"] == "Deleted"


@walk("POST /api/v1/workloads/batch")
def _(tour: Tour) -> None:
    ids = [str(tour.world.running.pk), str(tour.world.waiting.pk)]
    assert tour("POST", f"{V1}/workloads/batch", {"ids": ids, "action": "suspend"})["succeeded"] == ids
    shown = [tour("GET", f"/api/v2/workloads/{id_}")["workload"]["desiredPhase"] for id_ in ids]
    assert shown == ["Stopped", "Stopped"]


@walk("POST /api/v1/workloads/preview")
def _(tour: Tour) -> None:
    # It asks and writes nothing: the verdict is there, the workload is not.
    assert tour("POST", f"{V1}/workloads/preview", submission(tour))["verdict"]
    assert "another" not in [row["name"] for row in tour("GET", f"{V1}/workloads")["workloads"]]
