"""Random operations on both servers, compared: `python -m tests.contract.differential [OPERATIONS] [SEED]`.

20,000 operations unless told else. The same seed makes the same operations. Exit status 1 when an answer or an end
state differed; what differed is printed.
"""

import copy
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.cluster import binaries
from tests.contract import servers
from tests.contract.client import Api
from tests.contract.random_operations import Operation, play, sequences

OPERATIONS = 20_000
SHORTEST = 8
AT_ONCE = 4
END_STATES = ("config maps at the end", "widgets at the end")


@dataclass(frozen=True)
class Difference:
    """The first answer of a sequence that the simulator gave otherwise, and what was done before."""

    sequence: list[Operation]
    number: int
    simulator: Any
    real: Any

    def __str__(self) -> str:
        done = [*self.sequence, *END_STATES][: self.number + 1]
        lines = [f"after {len(done) - 1} operations:", *(f"  {one}" for one in done)]
        return "\n".join([*lines, f"simulator: {json.dumps(self.simulator)}", f"     real: {json.dumps(self.real)}"])


def drawn(operations: int, number: int) -> list[list[Operation]]:
    """Sequences of together at least so many operations, the same for the same seed."""
    found: list[list[Operation]] = []

    @seed(number)
    @settings(
        max_examples=operations // SHORTEST + 1,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences)
    def draw(sequence: list[Operation]) -> None:
        if sum(map(len, found)) < operations:
            found.append(sequence)

    draw()
    return found


def differences(simulator: Api, real: Api, played: list[list[Operation]]) -> Iterator[Difference]:
    """Play every sequence on both, some at a time, each in a namespace of its own."""

    def compare(sequence: list[Operation]) -> Difference | None:
        one, other = (play(copy.copy(api), sequence) for api in (simulator, real))
        pairs = enumerate(zip(one, other, strict=True))
        wrong = next(((number, pair) for number, pair in pairs if pair[0] != pair[1]), None)
        return None if wrong is None else Difference(sequence, wrong[0], *wrong[1])

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from (found for found in pool.map(compare, played) if found is not None)


@dataclass(frozen=True)
class Outcome:
    """What a whole run found, and how long the servers took."""

    operations: int
    sequences: int
    seconds: float
    found: list[Difference]


def compared(operations: int, number: int) -> Outcome:
    """Start both servers and play on them; differences are printed as they are found."""
    played, found = drawn(operations, number), list[Difference]()
    with servers.simulator() as simulator, servers.real() as (real, _):
        began = time.monotonic()
        for difference in differences(simulator, real, played):
            found.append(difference)
            print(difference, flush=True)
        seconds = time.monotonic() - began
    return Outcome(sum(map(len, played)), len(played), seconds, found)


def main() -> int:
    operations = int(sys.argv[1]) if len(sys.argv) > 1 else OPERATIONS
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    if absent := binaries.missing():
        print(f"Nothing was compared: {', '.join(absent)} are not built. Run make cluster first.")
        return 0
    done = compared(operations, number)
    print(
        f"{done.operations} operations in {done.sequences} sequences on both servers in {done.seconds:.0f} s: "
        f"{len(done.found)} differ"
    )
    return 1 if done.found else 0


if __name__ == "__main__":
    sys.exit(main())
