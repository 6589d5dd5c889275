"""Whatever stands at any place of a manifest is refused with its path, or the cluster's view of it can be told."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from accounts.models import User
from core.errors import InvalidInput
from organizations.models import Project
from tests.conftest import make_user
from tests.workloads.samples import MULTINODE
from workloads.allowlist import check_allowed
from workloads.checks import check_submission
from workloads.document import dump, load
from workloads.graph import parse_graph
from workloads.placement import placement_preview
from workloads.services import read_draft

POD = ("spec", "components", 1, "podTemplate", "spec")
MAIN = (*POD, "containers", 0)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
IN = {"key": "a", "operator": "In", "values": ["b"]}
# What the sample leaves out.
MORE: Mapping[tuple[str | int, ...], Any] = {
    ("spec", "env"): [{"name": "A", "value": "b"}],
    ("spec", "annotations"): {"kai.scheduler/topology-preferred-placement": "topology.kubernetes.io/zone"},
    (*MAIN, "env"): [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    (*MAIN, "ports"): [{"name": "http", "containerPort": 8000}],
    (*MAIN, "volumeMounts"): [{"name": "v", "mountPath": "/v"}],
    (*MAIN, "livenessProbe"): {"httpGet": {"path": "/", "port": 8000}},
    (*POD, "volumes"): [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
    (*POD, "initContainers"): [
        {"name": "i", "image": "i:1", "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}}}
    ],
    (*POD, "tolerations"): [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
    (*POD, "nodeSelector"): {"a": "b"},
    (*POD, "imagePullSecrets"): [{"name": "p"}],
    (*POD, "topologySpreadConstraints"): [
        {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ],
    (*POD, "affinity"): {
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [IN]}]}},
        "podAntiAffinity": {REQUIRED: [{"topologyKey": "a", "labelSelector": {"matchExpressions": [IN]}}]},
    },
}
GONE = object()
VALUES: tuple[Any, ...] = (GONE, None, {}, -1, [None])


def rich() -> dict[str, Any]:
    """The sample with a part of each kind that a pod's specification has."""
    document = load(MULTINODE)
    for (*above, last), value in MORE.items():
        here: Any = document
        for step in above:
            here = here[step]
        here[last] = copy.deepcopy(value)
    return document


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every path of a document, but its root."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changed(document: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The document with another value, or none, at a place."""
    copied = copy.deepcopy(document)
    here: Any = copied
    for step in path[:-1]:
        here = here[step]
    if value is GONE:
        del here[path[-1]]
    else:
        here[path[-1]] = value
    return copied


def verdict_of(user: User, project: Project, document: dict[str, Any]) -> str:
    """Where the document would be placed; refused where it may not be submitted."""
    try:
        submission = read_draft(project=project, source=dump(document)).submission
    except InvalidInput:
        return "refused"
    if any(each.status == "bad" for each in check_submission(submission)):
        return "refused"
    return str(placement_preview(user, submission)["verdict"])


@pytest.mark.parametrize("value", VALUES, ids=["gone", *map(repr, VALUES[1:])])
@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.usefixtures("quota", "topology", "nodes")
def test_whatever_stands_anywhere_is_refused_or_placed(value: Any, project: Project) -> None:
    document, user = rich(), make_user("asker")

    found = {path: verdict_of(user, project, changed(document, path, value)) for path in places(document)}

    assert {path: verdict for path, verdict in found.items() if verdict not in ("refused", "never", "now")} == {}
    assert verdict_of(user, project, document) == "never"  # no node has the label of its selector


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ((*MAIN, "resources", "limits", "nvidia.com/gpu"), "containers[0].resources.limits.nvidia.com/gpu"),
        ((*MAIN, "livenessProbe", "httpGet", "port"), "containers[0].livenessProbe.httpGet.port"),
        ((*POD, "tolerations", 0, "operator"), "tolerations[0].operator"),
        ((*POD, "imagePullSecrets", 0, "name"), "imagePullSecrets[0].name"),
        ((*POD, "initContainers", 0, "image"), "initContainers[0].image"),
    ],
)
def test_a_value_that_was_forgotten_is_not_taken_for_zero(path: tuple[str | int, ...], field: str) -> None:
    [fault] = check_allowed(changed(rich(), path, None), namespace="runai-assistant")

    assert (fault.field, fault.message) == (f"spec.components[1].podTemplate.spec.{field}", "it has no value")


def test_what_holds_several_may_have_none() -> None:
    document = rich()
    for key in ("tolerations", "nodeSelector", "affinity", "imagePullSecrets", "volumes", "initContainers"):
        document = changed(document, (*POD, key), None)

    assert check_allowed(document, namespace="runai-assistant") == ()


def test_a_minimum_without_a_number_is_refused() -> None:
    with pytest.raises(InvalidInput, match="minAvailable: 'None' is not allowed"):
        parse_graph(changed(rich(), ("spec", "components", 1, "minAvailable"), None))
