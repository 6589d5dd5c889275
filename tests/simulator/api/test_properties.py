"""Properties over random inputs: the past of a collection, sets of fields, patches and applies."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.api.fieldsets import difference, intersection, paths, union
from simulator.api.managed import Manager, apply, record_update
from simulator.api.patching import merge_patch
from simulator.api.schema import FREE_FORM
from simulator.api.store import Store, keys_between
from simulator.api.structured import compare, fields_of
from simulator.client import Object

NAME = ("", "things")
NAMES = st.sampled_from(["a", "b", "c", "d"])
LEAVES = st.integers(0, 2) | st.booleans() | st.text("xy", max_size=2) | st.lists(st.integers(0, 1), max_size=2)
TREES = st.recursive(
    st.dictionaries(NAMES, LEAVES, max_size=3), lambda below: st.dictionaries(NAMES, below, max_size=3), max_leaves=8
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["put", "remove"]), NAMES, st.sampled_from(["n1", "n2"])), max_size=30))
def test_every_version_of_a_collection_can_be_read_again(steps: list[tuple[str, str, str]]) -> None:
    store = Store()
    collection = store.collection(NAME)
    seen = {store.resource_version: dict(collection.entries)}
    for number, (step, name, namespace) in enumerate(steps):
        key = (namespace, name)
        if step == "put":
            store.put(NAME, key, {"metadata": {"name": name, "uid": f"{namespace}{name}"}, "n": number})
        elif key in collection.entries:
            store.remove(NAME, key)
        seen[store.resource_version] = dict(collection.entries)
        assert collection.order == sorted(collection.entries)

    for version, expected in seen.items():
        entries, order = collection.at(version)
        assert entries == expected
        assert order == sorted(expected)
        assert keys_between(order, "n1", None) == [key for key in order if key[0] == "n1"]


@settings(max_examples=100, deadline=None)
@given(TREES, TREES)
def test_sets_of_fields_are_sets(left: Object, right: Object) -> None:
    a, b = fields_of(FREE_FORM, left), fields_of(FREE_FORM, right)
    listed_a, listed_b = set(paths(a)), set(paths(b))

    assert set(paths(union(a, b))) == listed_a | listed_b
    assert set(paths(difference(a, b))) == listed_a - listed_b
    assert set(paths(intersection(a, b))) == listed_a & listed_b


@settings(max_examples=100, deadline=None)
@given(TREES, TREES)
def test_changes_are_empty_only_for_equal_values(old: Object, new: Object) -> None:
    changed, removed = compare(FREE_FORM, old, new)

    same = old == new and repr(old) == repr(new)
    if same:
        assert (changed, removed) == ({}, {})
    if not changed and not removed:
        assert old == new


@settings(max_examples=100, deadline=None)
@given(TREES, TREES)
def test_a_merge_patch_made_of_the_difference_leads_to_the_target(old: Object, new: Object) -> None:
    def patch(before: Any, after: Any) -> Any:
        if not isinstance(before, dict) or not isinstance(after, dict):
            return after
        steps = {key: None for key in before if key not in after}
        steps.update({key: patch(before.get(key), value) for key, value in after.items()})
        return steps

    assert merge_patch(old, patch(old, new)) == new


def thing(spec: Any, managed: list[Object] | None = None) -> Object:
    metadata: Object = {"name": "t"}
    if managed:
        metadata["managedFields"] = managed
    return {"apiVersion": "v1", "kind": "Thing", "metadata": metadata, "spec": spec}


@settings(max_examples=100, deadline=None)
@given(TREES, TREES)
def test_one_appliers_object_is_what_it_last_applied(first: Object, second: Object) -> None:
    manager = Manager("a", "Apply", "v1", "")
    once = apply(FREE_FORM, None, thing(first), manager, "t1", force=False)
    twice = apply(FREE_FORM, thing(once.merged["spec"], once.managed), thing(second), manager, "t2", force=False)

    wanted = fields_of(FREE_FORM, second)
    assert set(paths(wanted)) <= set(paths(fields_of(FREE_FORM, twice.merged.get("spec") or {}))) | {""}
    for path in paths(fields_of(FREE_FORM, twice.merged.get("spec") or {})):
        assert path in set(paths(wanted))


@settings(max_examples=100, deadline=None)
@given(TREES, TREES)
def test_no_field_has_two_updaters(first: Object, second: Object) -> None:
    old = thing(first)
    old["metadata"]["managedFields"] = record_update(FREE_FORM, None, old, Manager("a", "Update", "v1", ""), "t1")
    entries = record_update(FREE_FORM, old, thing(second), Manager("b", "Update", "v1", ""), "t2")
    owned = [set(paths(entry["fieldsV1"])) for entry in entries]

    assert len(set().union(*owned)) == sum(len(one) for one in owned)
