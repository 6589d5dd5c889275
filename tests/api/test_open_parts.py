"""What reconcilers store of a workload, and what a wait answers, is of the shape that openapi.yaml declares."""

from decimal import Decimal

import msgspec
import pytest

from controlplane.api_docs import document
from controlplane.api_objects import KINDS
from workloads.api.shapes import RoleProgress, Standing, WaitingReason
from workloads.progress import Placement, Role
from workloads.verdicts import Reason, read_texts


@pytest.mark.parametrize(
    ("stored", "shape"),
    [
        (Role("prefill", "worker", Decimal("0.5"), 4, 3, 2).as_dict(), RoleProgress),
        (Placement("loosened", "rack", ("r1",), ("n1",), ("n2",)).as_dict(), Standing),
        (Placement().as_dict(), Standing),
        ({}, Standing),  # before its first reconcile
        (Reason("OverLimit", {"queue": "q"}, ("words",)).as_dict(), WaitingReason),
        ({"code": "Refused", "arguments": {"message": "no"}}, WaitingReason),
        ({}, WaitingReason),
    ],
)
def test_what_a_reconciler_stores_is_of_its_shape(stored, shape):
    assert msgspec.to_builtins(msgspec.convert(stored, shape)) == stored


def test_what_the_scheduler_says_is_of_its_shape():
    reason = read_texts(["Unable to schedule podgroup: 0/18 nodes are available: 18 node(s) didn't have enough GPUs."])
    assert reason is not None
    assert msgspec.convert(reason.as_dict(), WaitingReason).words == list(reason.words)


def test_no_part_of_a_workload_is_an_open_object():
    schemas = document()["components"]["schemas"]
    parts = schemas["AdditionalFields"]["properties"]
    assert parts["placement"] == {"$ref": "#/components/schemas/Standing"}
    assert parts["waitingReason"] == {"$ref": "#/components/schemas/WaitingReason"}
    assert parts["roles"]["items"] == {"$ref": "#/components/schemas/RoleProgress"}


@pytest.mark.parametrize("name", KINDS)
def test_a_wait_answers_the_object_in_its_own_shape_or_that_it_is_deleted(name):
    place, _finder, shape = KINDS[name]
    (path,) = (path for path in document()["paths"] if path.startswith(f"/api/v1/{place}/") and path.endswith("/wait"))
    content = document()["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
    names = [shape.__name__, "Accepted"]
    assert content["schema"] == {"oneOf": [{"$ref": f"#/components/schemas/{each}"} for each in names]}
