"""Everything below this folder needs the real cluster."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import binaries
from tests.cluster.installation import RealMuster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/cluster/" in str(item.path):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session", autouse=True)
def _built() -> None:
    if binaries.missing():
        pytest.skip("missing: the real cluster's binaries (make cluster)")


@pytest.fixture
def muster(tmp_path: Path) -> Iterator[RealMuster]:
    """`up --cluster real` on an empty fleet; KAI's pod grouper makes the pod groups."""
    installation = RealMuster(tmp_path, extra=("--cluster", "real"))
    try:
        installation.start()
        yield installation
    finally:
        if installation.process is not None:
            installation.stop()
