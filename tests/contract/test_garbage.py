"""Owner references and the controllers that heed them; namespaces that go; tokens that controllers fill in."""

from typing import Any

from tests.contract.client import Answer, Api
from tests.contract.steps import config, pod, widget

# The garbage collector looks for new kinds every 30 seconds.
GARBAGE_SECONDS = 60


def _owned(name: str, *owners: Answer, **more: Any) -> dict[str, Any]:
    references = [
        {
            "apiVersion": owner.body["apiVersion"],
            "kind": owner.body["kind"],
            "name": owner.meta["name"],
            "uid": owner.meta["uid"],
            **more,
        }
        for owner in owners
    ]
    return {**config(name), "metadata": {"name": name, "ownerReferences": references}}


def test_what_is_owned_goes_behind_its_owner(api: Api) -> None:
    owner = api.post("widgets/widgets", widget("owner"))
    api.post("configmaps", _owned("child", owner))

    assert api.delete("widgets/widgets/owner", {"propagationPolicy": "Background"}).status == 200

    assert api.await_status("configmaps/child", 404, GARBAGE_SECONDS).reason == "NotFound"


def test_grandchildren_go_too(api: Api) -> None:
    owner = api.post("widgets/widgets", widget("owner"))
    child = api.post("configmaps", _owned("child", owner))
    api.post("configmaps", _owned("grandchild", child))

    api.delete("widgets/widgets/owner")

    api.await_status("configmaps/grandchild", 404, GARBAGE_SECONDS)


def test_an_orphan_stays_and_forgets_its_owner(api: Api) -> None:
    owner = api.post("widgets/widgets", widget("owner"))
    api.post("configmaps", _owned("child", owner))

    api.delete("widgets/widgets/owner", {"propagationPolicy": "Orphan"})

    api.await_status("widgets/widgets/owner", 404, GARBAGE_SECONDS)
    assert "ownerReferences" not in api.get("configmaps/child").meta


def test_foreground_waits_for_what_blocks(api: Api) -> None:
    owner = api.post("widgets/widgets", widget("owner"))
    child = _owned("child", owner, blockOwnerDeletion=True)
    child["metadata"]["finalizers"] = ["x.io/hold"]
    api.post("configmaps", child)

    answer = api.delete("widgets/widgets/owner", {"propagationPolicy": "Foreground"})

    assert answer.status == 200
    assert answer.meta["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" in answer.meta
    waiting = api.await_status("widgets/widgets/owner", 200)
    assert waiting.meta["finalizers"] == ["foregroundDeletion"]
    _until_deleting(api, "configmaps/child")
    api.merge("configmaps/child", {"metadata": {"finalizers": None}})
    api.await_status("widgets/widgets/owner", 404, GARBAGE_SECONDS)


def _until_deleting(api: Api, path: str) -> None:
    api.await_answer(path, lambda answer: "deletionTimestamp" in answer.meta, GARBAGE_SECONDS)


def test_who_has_another_owner_stays(api: Api) -> None:
    first, second = (api.post("widgets/widgets", widget(name)) for name in ("first", "second"))
    api.post("configmaps", _owned("child", first, second))
    api.post("configmaps", _owned("witness", first))

    api.delete("widgets/widgets/first")
    api.await_status("configmaps/witness", 404, GARBAGE_SECONDS)

    assert api.get("configmaps/child").status == 200
    api.delete("widgets/widgets/second")
    api.await_status("configmaps/child", 404, GARBAGE_SECONDS)


def test_an_owner_of_another_uid_is_no_owner(api: Api) -> None:
    owner = api.post("widgets/widgets", widget("owner"))
    owner.meta["uid"] = "00000000-0000-4000-8000-000000000000"
    api.post("configmaps", _owned("child", owner))

    api.await_status("configmaps/child", 404, GARBAGE_SECONDS)


def test_a_cluster_wide_owner(api: Api) -> None:
    resources = {name: {"quota": 0, "limit": -1, "overQuotaWeight": 1} for name in ("cpu", "gpu", "memory")}
    kind = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue"}
    queue = {**kind, "metadata": {"name": f"owner-{api.ns}"}, "spec": {"resources": resources}}
    owner = api.post("/apis/scheduling.run.ai/v2/queues", queue)
    api.post("configmaps", _owned("child", owner))

    api.delete(f"/apis/scheduling.run.ai/v2/queues/owner-{api.ns}")

    api.await_status("configmaps/child", 404, GARBAGE_SECONDS)


def test_a_namespace_takes_everything_with_it(api: Api) -> None:
    api.post("configmaps", config("a"))
    api.post("widgets/widgets", widget("w"))
    api.post("pods", pod())

    answer = api.delete(f"/api/v1/namespaces/{api.ns}")

    assert answer.status == 200
    assert answer.body["status"]["phase"] == "Terminating"
    refused = api.post("configmaps", config("late"))
    assert refused.status in (403, 404)
    api.await_status(f"/api/v1/namespaces/{api.ns}", 404, GARBAGE_SECONDS)
    assert api.get("configmaps/a").status == 404
    assert api.get("widgets/widgets/w").status == 404


def test_a_namespace_waits_for_finalizers(api: Api) -> None:
    api.post("configmaps", {"metadata": {"name": "a", "finalizers": ["x.io/hold"]}})

    api.delete(f"/api/v1/namespaces/{api.ns}")
    _until_deleting(api, "configmaps/a")

    live = api.get(f"/api/v1/namespaces/{api.ns}")
    assert live.body["status"]["phase"] == "Terminating"
    assert live.body["spec"]["finalizers"] == ["kubernetes"]
    refused = api.post("configmaps", config("late"))
    assert refused.code == (403, "Forbidden")
    assert refused.message == (
        f'configmaps "late" is forbidden: unable to create new content in namespace {api.ns} because it is being '
        "terminated"
    )
    assert refused.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    api.merge("configmaps/a", {"metadata": {"finalizers": None}})
    api.await_status(f"/api/v1/namespaces/{api.ns}", 404, GARBAGE_SECONDS)


def test_a_new_namespace_has_an_account_and_the_authority(api: Api) -> None:
    assert api.await_status("serviceaccounts/default", 200).meta["name"] == "default"
    assert "ca.crt" in api.await_status("configmaps/kube-root-ca.crt", 200).body["data"]
    namespace = api.get(f"/api/v1/namespaces/{api.ns}")
    assert namespace.body["status"] == {"phase": "Active"}
    assert namespace.meta["labels"] == {"kubernetes.io/metadata.name": api.ns}
    assert namespace.body["spec"] == {"finalizers": ["kubernetes"]}
