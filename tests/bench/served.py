"""Pods with what a real API server and kubelet add to them: defaults, the token volume, probes, managed fields.

Field names and values follow `kubectl get pod -o json` of Kubernetes 1.35; a pod then has about 7 KB, as there.
"""

from typing import Any

Object = dict[str, Any]

_MOUNT = {
    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    "name": "kube-api-access-7xk2p",
    "readOnly": True,
}
_TOKEN: Object = {
    "name": "kube-api-access-7xk2p",
    "projected": {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
            {
                "downwardAPI": {
                    "items": [
                        {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}, "path": "namespace"}
                    ]
                }
            },
        ],
    },
}
_PROBE = {"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 4}
_FIELD_ENV = {
    "POD_NAME": "metadata.name",
    "POD_NAMESPACE": "metadata.namespace",
    "POD_UID": "metadata.uid",
    "POD_IP": "status.podIP",
}
_ENV: list[Object] = [
    *(
        {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
        for name, path in _FIELD_ENV.items()
    ),
    {"name": "DYN_SYSTEM_PORT", "value": "9090"},
    {"name": "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", "value": '["generate"]'},
    {"name": "NATS_SERVER", "value": "nats://dynamo-platform-nats.dynamo-system.svc.cluster.local:4222"},
    {"name": "ETCD_ENDPOINTS", "value": "dynamo-platform-etcd.dynamo-system.svc.cluster.local:2379"},
    {
        "name": "HF_TOKEN",
        "valueFrom": {"secretKeyRef": {"key": "HF_TOKEN", "name": "hf-token-secret", "optional": True}},
    },
]
_CONTAINER: Object = {
    "env": _ENV,
    "imagePullPolicy": "IfNotPresent",
    "livenessProbe": {"httpGet": {"path": "/live", "port": 9090, "scheme": "HTTP"}, **_PROBE},
    "readinessProbe": {"httpGet": {"path": "/health", "port": 9090, "scheme": "HTTP"}, **_PROBE},
    "startupProbe": {"httpGet": {"path": "/live", "port": 9090, "scheme": "HTTP"}, **_PROBE, "failureThreshold": 720},
    "ports": [{"containerPort": 9090, "name": "system", "protocol": "TCP"}],
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "volumeMounts": [{"mountPath": "/dev/shm", "name": "shared-memory"}, _MOUNT],
}
_SPEC: Object = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 50,
    "priorityClassName": "train",
    "securityContext": {"fsGroup": 1000},
    "serviceAccount": "default",
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 60,
    "tolerations": [
        {"effect": "NoExecute", "key": f"node.kubernetes.io/{state}", "operator": "Exists", "tolerationSeconds": 300}
        for state in ("not-ready", "unreachable")
    ],
    "volumes": [{"emptyDir": {"medium": "Memory", "sizeLimit": "80Gi"}, "name": "shared-memory"}, _TOKEN],
}
_OWN: Object = {
    **{f"f:{name}": {} for name in ("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName")},
    **{f"f:{name}": {} for name in ("securityContext", "serviceAccount", "terminationGracePeriodSeconds")},
    "f:containers": {
        'k:{"name":"main"}': {
            ".": {},
            "f:args": {},
            "f:env": {
                ".": {},
                **{f'k:{{"name":"{entry["name"]}"}}': {".": {}, "f:name": {}, "f:value": {}} for entry in _ENV},
            },
            **{f"f:{name}": {} for name in ("image", "imagePullPolicy", "name", "resources", "volumeMounts")},
            **{
                f"f:{name}": {".": {}, "f:failureThreshold": {}, "f:httpGet": {".": {}, "f:path": {}, "f:port": {}}}
                for name in ("livenessProbe", "readinessProbe", "startupProbe")
            },
        }
    },
}
_STATUS: Object = {
    "f:conditions": {
        f'k:{{"type":"{kind}"}}': {".": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}
        for kind in ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    },
    **{f"f:{name}": {} for name in ("containerStatuses", "hostIP", "hostIPs", "phase", "podIP", "startTime")},
    "f:podIPs": {".": {}, 'k:{"ip":"10.0.0.1"}': {".": {}, "f:ip": {}}},
}


def _entry(manager: str, fields: Object, **more: str) -> Object:
    entry = {"apiVersion": "v1", "fieldsType": "FieldsV1", "manager": manager, "operation": "Update"}
    return {**entry, "time": "2026-08-01T10:00:00Z", "fieldsV1": fields, **more}


_MANAGED = [
    _entry("grove-operator", {"f:metadata": {"f:labels": {".": {}}, "f:annotations": {".": {}}}, "f:spec": _OWN}),
    _entry("kubelet", {"f:status": _STATUS}, subresource="status"),
]
_containers: dict[int, tuple[list[Object], list[Object]]] = {}


def as_served(pod: Object) -> Object:
    """The manifest of a pod with all that. Pods of one template go on sharing their containers."""
    spec = pod["spec"]
    given = spec["containers"]
    known = _containers.get(id(given))
    if known is None or known[0] is not given:
        known = _containers[id(given)] = (given, [{**_CONTAINER, **container} for container in given])
    metadata = {**pod["metadata"], "managedFields": _MANAGED}
    return {**pod, "metadata": metadata, "spec": {**_SPEC, **spec, "containers": known[1]}}
