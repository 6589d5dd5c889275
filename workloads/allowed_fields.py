"""What a submitted manifest may hold, field by field, and why the rest may not be set. Pure data.

It follows the two DynamoGraphDeployment versions and the core PodSpec; left out is what reaches beyond the project:
host access, privileges, service accounts, other namespaces, other schedulers, and what Muster writes.
"""

from collections.abc import Mapping

from core.words import gettext_noop
from workloads.allowed_parts import (
    AFFINITY,
    ANY,
    ENV_FROM,
    ENV_VALUE_FROM,
    PORTS,
    PULL_SECRETS,
    SPREAD_CONSTRAINTS,
    TOLERATIONS,
    VOLUME_MOUNTS,
    Fields,
    Rule,
)
from workloads.leaves import (
    ENV_NAME,
    FLAG,
    IMAGE,
    OBJECT,
    OBJECT_NAME,
    OBJECTS,
    PORT_OR_NAME,
    QUANTITY,
    TEXT,
    TEXT_MAP,
    TEXTS,
    WHOLE,
    one_of,
)

LABELS: Rule = {"*": ANY}
PROBE: Rule = {
    **dict.fromkeys(
        (
            "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold",
            "terminationGracePeriodSeconds",
        ),
        WHOLE,
    ),
    "grpc": OBJECT,
    "exec": {"command": TEXTS},
    "httpGet": {"path": TEXT, "port": PORT_OR_NAME, "scheme": one_of("HTTP", "HTTPS"), "httpHeaders": OBJECTS},
    "tcpSocket": {"port": PORT_OR_NAME},
}  # fmt: skip
ENV: Rule = [Fields({"name": ENV_NAME, "value": TEXT, "valueFrom": ENV_VALUE_FROM}, "name")]
CONTAINER_SECURITY: Rule = {
    **dict.fromkeys(("runAsUser", "runAsGroup"), WHOLE),
    **dict.fromkeys(("runAsNonRoot", "readOnlyRootFilesystem", "allowPrivilegeEscalation"), FLAG),
    "seccompProfile": OBJECT,
    "capabilities": {"drop": TEXTS},
}
RESOURCES: Rule = {"limits": {"*": QUANTITY}, "requests": {"*": QUANTITY}}
CONTAINER: Rule = {
    **dict.fromkeys(("name", "workingDir", "restartPolicy", "terminationMessagePolicy"), TEXT),
    "image": IMAGE,
    "imagePullPolicy": one_of("Always", "IfNotPresent", "Never"),
    **dict.fromkeys(("command", "args"), TEXTS),
    "env": ENV,
    "envFrom": ENV_FROM,
    "ports": PORTS,
    "resources": RESOURCES,
    "volumeMounts": VOLUME_MOUNTS,
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "startupProbe": PROBE,
    "securityContext": CONTAINER_SECURITY,
}
VOLUMES: Rule = [
    {
        "name": TEXT,
        "emptyDir": {"medium": TEXT, "sizeLimit": QUANTITY},
        **dict.fromkeys(("configMap", "secret", "persistentVolumeClaim", "downwardAPI", "ephemeral"), OBJECT),
    }
]
POD_SPEC: Rule = {
    "nodeSelector": TEXT_MAP,
    "affinity": AFFINITY,
    "tolerations": TOLERATIONS,
    "topologySpreadConstraints": SPREAD_CONSTRAINTS,
    "imagePullSecrets": PULL_SECRETS,
    "terminationGracePeriodSeconds": WHOLE,
    **dict.fromkeys(("restartPolicy", "schedulerName"), TEXT),
    "enableServiceLinks": FLAG,
    "volumes": VOLUMES,
    "initContainers": [CONTAINER],
    "securityContext": {
        **dict.fromkeys(("fsGroup", "runAsUser", "runAsGroup"), WHOLE),
        "runAsNonRoot": FLAG,
        "supplementalGroups": ANY,
        "seccompProfile": OBJECT,
    },
}
SHARED_COMPONENT: Rule = {
    "replicas": ANY,
    "runtimeVersionOverride": TEXT,
    **dict.fromkeys(("modelRef", "compilationCache", "eppConfig"), OBJECT),
    "multinode": {"nodeCount": ANY},
}
ALPHA_COMPONENT: Rule = {
    **SHARED_COMPONENT,
    **dict.fromkeys(("componentType", "subComponentType", "serviceName", "dynamoNamespace"), TEXT),
    "globalDynamoNamespace": FLAG,
    "envFromSecret": OBJECT_NAME,
    "sharedMemory": {"disabled": FLAG, "size": QUANTITY},
    "volumeMounts": OBJECTS,
    "autoscaling": OBJECT,
    "scalingAdapter": {"enabled": FLAG},
    "frontendSidecar": OBJECT,
    "annotations": LABELS,
    "labels": LABELS,
    "envs": ENV,
    "resources": {
        section: {"cpu": QUANTITY, "memory": QUANTITY, "gpu": ANY, "gpuType": TEXT, "custom": {"*": QUANTITY}}
        for section in ("limits", "requests")
    },
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "extraPodMetadata": {"annotations": LABELS, "labels": LABELS},
    "extraPodSpec": {**POD_SPEC, "containers": [CONTAINER], "mainContainer": CONTAINER},
}
BETA_COMPONENT: Rule = {
    **SHARED_COMPONENT,
    **dict.fromkeys(("name", "type", "minAvailable", "frontendSidecar"), ANY),
    "sharedMemorySize": QUANTITY,
    "scalingAdapter": {},
    "podTemplate": {
        "metadata": {"annotations": LABELS, "labels": LABELS},
        "spec": {**POD_SPEC, "containers": [CONTAINER]},
    },
}
SHARED_SPEC: Rule = {
    **dict.fromkeys(("backendFramework", "priorityClassName"), TEXT),
    "annotations": LABELS,
    "labels": LABELS,
    "experimental": {"kvTransferPolicy": OBJECT},
}
ROOT: Rule = {
    "apiVersion": ANY,
    "kind": ANY,
    "metadata": {"name": ANY, "namespace": ANY, "labels": LABELS, "annotations": LABELS},
}

WHY: Mapping[str, str] = {
    "hostNetwork": gettext_noop("it reaches the node’s network"),
    "hostPID": gettext_noop("it reaches the node’s processes"),
    "hostIPC": gettext_noop("it reaches the node’s memory"),
    "hostPath": gettext_noop("it reaches the node’s files"),
    "hostUsers": gettext_noop("it changes the user namespace"),
    "hostPort": gettext_noop("it takes a port of the node"),
    "host": gettext_noop("probes go to the pod itself"),
    "privileged": gettext_noop("a privileged container owns the node"),
    "procMount": gettext_noop("it unmasks the node’s /proc"),
    "serviceAccountName": gettext_noop("the operator chooses the service account"),
    "serviceAccount": gettext_noop("the operator chooses the service account"),
    "automountServiceAccountToken": gettext_noop("the operator chooses the service account"),
    "nodeName": gettext_noop("it passes the scheduler by; use spec.nodeSelector"),
    "priority": gettext_noop("use spec.priorityClassName"),
    "runtimeClassName": gettext_noop("the project has no say in the node’s runtimes"),
    "add": gettext_noop("added capabilities reach the node"),
    "hostAliases": gettext_noop("it changes how names resolve"),
    "shareProcessNamespace": gettext_noop("containers would see each other’s processes"),
    "topologyConstraint": gettext_noop(
        "Muster writes it from the placement annotations; use kai.scheduler/topology-*-placement"
    ),
    "providerOverride": gettext_noop("Muster writes it from the placement annotations"),
    "restart": gettext_noop("it is not set when a graph is made"),
    "finalizers": gettext_noop("they would keep the object from being deleted"),
    "ownerReferences": gettext_noop("Muster owns the object"),
    "status": gettext_noop("the operator writes it"),
}


def spec_rule(*, is_alpha: bool) -> Rule:
    """The rule of `spec` in v1alpha1 or v1beta1."""
    if is_alpha:
        return {**SHARED_SPEC, "envs": ENV, "pvcs": [{"*": ANY}], "services": {"*": ALPHA_COMPONENT}}
    return {**SHARED_SPEC, "env": ENV, "components": [BETA_COMPONENT]}
