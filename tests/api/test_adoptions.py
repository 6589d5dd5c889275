"""Objects of others over the API: what is asked for is named, in a dry run too. Taking over: tests/clusters."""

import pytest


@pytest.mark.parametrize("query", ["", "?dryRun=true"])
@pytest.mark.parametrize("field", ["adopt", "release"])
def test_an_object_that_is_not_there_is_named(send, world, field, query):
    answer = send("POST", f"/api/v1/clusters/{world.cluster.pk}/adoptions{query}", {field: ["no-such-uid"]})

    assert (answer.status_code, answer.json()["faults"][0]["field"]) == (400, field)
    assert "no-such-uid" in answer.json()["details"]


def test_a_cluster_without_objects_of_others_has_empty_lists(api, world):
    path = f"/api/v1/clusters/{world.cluster.pk}/adoptions"
    assert api.get(path).json() == {"candidates": [], "adoptions": []}
