"""The simulator and a real server answer the same random operations alike, and are left in the same state.

MUSTER_DIFFERENTIAL_OPERATIONS says how many; `python -m tests.contract.differential` runs 20,000 of them.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.contract.client import Api
from tests.contract.random_operations import Operation, play, sequences

SHORTEST = 8
OPERATIONS = int(os.environ.get("MUSTER_DIFFERENTIAL_OPERATIONS", "1500"))


_compared = 0


@pytest.fixture(scope="module", autouse=True)
def _all_compared() -> Iterator[None]:
    """Sequences are short and long: at least as many operations were compared as were asked for."""
    yield
    print(f"{_compared} operations compared")
    assert _compared >= OPERATIONS


@pytest.mark.cluster
@settings(
    max_examples=max(1, OPERATIONS // SHORTEST),
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
@given(sequence=sequences)
def test_both_servers_answer_alike(simulator_api: Api, real_api: Api, sequence: list[Operation]) -> None:
    global _compared  # noqa: PLW0603
    if _compared >= OPERATIONS:
        return
    _compared += len(sequence)
    for operation, one, other in zip(
        [*sequence, "configmaps", "widgets"], play(simulator_api, sequence), play(real_api, sequence), strict=True
    ):
        assert one == other, operation
