"""DynamoGraphDeployment in two versions of one stored object."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1
from simulator.api import versions
from simulator.api.dynamo_versions import KEPT, to_v1alpha1, to_v1beta1
from simulator.client import Object
from tests.simulator.api.conftest import Verbs, done

OLD, NEW = DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1, DYNAMO_GRAPH_DEPLOYMENT
SHARED = Path(__file__).parents[4] / "shared"

GRAPH = yaml.safe_load("""
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: disagg, annotations: {nvidia.com/kai-scheduler-queue: team}}
spec:
  backendFramework: vllm
  envs: [{name: A, value: b}]
  topologyConstraint: {topologyProfile: dc, packDomain: rack}
  pvcs: [{name: cache, create: true, size: 10Gi}]
  services:
    Frontend:
      componentType: frontend
      replicas: 1
      extraPodSpec: {mainContainer: {image: "x/y:1.6.1", command: [python3]}}
    VllmPrefillWorker:
      componentType: worker
      subComponentType: prefill
      replicas: 8
      envFromSecret: hf-token-secret
      resources: {limits: {gpu: "1", cpu: "8", custom: {rdma/ib: "1"}}}
      sharedMemory: {size: 64Gi}
      labels: {tier: hot}
      extraPodMetadata: {labels: {own: "1"}}
      autoscaling: {enabled: true}
      scalingAdapter: {enabled: true}
      extraPodSpec:
        nodeSelector: {nvidia.com/gpu.product: NVIDIA-H200}
        mainContainer: {image: "x/y:1.6.1", args: [--model, m]}
""")


def test_the_new_version_says_the_same_in_its_own_words() -> None:
    spec = to_v1beta1(GRAPH)["spec"]
    frontend, prefill = spec["components"]

    assert spec["env"] == [{"name": "A", "value": "b"}]
    assert spec["topologyConstraint"] == {"clusterTopologyName": "dc", "packDomain": "rack"}
    assert "services" not in spec
    assert (frontend["name"], frontend["type"]) == ("Frontend", "frontend")
    assert (prefill["type"], prefill["replicas"], prefill["sharedMemorySize"]) == ("prefill", 8, "64Gi")
    assert prefill["scalingAdapter"] == {}
    assert prefill["podTemplate"] == {
        "metadata": {"labels": {"tier": "hot", "own": "1"}},
        "spec": {
            "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H200"},
            "containers": [
                {
                    "name": "main",
                    "image": "x/y:1.6.1",
                    "args": ["--model", "m"],
                    "envFrom": [{"secretRef": {"name": "hf-token-secret"}}],
                    "resources": {"limits": {"cpu": "8", "rdma/ib": "1", "nvidia.com/gpu": "1"}},
                }
            ],
        },
    }


def test_there_and_back_is_the_same() -> None:
    assert to_v1alpha1(to_v1beta1(GRAPH)) == GRAPH


def test_back_and_there_is_the_same() -> None:
    stored = to_v1beta1(GRAPH)

    assert to_v1beta1(to_v1alpha1(stored)) == stored


def test_status_is_translated_too() -> None:
    status = {"state": "successful", "components": {"decode": {"replicas": 2}}}
    old = to_v1alpha1({"metadata": {"name": "g"}, "status": status})

    assert old["status"] == {"state": "successful", "services": {"decode": {"replicas": 2}}}


@pytest.mark.parametrize("size", ["0", 0], ids=["text", "number"])
def test_shared_memory_that_is_off(size: Any) -> None:
    new = {"metadata": {"name": "g"}, "spec": {"components": [{"name": "a", "sharedMemorySize": size}]}}
    old = to_v1alpha1(new)

    assert old["spec"]["services"]["a"]["sharedMemory"] == {"disabled": True}
    assert to_v1beta1(old)["spec"]["components"][0]["sharedMemorySize"] == "0"


def test_a_graph_written_in_one_version_is_read_in_both(verbs: Verbs) -> None:
    body = {**GRAPH, "spec": {key: value for key, value in GRAPH["spec"].items() if key != "topologyConstraint"}}
    verbs.create(OLD, body, "default")
    new, old = verbs.get(NEW, "disagg", "default"), verbs.get(OLD, "disagg", "default")

    assert new is not None
    assert old is not None
    assert new["metadata"]["uid"] == old["metadata"]["uid"]
    assert new["apiVersion"] == "nvidia.com/v1beta1"
    assert [item["name"] for item in new["spec"]["components"]] == ["Frontend", "VllmPrefillWorker"]
    assert old["spec"]["services"] == GRAPH["spec"]["services"]
    assert KEPT not in (old["metadata"].get("annotations") or {})


def test_both_versions_are_applied_and_own_fields(verbs: Verbs) -> None:
    def old(replicas: int) -> Object:
        service = {
            "componentType": "worker",
            "replicas": replicas,
            "extraPodSpec": {"mainContainer": {"image": "x/y:1.6.1"}},
        }
        return {"metadata": {"name": "g", "namespace": "default"}, "spec": {"services": {"w": service}}}

    verbs.apply(OLD, old(1), "muster")
    verbs.apply(OLD, old(3), "muster")
    component = {"name": "w", "replicas": 5}
    new = {"metadata": {"name": "g", "namespace": "default"}, "spec": {"components": [component]}}
    error = verbs.refused(verbs.apply, NEW, new, "other")

    found = verbs.get(NEW, "g", "default")
    assert found is not None
    assert found["spec"]["components"][0]["replicas"] == 3
    assert error.message == (
        'Apply failed with 1 conflict: conflict with "muster": .spec.components[name="w"].replicas'
    )


def test_a_watch_in_the_old_version_shows_the_old_version(verbs: Verbs) -> None:
    template = {"spec": {"containers": [{"name": "main", "image": "x:1.0.0"}]}}
    body = {"metadata": {"name": "g"}, "spec": {"components": [{"name": "a", "podTemplate": template}]}}
    verbs.create(NEW, body, "default")
    entry = verbs.page(NEW, "default").entries[0]
    resource = verbs.target(OLD, "default").resource

    shown = versions.in_version(resource, entry)
    assert shown["spec"]["services"] == {"a": {"extraPodSpec": {"mainContainer": {"image": "x:1.0.0"}}}}
    assert shown is versions.in_version(resource, entry)
    assert done(verbs.client.list(OLD)).items == [shown]


FIELDS = (
    "components", "services", "podTemplate", "spec", "metadata", "labels", "annotations", "containers", "name", "env",
    "envs", "envFrom", "envFromSecret", "resources", "limits", "requests", "custom", "gpu", "gpuType", "claims",
    "extraPodSpec", "extraPodMetadata", "mainContainer", "sharedMemory", "scalingAdapter", "type", "topologyConstraint",
)  # fmt: skip
ODD = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.just("main"), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(FIELDS), inner, min_size=1, max_size=4)
    ),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=4), st.dictionaries(st.sampled_from(("", "a")), ODD))
def test_whatever_a_field_holds_the_other_version_can_be_read(spec: Object, kept: Object) -> None:
    annotations = {KEPT: json.dumps(kept)}
    body = {"apiVersion": NEW.api_version, "metadata": {"name": "odd", "annotations": annotations}, "spec": spec}

    assert to_v1alpha1(body)["apiVersion"] == OLD.api_version
    assert to_v1beta1({**body, "apiVersion": OLD.api_version})["apiVersion"] == NEW.api_version


@pytest.mark.skipif(not SHARED.exists(), reason="the sample manifests lie in ../shared, which is not here")
def test_what_aiconfigurator_writes_is_accepted(verbs: Verbs) -> None:
    text = (SHARED / "reference" / "samples" / "aic_disagg_k8s_deploy.yaml").read_text()
    body = yaml.safe_load(text)
    made = verbs.create(OLD, body, "default", field_validation="Strict")

    assert [item["name"] for item in made["spec"]["components"]] == list(body["spec"]["services"])
    seen = verbs.get(OLD, "dynamo-disagg", "default")
    assert seen is not None
    assert seen["spec"]["services"] == body["spec"]["services"]
