"""Stored conditions in sentences."""

import pytest

from topology.wording import condition_item, worst_sentence


@pytest.mark.parametrize(("retry", "said"), [("yes", "It will be tried again."), ("no", "Trying again will not help.")])
def test_a_failed_reconcile_says_whether_it_is_tried_again(retry: str, said: str) -> None:
    condition = {
        "type": "Synced",
        "status": "False",
        "reason": "Unavailable",
        "message": "The API server does not answer",
        "arguments": {"retry": retry},
    }

    item = condition_item(condition)

    assert (item["status"], item["text"]) == ("bad", f"The API server does not answer. {said}")
    assert item["detail"] == ""
    assert worst_sentence([condition]) == item["text"]
