"""Deletion: preconditions, grace, finalizers, dependants by propagation, namespaces, collections."""

import pytest

from clusters.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, KAI_POD_GROUP, KAI_QUEUE, NAMESPACE, POD
from simulator.api import deleting
from simulator.api.reading import ListOptions
from simulator.api.requests import DeleteOptions
from simulator.client import Object
from tests.simulator.api.conftest import Verbs, pod


def config_map(name: str, *owners: Object, **metadata: object) -> Object:
    references = [reference(owner) for owner in owners]
    given: Object = {"name": name, **metadata}
    if references:
        given["ownerReferences"] = references
    return {"metadata": given}


def reference(owner: Object, *, blocks: bool = False) -> Object:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": blocks,
    }


def make(verbs: Verbs, body: Object, namespace: str = "default") -> Object:
    return verbs.create(CONFIG_MAP, body, namespace)


def test_a_wrong_uid_or_version_is_409(verbs: Verbs) -> None:
    make(verbs, config_map("a"))
    uid = verbs.refused(verbs.delete, CONFIG_MAP, "a", "default", uid="other")
    version = verbs.refused(verbs.delete, CONFIG_MAP, "a", "default", resource_version="1")

    assert uid.code == version.code == 409
    assert uid.message.startswith(
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in '
    )
    assert version.message.endswith("The object might have been modified")


def test_an_absent_object_is_404(verbs: Verbs) -> None:
    error = verbs.refused(verbs.delete, CONFIG_MAP, "absent", "default")

    assert (error.code, error.message) == (404, 'configmaps "absent" not found')


def test_a_finalizer_keeps_an_object_until_it_is_taken_away(verbs: Verbs) -> None:
    make(verbs, config_map("a", finalizers=["muster.example/hold"]))
    left = verbs.delete(CONFIG_MAP, "a", "default")
    added = verbs.refused(
        verbs.patch, CONFIG_MAP, "a", {"metadata": {"finalizers": ["muster.example/hold", "b.example/c"]}}, "default"
    )
    verbs.patch(CONFIG_MAP, "a", {"metadata": {"finalizers": None}}, "default")

    assert left is not None
    assert left["metadata"]["deletionTimestamp"]
    assert "no new finalizers can be added if the object is being deleted" in added.message
    assert verbs.get(CONFIG_MAP, "a", "default") is None


def test_a_bound_pod_goes_gracefully_and_a_waiting_one_at_once(verbs: Verbs) -> None:
    verbs.create(POD, pod("bound", nodeName="n"), "default")
    verbs.create(POD, pod("waiting"), "default")
    verbs.delete(POD, "waiting", "default")
    left = verbs.delete(POD, "bound", "default")

    assert verbs.names(POD, "default") == ["bound"]
    assert left is not None
    assert left["metadata"]["deletionGracePeriodSeconds"] == 30
    again = verbs.delete(POD, "bound", "default", grace_seconds=5)
    assert again is not None
    assert again["metadata"]["deletionGracePeriodSeconds"] == 5
    assert verbs.delete(POD, "bound", "default", grace_seconds=0) is None
    assert verbs.names(POD, "default") == []


def test_a_finished_pod_needs_no_grace(verbs: Verbs) -> None:
    verbs.create(POD, pod("p", nodeName="n"), "default")
    verbs.patch(POD, "p", {"status": {"phase": "Succeeded"}}, "default", subresource="status")

    assert verbs.delete(POD, "p", "default") is None


def test_background_takes_dependants_down_the_chain(verbs: Verbs) -> None:
    owner = make(verbs, config_map("owner"))
    child = make(verbs, config_map("child", owner))
    make(verbs, config_map("grandchild", child))
    verbs.delete(CONFIG_MAP, "owner", "default")
    verbs.collect()

    assert verbs.names(CONFIG_MAP, "default") == ["kube-root-ca.crt"]


def test_a_dependant_with_another_owner_stays_and_loses_the_reference(verbs: Verbs) -> None:
    first, second = make(verbs, config_map("first")), make(verbs, config_map("second"))
    make(verbs, config_map("child", first, second))
    verbs.delete(CONFIG_MAP, "first", "default")
    verbs.collect()

    child = verbs.get(CONFIG_MAP, "child", "default")
    assert child is not None
    assert [item["name"] for item in child["metadata"]["ownerReferences"]] == ["second"]


def test_an_object_whose_owner_never_existed_is_collected(verbs: Verbs) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no-such-uid"}}
    make(verbs, config_map("child", ghost))
    verbs.collect()

    assert verbs.get(CONFIG_MAP, "child", "default") is None


def test_an_owner_in_another_namespace_counts_as_absent(verbs: Verbs) -> None:
    owner = make(verbs, config_map("owner"), "kube-public")
    make(verbs, config_map("child", owner))
    verbs.collect()

    assert verbs.get(CONFIG_MAP, "child", "default") is None


def test_orphan_leaves_dependants_without_the_reference(verbs: Verbs) -> None:
    owner = make(verbs, config_map("owner"))
    make(verbs, config_map("child", owner))
    verbs.delete(CONFIG_MAP, "owner", "default", propagation="Orphan")
    verbs.collect()

    child = verbs.get(CONFIG_MAP, "child", "default")
    assert verbs.get(CONFIG_MAP, "owner", "default") is None
    assert child is not None
    assert "ownerReferences" not in child["metadata"]


def test_foreground_waits_for_dependants_that_block(verbs: Verbs) -> None:
    owner = make(verbs, config_map("owner"))
    body = config_map("child", finalizers=["muster.example/hold"])
    body["metadata"]["ownerReferences"] = [reference(owner, blocks=True)]
    make(verbs, body)
    verbs.delete(CONFIG_MAP, "owner", "default", propagation="Foreground")
    verbs.collect()
    waiting = verbs.get(CONFIG_MAP, "owner", "default")
    verbs.patch(CONFIG_MAP, "child", {"metadata": {"finalizers": None}}, "default")
    verbs.collect()

    assert waiting is not None
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert verbs.names(CONFIG_MAP, "default") == ["kube-root-ca.crt"]


def test_a_namespace_goes_with_everything_in_it(verbs: Verbs) -> None:
    verbs.create(NAMESPACE, {"metadata": {"name": "team"}})
    make(verbs, config_map("a"), "team")
    verbs.create(POD, pod("p"), "team")
    verbs.create(KAI_POD_GROUP, {"metadata": {"name": "g"}, "spec": {"minMember": 1}}, "team")
    left = verbs.delete(NAMESPACE, "team")
    error = verbs.refused(make, verbs, config_map("b"), "team")
    verbs.collect()

    assert left is not None
    assert left["status"]["phase"] == "Terminating"
    assert error.code == 403
    assert error.message == (
        'configmaps "b" is forbidden: unable to create new content in namespace team because it is being terminated'
    )
    assert verbs.get(NAMESPACE, "team") is None
    assert verbs.names(POD, "team") == verbs.names(KAI_POD_GROUP, "team") == verbs.names(CONFIG_MAP, "team") == []


def test_a_namespace_waits_for_pods_that_end_and_for_finalizers(verbs: Verbs) -> None:
    verbs.create(NAMESPACE, {"metadata": {"name": "team"}})
    verbs.create(POD, pod("p", nodeName="n"), "team")
    make(verbs, config_map("a", finalizers=["muster.example/hold"]), "team")
    verbs.delete(NAMESPACE, "team")
    verbs.collect()
    verbs.delete(POD, "p", "team", grace_seconds=0)
    verbs.collect()
    still = verbs.get(NAMESPACE, "team")
    verbs.patch(CONFIG_MAP, "a", {"metadata": {"finalizers": []}}, "team")
    verbs.collect()

    assert still is not None
    assert verbs.get(NAMESPACE, "team") is None


def test_a_namespace_with_very_many_objects_goes_in_several_visits(verbs: Verbs) -> None:
    verbs.create(NAMESPACE, {"metadata": {"name": "team"}})
    for number in range(1200):
        make(verbs, config_map(f"c{number}"), "team")
    verbs.delete(NAMESPACE, "team")
    assert verbs.garbage is not None
    first = verbs.garbage.collect(1)
    left = len(verbs.names(CONFIG_MAP, "team"))
    verbs.collect()

    assert first
    assert 0 < left < 1200
    assert verbs.get(NAMESPACE, "team") is None


def test_a_stuck_namespace_goes_when_the_fault_ends(verbs: Verbs) -> None:
    verbs.create(NAMESPACE, {"metadata": {"name": "team"}})
    verbs.server.faults.switch_on("namespace-stuck", {"namespace": "team"})
    verbs.delete(NAMESPACE, "team")
    verbs.collect()
    stuck = verbs.get(NAMESPACE, "team")
    verbs.server.faults.switch_off("namespace-stuck")
    verbs.collect()

    assert stuck is not None
    assert verbs.get(NAMESPACE, "team") is None


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_system_namespaces_stay(verbs: Verbs, name: str) -> None:
    error = verbs.refused(verbs.delete, NAMESPACE, name)

    assert (error.code, error.message) == (
        403, f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    )  # fmt: skip


def test_a_collection_goes_as_far_as_the_selectors_reach(verbs: Verbs) -> None:
    make(verbs, config_map("a", labels={"x": "1"}))
    make(verbs, config_map("b", labels={"x": "2"}))
    make(verbs, config_map("c", labels={"x": "1"}), "kube-public")
    target = verbs.target(CONFIG_MAP, "default")
    deleting.delete_collection(verbs.server, target, ListOptions(label_selector="x=1"), DeleteOptions())

    assert verbs.names(CONFIG_MAP, label_selector="x") == ["b", "c"]


def test_deleting_a_crd_takes_its_objects_and_its_paths(verbs: Verbs) -> None:
    verbs.create(KAI_QUEUE, {"metadata": {"name": "q"}, "spec": {"resources": {}}})
    verbs.delete(CUSTOM_RESOURCE_DEFINITION, "queues.scheduling.run.ai")
    verbs.collect()

    assert verbs.server.find("scheduling.run.ai", "v2", "queues") is None
    assert ("scheduling.run.ai", "queues") not in {
        name for name, found in verbs.server.store.collections.items() if found.entries
    }


def test_a_dry_run_deletes_nothing(verbs: Verbs) -> None:
    make(verbs, config_map("a"))
    verbs.delete(CONFIG_MAP, "a", "default", dry_run=True)

    assert verbs.get(CONFIG_MAP, "a", "default") is not None


def test_replica_sets_follow_their_deployment(verbs: Verbs) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m", "image": "i:1"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    owner = verbs.create(DEPLOYMENT, {"metadata": {"name": "d"}, "spec": spec}, "default")
    verbs.create(POD, pod("p", ownerReferences=[reference(owner)]), "default")
    verbs.delete(DEPLOYMENT, "d", "default")
    verbs.collect()

    assert verbs.names(POD, "default") == []
