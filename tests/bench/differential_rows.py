"""The simulator beside a real API server: 20,000 random operations on both, every answer compared."""

from tests.bench.measuring import Row
from tests.cluster import binaries
from tests.contract.differential import OPERATIONS, compared

WHAT = f"{OPERATIONS:,} random operations on the simulator and a real API server"
BAR = "0 answers differ"


def differential_rows() -> list[Row]:
    """One row; nothing is decided where the real server's binaries are not built (`make cluster`)."""
    if binaries.missing():
        return [Row("Contract", WHAT, "", "not measured: the real API server is not built", "", BAR, None)]
    done = compared(OPERATIONS, 1)
    told = f"{done.operations:,} in {done.seconds:.0f} s, {len(done.found)} differ"
    return [Row("Contract", WHAT, "", told, "", BAR, not done.found)]
