"""Who owns a field when managedFields were emptied, rewritten, or have too many entries."""

from typing import Any

from tests.contract.client import Api
from tests.contract.steps import config, widget


def _managers(body: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted((entry["manager"], entry["operation"]) for entry in body["metadata"].get("managedFields") or [])


def test_an_object_whose_owners_were_emptied_has_none_by_updates(api: Api) -> None:
    api.post("configmaps", config("a", x="1"), fieldManager="writer")

    emptied = api.merge("configmaps/a", {"metadata": {"managedFields": [{}]}}, fieldManager="writer")
    changed = api.merge("configmaps/a", {"data": {"x": "2"}}, fieldManager="writer")

    assert _managers(emptied.body) == _managers(changed.body) == []


def test_the_first_apply_to_it_says_what_was_there_before(api: Api) -> None:
    api.post("configmaps", config("a", x="1", y="1"), fieldManager="writer")
    api.merge("configmaps/a", {"metadata": {"managedFields": []}})

    applied = api.apply("configmaps/a", config("a", x="1"), "applier")
    refused = api.apply("configmaps/a", config("a", y="2"), "applier")

    assert _managers(applied.body) == [("applier", "Apply"), ("before-first-apply", "Update")]
    assert refused.message == 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.y'


def test_owners_that_an_update_brings_are_taken_and_unreadable_ones_are_not(api: Api) -> None:
    made = api.post("configmaps", config("a", x="1"), fieldManager="writer").body
    (entry,) = made["metadata"]["managedFields"]

    def put(**changed: Any) -> list[tuple[str, str]]:
        live = api.get("configmaps/a").body
        live["metadata"]["managedFields"] = [entry | changed]
        return _managers(api.put("configmaps/a", live, fieldManager="third").body)

    assert put(manager="renamed") == [("renamed", "Update")]
    assert put(manager="other", operation="Nothing") == [("renamed", "Update")]
    assert put(manager="other", fieldsType="FieldsV9") == [("renamed", "Update")]


def test_at_most_ten_updaters_are_told_apart(api: Api) -> None:
    api.post("configmaps", config("a", k0="1"), fieldManager="m00")
    for number in range(1, 13):
        api.merge("configmaps/a", {"data": {f"k{number}": "1"}}, fieldManager=f"m{number:02}")

    managers = _managers(api.get("configmaps/a").body)

    assert len(managers) == 10
    assert ("ancient-changes", "Update") in managers
    assert ("m12", "Update") in managers
    assert ("m00", "Update") not in managers


def test_a_status_write_owns_the_labels_it_brought_though_they_are_not_kept(api: Api) -> None:
    api.post("widgets/widgets", widget(), fieldManager="writer")

    body = {"metadata": {"labels": {"l": "1"}}, "status": {"phase": "Ready"}}
    answer = api.merge("widgets/widgets/w/status", body, fieldManager="controller")

    assert "labels" not in answer.meta
    owned = {entry["manager"]: entry["fieldsV1"] for entry in answer.meta["managedFields"]}
    assert owned["controller"] == {
        "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
        "f:status": {".": {}, "f:phase": {}},
    }


def test_an_apply_that_changes_nothing_changes_no_version(api: Api) -> None:
    first = api.apply("widgets/widgets/w", widget(parts=[{"name": "p"}]))
    again = api.apply("widgets/widgets/w", widget(parts=[{"name": "p"}]))

    assert first.meta["resourceVersion"] == again.meta["resourceVersion"]
