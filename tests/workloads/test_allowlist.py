"""What a manifest may not hold."""

from pathlib import Path

import pytest

from tests.workloads.samples import DISAGG, MULTINODE
from workloads.allowlist import check_allowed
from workloads.document import edit, load

AICONFIGURATOR = Path("/work/shared/reference/samples/aic_disagg_k8s_deploy.yaml")
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
