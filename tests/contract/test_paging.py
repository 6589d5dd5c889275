"""Long lists: pages of one version, what happens between two of them, exact and unexact versions."""

from typing import Any

import pytest

from tests.contract.client import Api
from tests.contract.steps import config, labelled


@pytest.fixture
def seven(api: Api) -> Api:
    for name in "abcdefg":
        api.post("configmaps", labelled(name, of="seven"))
    return api


def _page(api: Api, **query: Any) -> Any:
    answer = api.get("configmaps", labelSelector="of=seven", **query)
    assert answer.status == 200, answer.body
    return answer.body


def _names(body: Any) -> str:
    return "".join(item["metadata"]["name"] for item in body["items"])


def test_pages_are_in_order_and_of_one_version(seven: Api) -> None:
    first = _page(seven, limit=3)
    second = _page(seven, limit=3, **{"continue": first["metadata"]["continue"]})
    third = _page(seven, limit=3, **{"continue": second["metadata"]["continue"]})

    assert (_names(first), _names(second), _names(third)) == ("abc", "def", "g")
    assert len({body["metadata"]["resourceVersion"] for body in (first, second, third)}) == 1
    assert "continue" not in third["metadata"]


def test_what_happens_between_two_pages_is_not_seen(seven: Api) -> None:
    first = _page(seven, limit=3)
    seven.delete("configmaps/f")
    seven.post("configmaps", labelled("ee", of="seven"))
    seven.merge("configmaps/e", {"data": {"x": "new"}})

    second = _page(seven, limit=10, **{"continue": first["metadata"]["continue"]})

    assert _names(second) == "defg"
    assert "data" not in second["items"][1]


def test_a_page_that_holds_all_has_no_token(seven: Api) -> None:
    for limit in (8, 0):
        assert "continue" not in _page(seven, limit=limit)["metadata"]


def test_a_token_is_not_taken_with_a_version(seven: Api) -> None:
    token = _page(seven, limit=3)["metadata"]["continue"]

    answer = seven.get("configmaps", **{"continue": token, "resourceVersion": "5", "limit": 3})

    assert answer.code == (400, "BadRequest")
    assert answer.message == "specifying resource version is not allowed when using continue"


def test_an_exact_version_is_that_version(seven: Api) -> None:
    then = _page(seven)["metadata"]["resourceVersion"]
    seven.delete("configmaps/a")

    past = _page(seven, resourceVersion=then, resourceVersionMatch="Exact")

    assert _names(past) == "abcdefg"
    assert past["metadata"]["resourceVersion"] == then
    assert _names(_page(seven, resourceVersion=then, resourceVersionMatch="NotOlderThan")) in ("abcdefg", "bcdefg")


def test_a_list_without_a_version_is_never_old(seven: Api) -> None:
    for number in range(20):
        seven.merge("configmaps/a", {"data": {"n": str(number)}})
        (live, *_) = _page(seven)["items"]
        assert live["data"] == {"n": str(number)}


def test_a_list_is_of_a_version_not_before_its_objects(seven: Api) -> None:
    body = _page(seven)
    newest = max(int(item["metadata"]["resourceVersion"]) for item in body["items"])

    assert int(body["metadata"]["resourceVersion"]) >= newest


def test_a_version_from_the_future_is_waited_for_and_then_refused(api: Api) -> None:
    api.post("configmaps", config("a"))
    now = int(api.get("configmaps").meta["resourceVersion"])

    answer = api.get("configmaps", resourceVersion=now + 100_000)

    assert answer.code == (504, "Timeout")
    assert (
        answer.message == f"Timeout: Too large resource version: {now + 100_000}, current: {_current(answer.message)}"
    )
    assert answer.body["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert answer.body["details"]["retryAfterSeconds"] == 1


def _current(message: str) -> str:
    return message.rpartition(" ")[2]


def test_all_namespaces_in_one_list_are_in_order_of_namespace_and_name(api: Api) -> None:
    for name in ("b", "a"):
        api.post("configmaps", labelled(name, all=api.ns))

    items = api.get("/api/v1/configmaps", labelSelector=f"all={api.ns}").body["items"]

    assert [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in items] == [
        (api.ns, "a"),
        (api.ns, "b"),
    ]
