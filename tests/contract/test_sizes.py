"""How large a request may be."""

import base64

from tests.contract.client import MERGE, Answer, Api
from tests.contract.steps import config, widget

LIMIT = 3 * 1024 * 1024
MOST_DATA = 1024 * 1024


def test_a_body_beyond_three_mebibytes_is_too_large(api: Api) -> None:
    api.post("configmaps", config("a"))
    beyond = b'{"metadata":{"annotations":{"x":"' + b"x" * LIMIT + b'"}}}'

    for answer in (
        api.call("POST", "configmaps", beyond),
        api.call("PUT", "configmaps/a", beyond),
        api.call("PATCH", "configmaps/a", beyond, type=MERGE),
    ):
        assert answer.code == (413, "RequestEntityTooLarge")
        assert answer.message == f"Request entity too large: limit is {LIMIT}"


def test_an_object_of_a_mebibyte_is_taken(api: Api) -> None:
    body = widget("large", free={"text": "x" * 1_000_000})

    assert api.post("widgets/widgets", body).status == 201
    assert len(api.get("widgets/widgets/large").body["spec"]["free"]["text"]) == 1_000_000


def test_an_object_that_etcd_does_not_hold_is_refused_in_its_words(api: Api) -> None:
    refused = {
        1_600_000: "etcdserver: request is too large",
        2_500_000: "rpc error: code = ResourceExhausted desc = trying to send message larger than max (",
    }
    api.post("widgets/widgets", widget("grows"))

    for size, words in refused.items():
        large = {"free": {"text": "x" * size}}
        for answer in (
            api.post("widgets/widgets", widget("large", **large)),
            api.merge("widgets/widgets/grows", {"spec": large}),
        ):
            assert answer.code == (500, "")
            assert answer.message.startswith(words)

    assert api.get("widgets/widgets/large").status == 404
    assert "free" not in api.get("widgets/widgets/grows").body["spec"]


def test_the_data_of_a_secret_is_counted_decoded(api: Api) -> None:
    def put(name: str, size: int) -> Answer:
        data = {"a": base64.b64encode(b"x" * size).decode()}
        return api.post("secrets", {"metadata": {"name": name}, "data": data})

    assert put("whole", MOST_DATA).status == 201
    answer = put("beyond", MOST_DATA + 1)

    assert answer.code == (422, "Invalid")
    assert answer.message.endswith(f"Too long: may not be more than {MOST_DATA} bytes")


def test_a_json_patch_has_at_most_ten_thousand_operations(api: Api) -> None:
    api.post("configmaps", config("a"))
    step = {"op": "add", "path": "/data", "value": {"x": "1"}}

    assert api.json_patch("configmaps/a", [step] * 10_000).status == 200
    answer = api.json_patch("configmaps/a", [step] * 10_001)

    assert answer.code == (413, "RequestEntityTooLarge")
    assert answer.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )
