"""`python -m tests.contract.differential [OPERATIONS]`: random operations on both servers, 20,000 unless told else.

Exit status 1 when an answer or an end state differed.
"""

import os
import sys
import time
from pathlib import Path

import pytest

OPERATIONS = 20_000


def main() -> int:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else OPERATIONS
    os.environ["MUSTER_DIFFERENTIAL_OPERATIONS"] = str(wanted)
    began = time.monotonic()
    status = pytest.main(["-q", "-s", "-p", "no:randomly", str(Path(__file__).with_name("test_differential.py"))])
    print(f"{time.monotonic() - began:.0f} s for at least {wanted} operations on both servers")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
