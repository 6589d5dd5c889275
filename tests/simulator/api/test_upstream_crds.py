"""Our CRDs against the upstream ones (KAI v0.17.0, Grove alpha.12-rc1), where those are at hand."""

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from clusters.kinds import CUSTOM_RESOURCE_DEFINITION, KAI_POD_GROUP
from simulator.client import Object
from tests.simulator.api.conftest import Verbs

SHARED = Path(__file__).parents[4] / "shared"
OURS = Path(__file__).parents[3] / "simulator" / "api" / "crds"


@cache
def real_crds() -> dict[str, Object]:
    found = {}
    for path in sorted((SHARED / "reference" / "crds").glob("*/*.yaml")):
        for document in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
            if document:
                found[document["metadata"]["name"]] = document
    return found


def our_crds() -> dict[str, Object]:
    documents = [one for path in OURS.glob("*.yaml") for one in yaml.safe_load_all(path.read_text())]
    return {document["metadata"]["name"]: document for document in documents}


CONDITION = {
    "type": "Ready",
    "status": "True",
    "reason": "Done",
    "message": "",
    "lastTransitionTime": "2026-11-29T00:00:00Z",
}
LEVELS = {"required": "rack", "preferred": "rack"}
PACK = {"topologyName": "dc", "pack": LEVELS}
CLIQUE = {
    "roleName": "w",
    "replicas": 2,
    "minAvailable": 1,
    "startsAfter": ["v"],
    "podSpec": {"containers": [{"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
}
AMOUNTS = {"nvidia.com/gpu": "8", "cpu": 4}
SAMPLES: dict[str, list[Object]] = {
    "topologies.kai.scheduler": [{"spec": {"levels": [{"nodeLabel": "a.b/c", "alias": "z"}, {"nodeLabel": "d"}]}}],
    "queues.scheduling.run.ai": [
        {
            "spec": {
                "displayName": "x",
                "parentQueue": "p",
                "priority": 100,
                "preemptMinRuntime": "1m",
                "reclaimMinRuntime": "1m",
                "resources": {"gpu": {"quota": 0.5, "limit": -1, "overQuotaWeight": 1}, "cpu": {}, "memory": {}},
            },
            "status": {
                "childQueues": ["a"],
                "allocated": AMOUNTS,
                "requested": AMOUNTS,
                "allocatedNonPreemptible": {},
            },
        },
        {},
    ],
    "podgroups.scheduling.run.ai": [
        {
            "spec": {
                "minMember": 2,
                "queue": "q",
                "priorityClassName": "train",
                "preemptibility": "preemptible",
                "schedulingBackoff": -1,
                "markUnschedulable": True,
                "preemptionDelay": "5m",
                "stalenessGracePeriod": "-1s",
                "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "a", "preferredTopologyLevel": "a"},
                "subGroups": [{"name": "a", "minMember": 0}, {"name": "b", "parent": "a", "minSubGroup": 1}],
            },
            "status": {
                "schedulingConditions": [
                    {
                        **CONDITION,
                        "nodePool": "default",
                        "transitionID": "1",
                        "reasons": [{"reason": "r", "message": "m", "details": {"queueDetails": {"name": "q"}}}],
                    }
                ],
                "resourcesStatus": {"requested": AMOUNTS, "allocated": {}, "allocatedNonPreemptible": {}},
            },
        }
    ],
    "bindrequests.scheduling.run.ai": [
        {
            "spec": {
                "podName": "p",
                "selectedNode": "n",
                "receivedResourceType": "Regular",
                "receivedGPU": {"count": 1, "portion": "1.00"},
                "backoffLimit": 3,
                "selectedGPUGroups": ["g"],
            },
            "status": {"phase": "Succeeded", "failedAttempts": 0, "reason": ""},
        }
    ],
    "schedulingshards.kai.scheduler": [
        {
            "spec": {
                "partitionLabelValue": "a",
                "args": {"x": "y"},
                "kValue": 1.0,
                "placementStrategy": {"gpu": "binpack", "cpu": "spread"},
                "plugins": {"a": {"enabled": True, "priority": 1, "arguments": {"b": "c"}}},
                "queueDepthPerAction": {"allocate": 5},
            },
            "status": {"conditions": [CONDITION]},
        }
    ],
    "configs.kai.scheduler": [
        {
            "spec": {
                "namespace": "kai-scheduler",
                "global": {"schedulerName": "kai-scheduler", "replicaCount": 1, "jsonLog": True},
                "prometheus": {"enabled": False},
                "scheduler": {"replicas": 1},
            },
            "status": {"conditions": [CONDITION]},
        }
    ],
    "clustertopologybindings.grove.io": [
        {
            "spec": {
                "levels": [{"domain": "zone", "key": "topology.kubernetes.io/zone"}],
                "schedulerTopologyBindings": [{"schedulerName": "kai-scheduler", "topologyReference": "dc"}],
            },
            "status": {
                "conditions": [CONDITION],
                "schedulerTopologyStatuses": [{"inSync": True, "schedulerName": "k", "topologyReference": "d"}],
            },
        }
    ],
    "podcliquesets.grove.io": [
        {
            "spec": {
                "replicas": 1,
                "template": {
                    "topologyConstraint": PACK,
                    "priorityClassName": "inference",
                    "terminationDelay": "4h",
                    "headlessServiceConfig": {"publishNotReadyAddresses": True},
                    "cliques": [{"name": "w", "labels": {"a": "b"}, "topologyConstraint": PACK, "spec": CLIQUE}],
                    "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["w"], "topologyConstraint": PACK}],
                },
            },
            "status": {
                "availableReplicas": 1,
                "updatedReplicas": 1,
                "conditions": [CONDITION],
                "podGangStatuses": [{"name": "a-0", "phase": "Running"}],
            },
        }
    ],
    "podcliques.grove.io": [
        {
            "spec": CLIQUE,
            "status": {
                "readyReplicas": 1,
                "scheduleGatedReplicas": 0,
                "scheduledReplicas": 1,
                "updatedReplicas": 1,
                "conditions": [CONDITION],
            },
        }
    ],
    "podcliquescalinggroups.grove.io": [
        {
            "spec": {"cliqueNames": ["w"], "replicas": 2, "minAvailable": 1},
            "status": {"availableReplicas": 0, "scheduledReplicas": 0, "updatedReplicas": 0, "selector": "a=b"},
        }
    ],
    "podgangs.scheduler.grove.io": [
        {
            "spec": {
                "priorityClassName": "x",
                "topologyConstraint": {"packConstraint": LEVELS},
                "podgroups": [
                    {
                        "name": "a",
                        "minReplicas": 1,
                        "podReferences": [{"name": "p", "namespace": "n"}],
                        "topologyConstraint": {"packConstraint": LEVELS},
                    }
                ],
                "topologyConstraintGroupConfigs": [{"name": "g", "podGroupNames": ["a"]}],
            },
            "status": {"phase": "Pending", "placementScore": 0.5, "conditions": [CONDITION]},
        }
    ],
}


def strict(schema: Any) -> Any:
    """An OpenAPI schema for jsonschema, refusing fields that are not declared."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: strict(value) for key, value in schema.items() if not key.startswith("x-")}
    if schema.get("nullable") and isinstance(schema.get("type"), str):
        result["type"] = [schema["type"], "null"]
    for bound in ("exclusiveMinimum", "exclusiveMaximum"):
        if isinstance(result.get(bound), bool):
            del result[bound]
    closed = schema.get("type") == "object" and not schema.get("x-kubernetes-preserve-unknown-fields")
    if closed and isinstance(schema.get("properties"), dict):
        result.setdefault("additionalProperties", False)
    return result


@pytest.mark.skipif(not SHARED.exists(), reason="the upstream CRDs lie in ../shared, which is not here")
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_upstream_schema_accepts_what_ours_accepts(verbs: Verbs, name: str) -> None:
    upstream = real_crds()[name]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    ours = our_crds()[name]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for sample in SAMPLES[name]:
        jsonschema.Draft202012Validator(strict(ours)).validate(sample)
        jsonschema.Draft202012Validator(strict(upstream)).validate(sample)


@pytest.mark.skipif(not SHARED.exists(), reason="the upstream CRDs lie in ../shared, which is not here")
def test_the_upstream_crds_can_be_installed(verbs: Verbs) -> None:
    for name, document in real_crds().items():
        verbs.server.store.remove(("apiextensions.k8s.io", "customresourcedefinitions"), ("", name))
        made = verbs.create(CUSTOM_RESOURCE_DEFINITION, document)
        assert made["status"]["conditions"][1]["type"] == "Established"
    error = verbs.refused(verbs.create, KAI_POD_GROUP, {"metadata": {"name": "p"}, "spec": {"minMember": 0}}, "default")
    assert "spec.minMember in body should be greater than or equal to 1" in error.message
