"""What a manifest may not hold."""

from pathlib import Path

import pytest

from tests.workloads.samples import DISAGG, MULTINODE
from workloads.allowlist import check_allowed
from workloads.document import edit, load

AICONFIGURATOR = Path(__file__).parents[3] / "shared/reference/samples/aic_disagg_k8s_deploy.yaml"
ALPHA_POD = ("spec", "services", "VllmDecodeWorker", "extraPodSpec")
BETA_POD = ("spec", "components", 1, "podTemplate", "spec")
BETA_MAIN = (*BETA_POD, "containers", 0)


def fields(text: str, namespace: str = "runai-project-a") -> list[str]:
    return [fault.field for fault in check_allowed(load(text), namespace=namespace)]


def test_what_people_paste_is_allowed() -> None:
    assert fields(DISAGG) == []
    assert fields(MULTINODE) == []


@pytest.mark.skipif(not AICONFIGURATOR.exists(), reason="the sample of aiconfigurator is not here")
def test_what_aiconfigurator_writes_is_allowed() -> None:
    assert fields(AICONFIGURATOR.read_text()) == []


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ((*ALPHA_POD, "hostNetwork"), True, "spec.services.VllmDecodeWorker.extraPodSpec.hostNetwork"),
        ((*ALPHA_POD, "serviceAccountName"), "root", "spec.services.VllmDecodeWorker.extraPodSpec.serviceAccountName"),
        (
            (*ALPHA_POD, "schedulerName"),
            "default-scheduler",
            "spec.services.VllmDecodeWorker.extraPodSpec.schedulerName",
        ),
        (
            (*ALPHA_POD, "volumes"),
            [{"name": "x", "hostPath": {"path": "/"}}],
            "spec.services.VllmDecodeWorker.extraPodSpec.volumes[0].hostPath",
        ),
        (
            (*ALPHA_POD, "mainContainer", "securityContext"),
            {"privileged": True},
            "spec.services.VllmDecodeWorker.extraPodSpec.mainContainer.securityContext.privileged",
        ),
        (
            (*ALPHA_POD, "mainContainer", "image"),
            "vllm-runtime:my-tag",
            "spec.services.VllmDecodeWorker.runtimeVersionOverride",
        ),
        (
            ("spec", "services", "VllmDecodeWorker", "labels"),
            {"kai.scheduler/queue": "other"},
            "spec.services.VllmDecodeWorker.labels[kai.scheduler/queue]",
        ),
        (("metadata", "namespace"), "kube-system", "metadata.namespace"),
        (("metadata", "finalizers"), ["x/y"], "metadata.finalizers"),
        (("spec", "providerOverride"), {}, "spec.providerOverride"),
        (("metadata", "labels"), {"muster.dev/owner": "x"}, "metadata.labels[muster.dev/owner]"),
        (("spec", "labels"), {"a": "not a value"}, "spec.labels[a]"),
    ],
)
def test_what_reaches_beyond_the_project_is_refused_by_path(path: tuple[str, ...], value: object, field: str) -> None:
    assert fields(edit(DISAGG, {path: value})) == [field]


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ((*BETA_POD, "hostPID"), True, "spec.components[1].podTemplate.spec.hostPID"),
        ((*BETA_POD, "nodeName"), "gpu-01", "spec.components[1].podTemplate.spec.nodeName"),
        ((*BETA_POD, "automountServiceAccountToken"), True, None),
        (
            (*BETA_MAIN, "securityContext"),
            {"capabilities": {"add": ["SYS_ADMIN"]}},
            "spec.components[1].podTemplate.spec.containers[0].securityContext.capabilities.add",
        ),
        (
            (*BETA_MAIN, "securityContext"),
            {"allowPrivilegeEscalation": True},
            "spec.components[1].podTemplate.spec.containers[0].securityContext.allowPrivilegeEscalation",
        ),
        (
            (*BETA_MAIN, "ports"),
            [{"containerPort": 80, "hostPort": 80}],
            "spec.components[1].podTemplate.spec.containers[0].ports[0].hostPort",
        ),
        (
            ("spec", "components", 1, "topologyConstraint"),
            {"packDomain": "rack"},
            "spec.components[1].topologyConstraint",
        ),
    ],
)
def test_the_newer_version_has_the_same_bounds(path: tuple[str | int, ...], value: object, field: str | None) -> None:
    found = fields(edit(MULTINODE, {path: value}))

    assert found == [field or "spec.components[1].podTemplate.spec.automountServiceAccountToken"]


ALPHA_MAIN = (*ALPHA_POD, "mainContainer")
ALPHA_ROLE = ("spec", "services", "VllmDecodeWorker")


@pytest.mark.parametrize("value", ["1e3", "500m", "1.4Gi", "0.1", "1E", ".5", "5.", "1k", "1Ki", 2])
@pytest.mark.parametrize("section", ["limits", "requests"])
def test_quantities_of_kubernetes_are_allowed_t8(value: object, section: str) -> None:
    assert fields(edit(DISAGG, {(*ALPHA_ROLE, "resources", section, "memory"): value})) == []


@pytest.mark.parametrize("value", ["-1", "x", "1K", "1ki", " 1Gi", "1e", "", "٣", "99999999999999999999Ei", True, []])
def test_what_is_no_quantity_is_refused_with_its_path_t8(value: object) -> None:
    alpha = edit(DISAGG, {(*ALPHA_ROLE, "resources", "limits", "memory"): value})
    assert fields(alpha) == ["spec.services.VllmDecodeWorker.resources.limits.memory"]
    beta = edit(MULTINODE, {(*BETA_MAIN, "resources", "requests"): {"cpu": value}})
    assert fields(beta) == ["spec.components[1].podTemplate.spec.containers[0].resources.requests.cpu"]


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ((*ALPHA_MAIN, "env"), [{"name": "MAX_SEQ_LENGTH", "value": 4096}], "env[0].value"),
        ((*ALPHA_MAIN, "env"), [{"name": "", "value": "x"}], "env[0].name"),
        ((*ALPHA_MAIN, "args"), ["--tp-size", 8], "args"),
        ((*ALPHA_MAIN, "command"), "python3 -m dynamo.vllm", "command"),
        ((*ALPHA_MAIN, "image"), "a b:1.0.0", "image"),
        ((*ALPHA_MAIN, "imagePullPolicy"), "Sometimes", "imagePullPolicy"),
        ((*ALPHA_MAIN, "ports"), [{"containerPort": 0}], "ports[0].containerPort"),
        ((*ALPHA_MAIN, "readinessProbe"), {"periodSeconds": -1}, "readinessProbe.periodSeconds"),
    ],
)
def test_values_of_another_type_are_refused_with_their_path(path: tuple[str, ...], value: object, field: str) -> None:
    assert fields(edit(DISAGG, {path: value})) == [f"spec.services.VllmDecodeWorker.extraPodSpec.mainContainer.{field}"]


@pytest.mark.parametrize("value", ["x", 5, [5], True])
@pytest.mark.parametrize(
    "key", ["extraPodSpec", "sharedMemory", "scalingAdapter", "autoscaling", "extraPodMetadata", "resources", "envs"]
)
def test_a_role_of_any_shape_is_answered(key: str, value: object) -> None:
    field = f"spec.services.VllmDecodeWorker.{key}"
    assert all(found.startswith(field) for found in fields(edit(DISAGG, {(*ALPHA_ROLE, key): value})))
    assert fields(edit(DISAGG, {(*ALPHA_ROLE, key): value}))


@pytest.mark.parametrize("value", ["x", 5, [5], True])
@pytest.mark.parametrize("path", [("podTemplate",), ("podTemplate", "spec"), ("podTemplate", "spec", "containers")])
def test_a_pod_template_of_any_shape_is_answered(path: tuple[str, ...], value: object) -> None:
    assert fields(edit(MULTINODE, {("spec", "components", 1, *path): value}))


@pytest.mark.parametrize("place", ["metadata", "spec"])
@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("kai.scheduler/staleness-grace-period", "1d"),
        ("kai.scheduler/staleness-grace-period", ""),
        ("kai.scheduler/preemption-delay", "90"),
        ("kai.scheduler/preemption-delay", "-5s"),
    ],
)
def test_trap_34_durations_that_kai_cannot_read_are_refused(place: str, key: str, text: str) -> None:
    assert fields(edit(MULTINODE, {(place, "annotations"): {key: text}})) == [f"{place}.annotations[{key}]"]


def test_trap_34_durations_of_go_are_allowed() -> None:
    """A negative grace period means never, kai-scheduler.md §1.3."""
    durations = {"kai.scheduler/staleness-grace-period": "-1s", "kai.scheduler/preemption-delay": "1h30m"}

    assert fields(edit(MULTINODE, {("metadata", "annotations"): durations})) == []
