"""Server-side apply: ownership, conflicts in kube's words, what is removed, merge keys."""

from clusters.kinds import CONFIG_MAP, DEPLOYMENT, KAI_QUEUE, NODE, SERVICE
from simulator.api.fieldsets import difference, intersection, paths, union
from simulator.api.schema import FREE_FORM
from simulator.api.structured import compare, fields_of
from simulator.client import Object
from tests.simulator.api.conftest import Verbs


def queue(gpu: Object, **spec: object) -> Object:
    return {"metadata": {"name": "ssa"}, "spec": {"resources": {"gpu": gpu}, **spec}}


def deployment(*containers: Object) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": list(containers)}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"metadata": {"name": "d", "namespace": "default"}, "spec": spec}


def managers(body: Object) -> dict[tuple[str, str], list[str]]:
    entries = body["metadata"]["managedFields"]
    return {(entry["manager"], entry["operation"]): list(paths(entry["fieldsV1"])) for entry in entries}


def test_an_apply_creates_and_owns_what_it_names(verbs: Verbs) -> None:
    made = verbs.apply(KAI_QUEUE, queue({"quota": 1, "limit": -1}), "a")

    assert managers(made) == {
        ("a", "Apply"): [".spec.resources.gpu.limit", ".spec.resources.gpu.quota"],
    }
    assert made["metadata"]["managedFields"][0]["apiVersion"] == "scheduling.run.ai/v2"


def test_a_conflict_names_manager_and_field(verbs: Verbs) -> None:
    verbs.apply(KAI_QUEUE, queue({"quota": 1}), "a")
    error = verbs.refused(verbs.apply, KAI_QUEUE, queue({"quota": 2}), "b")

    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == 'Apply failed with 1 conflict: conflict with "a": .spec.resources.gpu.quota'
    assert error.details["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "a"', "field": ".spec.resources.gpu.quota"}
    ]


def test_a_conflict_with_an_update_says_its_version(verbs: Verbs) -> None:
    verbs.create(CONFIG_MAP, {"metadata": {"name": "c"}, "data": {"x": "1"}}, "default", field_manager="kubectl")
    body = {"metadata": {"name": "c", "namespace": "default"}, "data": {"x": "2"}}
    error = verbs.refused(verbs.apply, CONFIG_MAP, body, "muster")

    assert error.message == 'Apply failed with 1 conflict: conflict with "kubectl" using v1: .data.x'


def test_several_conflicts_are_listed_by_manager(verbs: Verbs) -> None:
    verbs.apply(KAI_QUEUE, queue({"quota": 1, "limit": 2}), "a")
    verbs.apply(KAI_QUEUE, queue({"overQuotaWeight": 3}), "b")
    wanted = queue({"quota": 5, "limit": 5, "overQuotaWeight": 5})
    error = verbs.refused(verbs.apply, KAI_QUEUE, wanted, "c")

    assert error.message == (
        'Apply failed with 3 conflicts: conflicts with "a":\n'
        "- .spec.resources.gpu.limit\n"
        "- .spec.resources.gpu.quota\n"
        'conflicts with "b":\n'
        "- .spec.resources.gpu.overQuotaWeight"
    )


def test_equal_values_are_shared_and_then_both_conflict(verbs: Verbs) -> None:
    verbs.apply(KAI_QUEUE, queue({"quota": 1}), "a")
    verbs.apply(KAI_QUEUE, queue({"quota": 1}), "b")
    error = verbs.refused(verbs.apply, KAI_QUEUE, queue({"quota": 3}), "a")

    assert error.message == 'Apply failed with 1 conflict: conflict with "b": .spec.resources.gpu.quota'


def test_force_takes_the_field_over(verbs: Verbs) -> None:
    verbs.apply(KAI_QUEUE, queue({"quota": 1, "limit": 2}), "a")
    taken = verbs.apply(KAI_QUEUE, queue({"quota": 5}), "b", force=True)

    assert taken["spec"]["resources"]["gpu"] == {"quota": 5, "limit": 2}
    assert managers(taken) == {
        ("a", "Apply"): [".spec.resources.gpu.limit"],
        ("b", "Apply"): [".spec.resources.gpu.quota"],
    }


def test_a_field_no_longer_applied_is_removed_unless_others_own_it(verbs: Verbs) -> None:
    verbs.apply(KAI_QUEUE, queue({"quota": 1, "limit": 2}, priority=7), "a")
    verbs.apply(KAI_QUEUE, queue({"limit": 2}), "b")
    left = verbs.apply(KAI_QUEUE, queue({"quota": 1}), "a")

    assert left["spec"] == {"resources": {"gpu": {"quota": 1, "limit": 2}}}


def test_an_apply_of_the_same_writes_nothing(verbs: Verbs) -> None:
    first = verbs.apply(KAI_QUEUE, queue({"quota": 1}), "a")
    second = verbs.apply(KAI_QUEUE, queue({"quota": 1}), "a")

    assert second is first


def test_an_update_takes_the_fields_it_changes_and_leaves_the_others(verbs: Verbs) -> None:
    verbs.apply(KAI_QUEUE, queue({"quota": 1, "limit": 2}), "a")
    edited = verbs.patch(KAI_QUEUE, "ssa", {"spec": {"resources": {"gpu": {"quota": 9}}}}, field_manager="kubectl-edit")
    error = verbs.refused(verbs.apply, KAI_QUEUE, queue({"quota": 1, "limit": 2}), "a")

    assert managers(edited) == {
        ("a", "Apply"): [".spec.resources.gpu.limit"],
        ("kubectl-edit", "Update"): [".spec.resources.gpu.quota"],
    }
    assert error.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-edit" using scheduling.run.ai/v2: '
        ".spec.resources.gpu.quota"
    )


def test_lists_with_keys_merge_by_key(verbs: Verbs) -> None:
    env = [{"name": "A", "value": "1"}]
    verbs.apply(DEPLOYMENT, deployment({"name": "main", "image": "i:1", "env": env}), "a")
    side = deployment({"name": "side", "image": "s:1"})
    both = verbs.apply(DEPLOYMENT, side, "b")
    less = verbs.apply(DEPLOYMENT, deployment({"name": "main", "image": "i:1"}), "a")

    names = [item["name"] for item in both["spec"]["template"]["spec"]["containers"]]
    assert names == ["main", "side"]
    main, other = less["spec"]["template"]["spec"]["containers"]
    assert (main["name"], "env" in main) == ("main", False)
    assert other["image"] == "s:1"


def test_an_item_no_longer_applied_goes(verbs: Verbs) -> None:
    main, side = {"name": "main", "image": "i:1"}, {"name": "side", "image": "s:1"}
    verbs.apply(DEPLOYMENT, deployment(main, side), "a")
    left = verbs.apply(DEPLOYMENT, deployment(main), "a")

    assert [item["name"] for item in left["spec"]["template"]["spec"]["containers"]] == ["main"]


def test_a_conflict_inside_a_list_names_the_item(verbs: Verbs) -> None:
    verbs.apply(DEPLOYMENT, deployment({"name": "main", "image": "i:1"}), "a")
    error = verbs.refused(verbs.apply, DEPLOYMENT, deployment({"name": "main", "image": "i:2"}), "b")

    assert error.message == (
        'Apply failed with 1 conflict: conflict with "a": .spec.template.spec.containers[name="main"].image'
    )


def test_ports_merge_by_port_and_protocol(verbs: Verbs) -> None:
    def service(*ports: Object) -> Object:
        return {"metadata": {"name": "s", "namespace": "default"}, "spec": {"ports": list(ports)}}

    verbs.apply(SERVICE, service({"name": "a", "port": 80}), "a")
    both = verbs.apply(SERVICE, service({"name": "b", "port": 80, "protocol": "UDP"}), "b")

    assert [(item["name"], item["protocol"]) for item in both["spec"]["ports"]] == [("a", "TCP"), ("b", "UDP")]


def test_labels_of_several_managers_live_side_by_side(verbs: Verbs) -> None:
    verbs.create(NODE, {"metadata": {"name": "n", "labels": {"kept": "1"}}})
    verbs.apply(NODE, {"metadata": {"name": "n", "labels": {"pool": "a"}}}, "muster")
    gone = verbs.apply(NODE, {"metadata": {"name": "n"}}, "muster")

    assert gone["metadata"]["labels"] == {"kept": "1"}


def test_status_and_spec_are_applied_apart(verbs: Verbs) -> None:
    verbs.apply(KAI_QUEUE, {**queue({"quota": 1}), "status": {"childQueues": ["dropped"]}}, "a")
    body = {**queue({"quota": 99}), "status": {"childQueues": ["x"]}}
    written = verbs.apply(KAI_QUEUE, body, "controller", subresource="status")

    assert written["spec"]["resources"]["gpu"]["quota"] == 1
    assert written["status"] == {"childQueues": ["x"]}
    entry = next(item for item in written["metadata"]["managedFields"] if item["manager"] == "controller")
    assert entry["subresource"] == "status"


def test_an_undeclared_field_in_an_apply_is_500_without_a_reason(verbs: Verbs) -> None:
    error = verbs.refused(verbs.apply, KAI_QUEUE, queue({"quota": 1}, parent="x"), "a")

    assert (error.code, error.reason) == (500, "")
    assert error.message.startswith("failed to create typed patch object (")
    assert error.message.endswith("): .spec.parent: field not declared in schema")


def test_a_stale_version_or_another_uid_in_an_apply_is_refused(verbs: Verbs) -> None:
    verbs.apply(KAI_QUEUE, queue({"quota": 1}), "a")
    stale = {**queue({"quota": 2}), "metadata": {"name": "ssa", "resourceVersion": "1"}}
    other = {**queue({"quota": 2}), "metadata": {"name": "ssa", "uid": "x"}}
    absent = {**queue({"quota": 2}), "metadata": {"name": "never-made", "uid": "x"}}

    assert "the object has been modified" in verbs.refused(verbs.apply, KAI_QUEUE, stale, "a").message
    assert "metadata.uid: Invalid value" in verbs.refused(verbs.apply, KAI_QUEUE, other, "a").message
    assert (
        "uid mismatch: the provided object specified uid x"
        in verbs.refused(verbs.apply, KAI_QUEUE, absent, "a").message
    )
    assert verbs.get(KAI_QUEUE, "never-made") is None


def test_a_dry_run_conflicts_too(verbs: Verbs) -> None:
    verbs.apply(KAI_QUEUE, queue({"quota": 1}), "a")

    assert verbs.refused(verbs.apply, KAI_QUEUE, queue({"quota": 9}), "c", dry_run=True).code == 409


def test_field_sets() -> None:
    left = {"f:a": {}, "f:b": {"f:x": {}, "f:y": {}}}
    right = {"f:b": {"f:y": {}, "f:z": {}}}

    assert union(left, right) == {"f:a": {}, "f:b": {"f:x": {}, "f:y": {}, "f:z": {}}}
    assert difference(left, right) == {"f:a": {}, "f:b": {"f:x": {}}}
    assert intersection(left, right) == {"f:b": {"f:y": {}}}
    assert fields_of(FREE_FORM, {"a": {"b": 1}, "c": [1]}) == {"f:a": {".": {}, "f:b": {}}, "f:c": {}}
    assert compare(FREE_FORM, {"a": 1, "b": {"x": 1}}, {"a": 2, "b": {"y": 1}}) == (
        {"f:a": {}, "f:b": {"f:y": {}}},
        {"f:b": {"f:x": {}}},
    )
