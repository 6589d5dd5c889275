"""Custom resources: defaults, pruning, validation messages, immutability, status and scale; names and labels."""

from typing import Any

from tests.contract.steps import config, delete, get, merge, post, put, widget

_topologies = "/apis/kai.scheduler/v1alpha1/topologies"
_zone, _rack, _host = (
    {"nodeLabel": label}
    for label in ("topology.kubernetes.io/zone", "topology.kubernetes.io/rack", "kubernetes.io/hostname")
)


def _topology(*levels: dict[str, str], name: str = "t-{ns}") -> dict[str, Any]:
    return {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": name},
        "spec": {"levels": list(levels)},
    }


def _queue(name: str = "q-{ns}", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _named(name: Any, **metadata: Any) -> dict[str, Any]:
    return {**config(), "metadata": {"name": name, **metadata}}


def _refused(*specs: dict[str, Any]) -> list:
    return [post("widgets/widgets", widget(**spec)) for spec in specs]


_queues = "/apis/scheduling.run.ai/v2/queues"

SCENARIOS = {
    "defaults": [
        post("widgets/widgets", widget()),
        post("widgets/widgets", widget("x", parts=[{"name": "a"}, {"name": "b", "inner": {}}], settings={"level": 2})),
        post("widgets/widgets", widget("y", replicas=None, maybe=None, settings=None)),
    ],
    "pruning": [
        post("widgets/widgets", widget(surplus=1, free={"any": {"thing": 1}}, parts=[{"name": "a", "more": 2}])),
        post("widgets/widgets", {**widget("x"), "surplus": 1}),
        post("widgets/widgets", widget("y", surplus=1), fieldValidation="Strict"),
        post("widgets/widgets", widget("z", surplus=1), fieldValidation="Ignore"),
    ],
    "validation of scalars": _refused(
        {"colour": "pink"},
        {"colour": 7},
        {"colour": None},
        {"replicas": -1},
        {"replicas": 101},
        {"replicas": 1.5},
        {"replicas": "2"},
        {"ratio": 0},
        {"ratio": -0.5},
        {"code": "XX-1"},
        {"code": "ab"},
        {"code": "ab-123456789"},
        {"enabled": "true"},
        {"step": 7},
        {"port": 1.5},
        {"port": True},
        {"maybe": 3},
        {"replicas": 3_000_000_000},
    ),
    "validation of collections": _refused(
        {"labels": {"a": "1", "b": "2", "c": "3", "d": "4"}},
        {"labels": {"a": 1}},
        {"labels": []},
        {"tags": ["x", "x"]},
        {"tags": ["1", "2", "3", "4", "5"]},
        {"names": []},
        {"names": ["toolong"]},
        {"parts": [{"name": "a"}, {"name": "a"}]},
        {"parts": [{}]},
        {"parts": {"name": "a"}},
        {"parts": ["a"]},
        {"limits": {"cpu": 1}},
        {"settings": {"level": 0}},
        {"free": "x"},
    ),
    "validation of the whole": [
        post("widgets/widgets", {"apiVersion": "contract.muster.dev/v1", "kind": "Widget", "metadata": {"name": "w"}}),
        post(
            "widgets/widgets",
            {"apiVersion": "contract.muster.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}},
        ),
        post(
            "widgets/widgets",
            {"apiVersion": "contract.muster.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": "x"},
        ),
        post(
            "widgets/widgets",
            {"apiVersion": "contract.muster.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": None},
        ),
        post("widgets/widgets", {"metadata": {"name": "w"}, "spec": {"colour": "red"}}),
        post("widgets/widgets", {**widget(), "kind": "Gadget"}),
        post("widgets/widgets", {**widget(), "apiVersion": "contract.muster.dev/v2"}),
    ],
    "status is apart": [
        post("widgets/widgets", {**widget(), "status": {"phase": "Ready"}}),
        merge("widgets/widgets/w", {"status": {"phase": "Ready"}}),
        merge("widgets/widgets/w/status", {"status": {"phase": "Ready"}, "spec": {"colour": "blue"}}),
        merge("widgets/widgets/w/status", {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}}),
        put("widgets/widgets/w/status", lambda a: a[2].body | {"status": {"phase": "Late"}}),
        put("widgets/widgets/w/status", lambda a: a[3].body | {"status": {"phase": 5}}),
        put("widgets/widgets/w", lambda a: {key: value for key, value in a[3].body.items() if key != "status"}),
        get("widgets/widgets/w/status"),
    ],
    "generation": [
        post("widgets/widgets", widget()),
        merge("widgets/widgets/w", {"metadata": {"labels": {"a": "b"}}}),
        merge("widgets/widgets/w", {"spec": {"colour": "blue"}}),
        merge("widgets/widgets/w/status", {"status": {"phase": "Ready"}}),
        merge("widgets/widgets/w", {"metadata": {"finalizers": ["x.io/y"]}}),
        delete("widgets/widgets/w"),
    ],
    "scale": [
        post("widgets/widgets", widget(replicas=2)),
        get("widgets/widgets/w/scale"),
        merge("widgets/widgets/w/scale", {"spec": {"replicas": 5}}),
        merge("widgets/widgets/w/scale", {"spec": {"replicas": -1}}),
        put("widgets/widgets/w/scale", lambda a: a[1].body | {"spec": {"replicas": 7}}),
        get("widgets/widgets/w"),
        get("widgets/widgets/none/scale"),
    ],
    "a topology": [
        post(_topologies, _topology(_zone, _rack, _host)),
        merge(f"{_topologies}/t-{{ns}}", {"spec": {"levels": [_zone, _host]}}),
        merge(f"{_topologies}/t-{{ns}}", {"spec": {"levels": [_rack, _zone, _host]}}),
        merge(f"{_topologies}/t-{{ns}}", {"metadata": {"labels": {"a": "b"}}}),
        merge(f"{_topologies}/t-{{ns}}", {"spec": {"levels": [{**_zone, "alias": "zone"}, _rack, _host]}}),
        delete(f"{_topologies}/t-{{ns}}"),
    ],
    "topologies that are wrong": [
        post(_topologies, _topology()),
        post(_topologies, {**_topology(), "spec": {}}),
        post(_topologies, _topology(_zone, _zone)),
        post(_topologies, _topology(_host, _zone)),
        post(_topologies, _topology(*({"nodeLabel": f"l/{number}"} for number in range(17)))),
        post(_topologies, _topology({"nodeLabel": ""})),
        post(_topologies, _topology({"nodeLabel": "bad label"})),
        post(_topologies, _topology(_zone, name="Upper")),
    ],
    "a queue": [
        post(_queues, _queue(resources={"gpu": {"quota": 4}})),
        merge(f"{_queues}/q-{{ns}}", {"spec": {"resources": {"gpu": {"quota": 1.5}}}}),
        merge(f"{_queues}/q-{{ns}}", {"spec": {"priority": 1.5}}),
        merge(f"{_queues}/q-{{ns}}", {"spec": {"resources": {"gpu": {"quota": "many"}}}}),
        merge(f"{_queues}/q-{{ns}}", {"spec": {"parent": "x"}}),
        merge(f"{_queues}/q-{{ns}}", {"status": {"childQueues": ["x"]}}),
        delete(f"{_queues}/q-{{ns}}"),
        post(_queues, b'{"metadata":{"name":"q2-x"},"spec":{"resources":{"gpu":{"quota":NaN}}}}'),
    ],
    "a pod group": [
        post(
            "kaigroups/podgroups",
            {
                "apiVersion": "scheduling.run.ai/v2alpha2",
                "kind": "PodGroup",
                "metadata": {"name": "g"},
                "spec": {"minMember": 0},
            },
        ),
        post(
            "kaigroups/podgroups",
            {
                "apiVersion": "scheduling.run.ai/v2alpha2",
                "kind": "PodGroup",
                "metadata": {"name": "g"},
                "spec": {"minMember": 2, "queue": "q"},
            },
        ),
        merge("kaigroups/podgroups/g", {"spec": {"preemptibility": ""}}),
        merge("kaigroups/podgroups/g/status", {"status": {"phase": "Running"}}),
    ],
    "names": [
        post("configmaps", _named("Upper")),
        post("configmaps", _named("under_score")),
        post("configmaps", _named("-lead")),
        post("configmaps", _named("a" * 253)),
        post("configmaps", _named("a" * 254)),
        post("configmaps", _named("a.b-c")),
        post("configmaps", _named("a/b")),
        post("configmaps", _named(".")),
        post("configmaps", _named("ü")),
        post("services", {"metadata": {"name": "1st"}, "spec": {"ports": [{"port": 80}]}}),
        post("services", {"metadata": {"name": "a.b"}, "spec": {"ports": [{"port": 80}]}}),
        post("/api/v1/namespaces", {"metadata": {"name": "a.b"}}),
        post("/api/v1/namespaces", {"metadata": {"name": "a" * 64}}),
        post("widgets/widgets", widget("Upper")),
        post("widgets/widgets", widget("a" * 254)),
        post("configmaps", _named("")),
        post("configmaps", {"metadata": {"generateName": "Upper-"}}),
        post("configmaps", {"metadata": {"generateName": "a" * 300}}),
    ],
    "labels": [
        post("configmaps", _named("a", labels={"ok": "", "a.b/c_d.e": "V-1"})),
        post("configmaps", _named("b", labels={"bad key": "x"})),
        post("configmaps", _named("b", labels={"k": "bad value"})),
        post("configmaps", _named("b", labels={"k": "x" * 64})),
        post("configmaps", _named("b", labels={"a/b/c": "x"})),
        post("configmaps", _named("b", labels={"/b": "x"})),
        post("configmaps", _named("b", labels={"k" * 64: "x"})),
        post("configmaps", _named("b", labels={"Upper.io/k": "x"})),
        post("configmaps", _named("b", labels={"k": "-x"})),
        post("configmaps", _named("b", labels={"k": 1})),
        post("widgets/widgets", {**widget(), "metadata": {"name": "w", "labels": {"bad key": "x"}}}),
    ],
    "annotations, finalizers and owners": [
        post("configmaps", _named("b", annotations={"bad key": "x"})),
        post("configmaps", _named("c", annotations={"k": "any text\n"})),
        post("configmaps", _named("d", finalizers=["bad finalizer!"])),
        post("configmaps", _named("d", finalizers=["plain"])),
        post("configmaps", _named("d", finalizers=["a.io/b", "a.io/b"])),
        post("configmaps", _named("e", ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}])),
        post("configmaps", _named("e", ownerReferences=[{"apiVersion": "", "kind": "", "name": "", "uid": ""}])),
        post(
            "configmaps",
            _named(
                "e",
                ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1", "controller": True}]
                * 2,
            ),
        ),
        post(
            "configmaps", _named("f", ownerReferences=[{"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "1"}])
        ),
    ],
    "keys of config maps and secrets": [
        post("configmaps", {**config(), "data": {"bad key": "x"}}),
        post("configmaps", {**config(), "data": {"..": "x"}}),
        post("configmaps", {**config(), "data": {"x": "1"}, "binaryData": {"x": "AA=="}}),
        post("configmaps", {**config("b"), "binaryData": {"x": "not base64!"}}),
        post("secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}}),
        post("secrets", {"metadata": {"name": "t"}, "data": {"a": "not base64!"}}),
        merge("secrets/s", {"stringData": {"c": "d"}}),
        merge("secrets/s", {"type": "other"}),
        get("secrets/s"),
        post("secrets", {"metadata": {"name": "u"}, "type": "kubernetes.io/dockerconfigjson", "data": {}}),
        post("secrets", {"metadata": {"name": "v"}, "type": "kubernetes.io/tls"}),
    ],
}
