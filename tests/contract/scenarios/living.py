"""Deletion and finalizers, subresources, pods, events, access."""

from typing import Any

from tests.contract.steps import apply, config, delete, get, jsonp, merge, pod, post, put, widget

_held = {**config(), "metadata": {"name": "a", "finalizers": ["x.io/hold"]}}
_event: dict[str, Any] = {
    "metadata": {"name": "e.1"},
    "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p"},
    "reason": "Tested",
    "message": "It was tested.",
    "type": "Normal",
}


def _access(verb: str, resource: str, group: str = "", **more: str) -> dict[str, Any]:
    attributes = {"verb": verb, "resource": resource, "group": group, **more}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


def _binding(node: str) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}}


def _node(name: str = "n-{ns}") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {"plain": "1"}},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "8"}},
    }


_node_path = "/api/v1/nodes/n-{ns}"
_review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

SCENARIOS = {
    "delete": [
        post("configmaps", config()),
        delete("configmaps/a"),
        delete("configmaps/a"),
        delete("widgets/widgets/none"),
    ],
    "delete with preconditions": [
        post("configmaps", config()),
        delete("configmaps/a", {"preconditions": {"uid": "another"}}),
        delete("configmaps/a", {"preconditions": {"resourceVersion": "1"}}),
        delete(
            "configmaps/a",
            lambda a: {"preconditions": {"uid": a[0].meta["uid"], "resourceVersion": a[0].meta["resourceVersion"]}},
        ),
    ],
    "delete with wrong options": [
        post("configmaps", config()),
        delete("configmaps/a", {"propagationPolicy": "Sideways"}),
        delete("configmaps/a", {"propagationPolicy": "Background", "orphanDependents": True}),
        delete("configmaps/a", {"dryRun": ["Some"]}),
        delete("configmaps/a", {"kind": "Pod", "apiVersion": "v1"}),
        delete("configmaps/a", b"{"),
        delete("configmaps/a", gracePeriodSeconds="x"),
    ],
    "finalizers": [
        post("configmaps", _held),
        delete("configmaps/a"),
        delete("configmaps/a"),
        merge("configmaps/a", {"metadata": {"finalizers": ["x.io/hold", "y.io/more"]}}),
        merge("configmaps/a", {"metadata": {"labels": {"still": "here"}}}),
        post("configmaps", config()),
        merge("configmaps/a", {"metadata": {"deletionTimestamp": None}}),
        merge("configmaps/a", {"metadata": {"finalizers": None}}),
        get("configmaps/a"),
    ],
    "foreground and orphan": [
        post("configmaps", config("fore")),
        delete("configmaps/fore", {"propagationPolicy": "Foreground"}, dryRun="All"),
        post("widgets/widgets", {**widget("held"), "metadata": {"name": "held", "finalizers": ["x.io/hold"]}}),
        delete("widgets/widgets/held", {"propagationPolicy": "Foreground"}, dryRun="All"),
        delete("widgets/widgets/held", {"propagationPolicy": "Orphan"}, dryRun="All"),
        jsonp("widgets/widgets/held", {"op": "remove", "path": "/metadata/finalizers"}),
    ],
    "a pod": [
        post(
            "pods",
            pod(
                containers=[
                    {
                        "name": "main",
                        "image": "repo/x:1",
                        "ports": [{"containerPort": 80}],
                        "resources": {"limits": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": 1}},
                    }
                ]
            ),
        ),
        get("pods/p"),
        merge("pods/p/status", {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
        delete("pods/p", gracePeriodSeconds=0),
        get("pods/p"),
    ],
    "pods that are wrong": [
        post("pods", pod(containers=[])),
        post("pods", pod(containers=[{"name": "Main", "image": "x"}])),
        post("pods", pod(containers=[{"name": "main"}])),
        post("pods", pod(containers=[{"name": "a", "image": "x"}, {"name": "a", "image": "y"}])),
        post("pods", pod(containers=[{"name": "a", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1.5"}}}])),
        post(
            "pods",
            pod(
                containers=[
                    {
                        "name": "a",
                        "image": "x",
                        "resources": {"limits": {"nvidia.com/gpu": 1}, "requests": {"nvidia.com/gpu": 2}},
                    }
                ]
            ),
        ),
        post("pods", pod(containers=[{"name": "a", "image": "x", "resources": {"limits": {"cpu": "lots"}}}])),
        post("pods", pod(containers=[{"name": "a", "image": "x", "ports": [{"containerPort": 70000}]}])),
        post("pods", pod(containers=[{"name": "a", "image": "x", "env": [{"name": ""}]}])),
        post("pods", pod(containers=[{"name": "a", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}])),
        post("pods", pod(restartPolicy="Sometimes")),
        post("pods", pod(priorityClassName="no-such-class")),
        post("pods", pod(serviceAccountName="no-such-account")),
        post("pods", pod(nodeSelector={"bad key": "x"})),
        post("pods", {"metadata": {"name": "p"}}),
        post("pods", {"metadata": {"name": "p"}, "spec": {}}),
    ],
    "binding": [
        post("pods", pod()),
        post("pods/p/binding", _binding("node-none")),
        post("pods/p/binding", _binding("node-none")),
        get("pods/p"),
        post("pods/none/binding", _binding("x")),
        post("pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Pod", "name": "x"}}),
        delete("pods/p", gracePeriodSeconds=0),
    ],
    "priority of pods": [
        post(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"metadata": {"name": "c-{ns}"}, "value": 7, "description": "x"},
        ),
        post("pods", pod(priorityClassName="c-{ns}")),
        post("pods", pod("q", priorityClassName="c-{ns}", priority=3)),
        post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "d-{ns}"}, "value": 2_000_000_000}),
        post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "system-{ns}"}, "value": 7}),
        merge("/apis/scheduling.k8s.io/v1/priorityclasses/c-{ns}", {"value": 8}),
        delete("/apis/scheduling.k8s.io/v1/priorityclasses/c-{ns}"),
    ],
    "a node": [
        post("/api/v1/nodes", _node()),
        apply(
            _node_path,
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n-{ns}", "labels": {"rack": "1"}}},
            "muster",
        ),
        apply(
            _node_path,
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n-{ns}", "labels": {"rack": "2"}}},
            "other",
        ),
        merge(_node_path, {"spec": {"unschedulable": True}}),
        merge(_node_path, {"metadata": {"labels": {"rack": None}}}),
        merge(_node_path, {"spec": {"providerID": "x://1"}}),
        merge(_node_path, {"spec": {"providerID": "x://2"}}),
        delete(_node_path),
    ],
    "logs of a pod that does not run": [
        post("pods", pod()),
        get("pods/p/log"),
        get("pods/none/log"),
        get("pods/p/log", container="none"),
    ],
    "a service": [
        post(
            "services",
            {
                "metadata": {"name": "s"},
                "spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}, "clusterIP": "None"},
            },
        ),
        post("services", {"metadata": {"name": "t"}, "spec": {"ports": [{"port": 0}]}}),
        post(
            "services",
            {"metadata": {"name": "t"}, "spec": {"ports": [{"port": 80}, {"port": 81}], "clusterIP": "None"}},
        ),
        post("services", {"metadata": {"name": "t"}, "spec": {"type": "Strange", "ports": [{"port": 80}]}}),
    ],
    "a deployment": [
        post(
            "apps/deployments",
            {
                "metadata": {"name": "d"},
                "spec": {
                    "replicas": 0,
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "c", "image": "x"}]},
                    },
                },
            },
        ),
        post(
            "apps/deployments",
            {
                "metadata": {"name": "e"},
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "c"}},
                        "spec": {"containers": [{"name": "c", "image": "x"}]},
                    },
                },
            },
        ),
        post(
            "apps/deployments",
            {"metadata": {"name": "e"}, "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}},
        ),
    ],
    "events": [
        post("events", _event),
        post(
            "events",
            {
                **_event,
                "metadata": {"name": "e.2"},
                "involvedObject": {"kind": "Pod", "namespace": "other", "name": "p"},
            },
        ),
        get("events", fieldSelector="involvedObject.name=p"),
        get("events", fieldSelector="reason=Other"),
        get("events", fieldSelector="involvedObject.kind=Pod,type=Normal"),
        merge("events/e.1", {"count": 2}),
    ],
    "leases": [
        post(
            "leases/leases", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}
        ),
        put("leases/leases/l", lambda a: a[0].body | {"spec": {"holderIdentity": "you", "leaseDurationSeconds": 15}}),
        merge("leases/leases/l", {"spec": {"leaseDurationSeconds": 0}}),
    ],
    "a namespace": [
        merge("/api/v1/namespaces/{ns}", {"metadata": {"labels": {"a": "b"}}}),
        merge("/api/v1/namespaces/{ns}", {"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}}),
        post("/api/v1/namespaces", {"metadata": {"name": "{ns}"}}),
        delete("/api/v1/namespaces/default"),
        delete("/api/v1/namespaces/kube-system"),
    ],
    "no token and a wrong one": [
        get("configmaps", token=""),
        get("configmaps", token="wrong"),
        get("/version", token="wrong"),
        get("/apis/kai.scheduler/v1alpha1", token=""),
        get("/healthz", token=""),
        get("/nothing", token=""),
        get("gizmos", token=""),
        post("configmaps", config(), token=""),
        get("/api/v1/nodes/n", token=""),
        get("/apis/scheduling.run.ai/v2/queues", token=""),
    ],
    "access reviews": [
        post(_review, _access("list", "pods")),
        post(_review, _access("list", "pods"), token=""),
        post(_review, {"spec": {}}),
        post(_review, {"spec": {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}}),
        post(
            _review,
            {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}, "resourceAttributes": {"verb": "get"}}},
        ),
        post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}),
    ],
    "roles that are wrong": [
        post(
            "rbac/roles",
            {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": []}]},
        ),
        post("rbac/roles", {"metadata": {"name": "r"}, "rules": [{"resources": ["pods"], "verbs": ["get"]}]}),
        post(
            "rbac/rolebindings",
            {
                "metadata": {"name": "b"},
                "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [{"kind": "User", "name": "u"}],
            },
        ),
        post(
            "rbac/rolebindings",
            {
                "metadata": {"name": "b"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                "subjects": [{"kind": "Robot", "name": "u"}],
            },
        ),
        post(
            "rbac/rolebindings",
            {
                "metadata": {"name": "b"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "u"}],
            },
        ),
        post(
            "rbac/rolebindings",
            {
                "metadata": {"name": "b"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "u", "namespace": "{ns}"}],
            },
        ),
        merge(
            "rbac/rolebindings/b", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "s"}}
        ),
    ],
}
