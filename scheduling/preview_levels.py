"""Which level the pods of a (sub)group reach, and how many domains of it are as good."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from scheduling.domains import Capacity, DomainTree, same_kind, tree_of
from scheduling.gangs import tasks_to_place
from scheduling.preview_structs import Gang, LevelReached
from scheduling.session import Session
from scheduling.structs import Pod, TopologyConstraint

AS_FULL = 1e-9

Before = Mapping[str, tuple[DomainTree, Capacity, NDArray[np.float64], int]]
"""By (sub)group: the tree, what its domains had free, what was asked in sum, and of how many pods."""


def constraints_of(gang: Gang) -> Iterator[tuple[str, TopologyConstraint]]:
    """The (sub)groups of a gang that have a constraint; "" names the gang itself."""
    if gang.group.topology.topology:
        yield "", gang.group.topology
    for subgroup in gang.group.subgroups:
        if subgroup.topology.topology:
            yield subgroup.name, subgroup.topology


def pods_below(gang: Gang, name: str) -> list[Pod]:
    """The pods of a (sub)group and of those inside it; "" is the whole gang."""
    if not name:
        return list(gang.pods)
    names, grown = {name}, True
    while grown:
        inner = {each.name for each in gang.group.subgroups if each.parent in names} - names
        names, grown = names | inner, bool(inner)
    return [pod for pod in gang.pods if pod.subgroup in names]


def room_before(session: Session, gang: Gang) -> Before:
    """What the domains have free before the gang is placed."""
    found = {}
    job = session.jobs[gang.group.key]
    asked = {task.key: task.request for task in tasks_to_place(job, real=True)}
    for name, constraint in constraints_of(gang):
        topology = next((each for each in session.snapshot.topologies if each.name == constraint.topology), None)
        requests = [asked[pod.key] for pod in pods_below(gang, name) if pod.key in asked]
        if topology is None or not requests:
            continue
        tree, stacked = tree_of(topology, session.nodes), np.stack(requests)
        capacity = Capacity(tree, session.nodes, (0, 0))
        if same_kind(stacked):
            capacity.count_pods(stacked.max(axis=0), len(requests))
        found[name] = (tree, capacity, stacked.sum(axis=0), len(requests))
    return found


def levels_of(session: Session, gang: Gang, placed: Mapping[str, str], before: Before) -> tuple[LevelReached, ...]:
    """Asked and reached, for each constrained (sub)group of which something is placed."""
    found = []
    for name, constraint in constraints_of(gang):
        rows = [session.nodes.row[placed[pod.key]] for pod in pods_below(gang, name) if pod.key in placed]
        if name not in before or not rows:
            found.append(
                LevelReached(name, constraint.topology, constraint.required, constraint.preferred, equal=0, kept=False)
            )
            continue
        tree, capacity, request, count = before[name]
        depth, code = _shared(tree, rows)
        wanted = [tree.depth(tree.level(level)) for level in (constraint.required, constraint.preferred) if level]
        found.append(
            LevelReached(
                subgroup=name,
                topology=constraint.topology,
                required=tree.level(constraint.required),
                preferred=tree.level(constraint.preferred),
                reached=tree.labels[depth] if depth else "",
                domain=tree.ids[depth][code] if depth else "",
                equal=_equal(capacity, depth, code, request, count) if depth else 1,
                kept=all(each is not None and depth >= each for each in wanted),
            )
        )
    return tuple(found)


def _shared(tree: DomainTree, rows: list[int]) -> tuple[int, int]:
    """The narrowest domain that holds all rows."""
    found = (0, 0)
    for depth in range(1, len(tree.labels)):
        codes = set(tree.codes[depth][rows].tolist())
        if len(codes) > 1 or -1 in codes:
            break
        found = (depth, codes.pop())
    return found


def _equal(capacity: Capacity, depth: int, code: int, request: NDArray[np.float64], count: int) -> int:
    """Domains of the level that had the same fill and room for as many pods; the one taken among them."""
    ratios = capacity.ratios(depth, request)
    alike = np.abs(ratios - ratios[code]) <= AS_FULL
    if capacity.pods is not None:
        alike &= capacity.pods[depth] >= count
    return max(int(alike.sum()), 1)
