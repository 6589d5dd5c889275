"""The simulator and a real server answer the same random operations alike, and are left in the same state.

`python -m tests.contract.differential` compares 20,000 of them; these are the first ones.
"""

import pytest

from tests.contract.client import Api
from tests.contract.differential import differences, drawn

OPERATIONS = 1500


def test_the_same_seed_draws_the_same_operations() -> None:
    assert drawn(100, 1) == drawn(100, 1)
    assert drawn(100, 1) != drawn(100, 2)


@pytest.mark.cluster
def test_both_servers_answer_alike(simulator_api: Api, real_api: Api) -> None:
    played = drawn(OPERATIONS, 1)
    assert sum(map(len, played)) >= OPERATIONS

    found = list(differences(simulator_api, real_api, played))

    assert not found, "\n".join(map(str, found[:3]))
