"""Names of the queues of departments and projects, and the shape of a tree of queues. Pure.

KRM's names: `<owner>` for the default pool, `<owner>-<pool>` else, at most 63 characters. Queues share one name space
per cluster, so a taken name gets a suffix that depends on nothing but kind, owner and pool.
"""

import hashlib
from collections.abc import Collection, Mapping

from clusters.names import DEFAULT_NODE_POOL

LENGTH = 63


def queue_name(kind: str, owner: str, pool: str, taken: Collection[str]) -> str:
    """The name of the queue of a `department` or `project` on a pool, none of `taken`."""
    plain = owner if pool == DEFAULT_NODE_POOL else f"{owner}-{pool}"
    if len(plain) <= LENGTH and plain not in taken:
        return plain
    attempt = 0
    while True:
        seed = f"{kind}/{owner}/{pool}" + (f"/{attempt}" if attempt else "")
        suffix = hashlib.sha256(seed.encode()).hexdigest()[:8]
        name = f"{plain[: LENGTH - 9].rstrip('-')}-{suffix}"
        if name not in taken:
            return name
        attempt += 1


def parent_cycles(parents: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """Cycles among queues (`name → parent`), each from its least name on, in order of names.

    A waiting pod in such a queue hangs KAI's whole scheduler (golden/SURPRISES.md §1.7).
    """
    cycles: set[tuple[str, ...]] = set()
    done: set[str] = set()
    for start in parents:
        chain: list[str] = []
        name = start
        while name and name not in done and name not in chain:
            chain.append(name)
            name = parents.get(name, "")
        if name in chain:
            cycle = chain[chain.index(name) :]
            least = cycle.index(min(cycle))
            cycles.add(tuple(cycle[least:] + cycle[:least]))
        done.update(chain)
    return tuple(sorted(cycles))


def makes_cycle(name: str, parent: str, parents: Mapping[str, str]) -> bool:
    """Whether writing `name` below `parent` would close a cycle among the queues that are there."""
    seen: set[str] = set()
    above = parent
    while above and above not in seen:
        if above == name:
            return True
        seen.add(above)
        above = parents.get(above, "")
    return False
