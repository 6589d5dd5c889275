"""Server-side apply: ownership, conflicts, force, removal of owned fields, list maps."""

from typing import Any

from tests.contract.steps import apply, config, get, merge, pod, post, put, widget

_queue: dict[str, Any] = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "q-{ns}"},
    "spec": {"resources": {"gpu": {"quota": 4, "limit": -1}}},
}
_path = "/apis/scheduling.run.ai/v2/queues/q-{ns}"


def _quota(number: int) -> dict[str, Any]:
    return {**_queue, "spec": {"resources": {"gpu": {"quota": number}}}}


SCENARIOS = {
    "apply creates": [apply("configmaps/a", config(x="1")), get("configmaps/a")],
    "apply again": [apply("configmaps/a", config(x="1")), apply("configmaps/a", config(x="1"))],
    "apply leaves out": [apply("configmaps/a", config(x="1", y="2")), apply("configmaps/a", config(x="1"))],
    "apply leaves out everything": [
        apply("configmaps/a", config(x="1")),
        apply("configmaps/a", {**config(), "data": {}}),
    ],
    "apply in conflict": [
        apply("configmaps/a", config(x="1")),
        apply("configmaps/a", config(x="2"), "b"),
        apply("configmaps/a", config(x="2"), "b", dryRun="All"),
        apply("configmaps/a", config(x="2"), "b", force="true"),
        apply("configmaps/a", config(x="3")),
        apply("configmaps/a", config()),
    ],
    "apply with several conflicts": [
        apply("configmaps/a", config(x="1", y="1", z="1")),
        apply("configmaps/a", config(x="2", y="2"), "b"),
    ],
    "apply shares": [
        apply("configmaps/a", config(x="1")),
        apply("configmaps/a", config(x="1"), "b"),
        apply("configmaps/a", config(), "b"),
        apply("configmaps/a", config(x="1"), "b"),
        apply("configmaps/a", config()),
        apply("configmaps/a", config(x="2")),
    ],
    "apply against an update": [
        post("configmaps", config(x="1"), fieldManager="writer"),
        apply("configmaps/a", config(x="2")),
        apply("configmaps/a", config(x="2"), force="true"),
        merge("configmaps/a", {"data": {"x": "3"}}, fieldManager="writer"),
        apply("configmaps/a", config(x="2")),
    ],
    "apply without a manager": [
        apply("configmaps/a", config(), ""),
        apply("configmaps/a", config(), "x" * 129),
        apply("configmaps/a", config(), "tab\there"),
    ],
    "apply with managed fields": [
        apply("configmaps/a", {**config(), "metadata": {"name": "a", "managedFields": [{}]}}),
        apply("configmaps/a", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}),
        apply("configmaps/a", {"apiVersion": "v1", "kind": "ConfigMap"}),
        apply("configmaps/a", {"kind": "ConfigMap", "metadata": {"name": "a"}}),
        apply("configmaps/a", {"apiVersion": "v1", "metadata": {"name": "a"}}),
        apply("configmaps/a", {**config(), "kind": "Secret"}),
    ],
    "apply of unknown fields": [
        apply("configmaps/a", {**config(), "extra": 1}),
        apply("widgets/widgets/w", widget(extra=1)),
        apply("widgets/widgets/w", {**widget(), "extra": 1}),
        apply("configmaps/a", {**config(), "data": {"x": 1}}),
    ],
    "apply with a version": [
        apply("configmaps/a", config(x="1")),
        apply("configmaps/a", {**config(x="2"), "metadata": {"name": "a", "resourceVersion": "1"}}),
        apply("configmaps/b", {**config("b"), "metadata": {"name": "b", "resourceVersion": "1"}}),
        apply("configmaps/c", {**config("c"), "metadata": {"name": "c", "uid": "gone"}}),
        apply("configmaps/a", {**config(), "metadata": {"name": "a", "uid": "another"}}),
    ],
    "apply as a dry run": [apply("configmaps/a", config(x="1"), dryRun="All"), get("configmaps/a")],
    "apply of labels": [
        apply("configmaps/a", {**config(), "metadata": {"name": "a", "labels": {"l": "1"}, "annotations": {"n": "1"}}}),
        apply("configmaps/a", {**config(), "metadata": {"name": "a", "labels": {"m": "1"}}}, "b"),
        apply("configmaps/a", {**config(), "metadata": {"name": "a"}}),
    ],
    "apply of a queue": [
        apply(_path, _queue),
        apply(_path, _quota(5), "b"),
        apply(_path, _quota(5), "b", dryRun="All"),
        apply(_path, _quota(4), "b"),
        apply(_path, _quota(6)),
        apply(_path, _quota(6), force="true"),
        apply(_path, {**_quota(6), "spec": {"resources": {"gpu": {"quota": 6}}, "parent": "x"}}),
        apply(_path, {**_quota(6), "spec": {"resources": {"gpu": {"quota": "many"}}}}),
    ],
    "apply of a map list": [
        apply("widgets/widgets/w", widget(parts=[{"name": "x", "size": 1}, {"name": "y"}])),
        apply("widgets/widgets/w", widget(parts=[{"name": "z"}]), "b"),
        apply("widgets/widgets/w", widget(parts=[{"name": "y", "size": 2}])),
        apply("widgets/widgets/w", widget(parts=[{"name": "z", "size": 9}])),
        apply("widgets/widgets/w", widget(parts=[{"name": "d"}, {"name": "d"}])),
        apply("widgets/widgets/w", widget(parts=[{"size": 1}])),
    ],
    "apply of a set": [
        apply("widgets/widgets/w", widget(tags=["x", "y"])),
        apply("widgets/widgets/w", widget(tags=["z", "x"]), "b"),
        apply("widgets/widgets/w", widget(tags=["y"])),
        apply("widgets/widgets/w", widget(tags=["y", "y"])),
    ],
    "apply of an atomic map": [
        apply("widgets/widgets/w", widget(limits={"cpu": "1", "memory": "2"})),
        apply("widgets/widgets/w", widget(limits={"cpu": "1"}), "b"),
        apply("widgets/widgets/w", widget(limits={"cpu": "1"})),
    ],
    "apply of an atomic list": [
        apply("widgets/widgets/w", widget(names=["a", "b"])),
        apply("widgets/widgets/w", widget(names=["a"]), "b"),
        apply("widgets/widgets/w", widget(names=["a"]), "b", force="true"),
    ],
    "apply of free fields": [
        apply("widgets/widgets/w", widget(free={"x": {"y": 1}, "l": [1, 2]})),
        apply("widgets/widgets/w", widget(free={"x": {"z": 1}}), "b"),
        apply("widgets/widgets/w", widget()),
    ],
    "apply of a status": [
        apply("widgets/widgets/w", widget()),
        apply("widgets/widgets/w/status", {**widget(), "status": {"phase": "Ready"}}, "controller"),
        apply("widgets/widgets/w", {**widget(), "status": {"phase": "Broken"}}),
        get("widgets/widgets/w"),
    ],
    "apply of a pod": [
        apply("pods/p", pod()),
        apply("pods/p", pod(containers=[{"name": "main", "image": "y"}]), "b"),
        apply("pods/p", pod(tolerations=[{"key": "k", "operator": "Exists"}]), "b"),
    ],
    "apply of what others own as null": [
        post("configmaps", config(x="1"), fieldManager="writer"),
        apply("configmaps/a", {**config(), "data": {"x": None}}),
    ],
    "an update takes what was applied": [
        apply("configmaps/a", config(x="1", y="1")),
        put("configmaps/a", lambda a: {**a[0].body, "data": {"x": "2"}}, fieldManager="writer"),
        apply("configmaps/a", config(y="1")),
    ],
}
