"""How much room a level has for a gang, from a domain tree: which level is short, by how many GPUs. Pure."""

from dataclasses import dataclass
from decimal import Decimal

from topology.tree import Domain, Tree
from workloads.verdicts import Reason


@dataclass(frozen=True, slots=True)
class Need:
    """What is asked of one domain: GPUs in all, and the largest pod."""

    gpus: Decimal
    largest_pod: Decimal


@dataclass(frozen=True, slots=True)
class LevelRoom:
    """A level's domain with the most usable GPUs and the one with the most free ones."""

    level: str
    largest: Decimal
    largest_domain: str
    free: Decimal
    free_domain: str


def level_room(tree: Tree, level: str, inside: frozenset[str] = frozenset()) -> LevelRoom | None:
    """The room at `level`; an empty level is the whole pool. None where the tree has no domain there. `inside`: only
    domains that hold one of these nodes, since part of the gang stands there already."""
    depth = tree.levels.index(level) if level else -1
    domains = [
        domain for domain in tree.root.walk() if domain.level == depth and (not inside or _holds(domain, inside))
    ]
    if not domains:
        return None
    largest = max(domains, key=_usable)
    freest = max(domains, key=lambda domain: domain.gpus.free)
    return LevelRoom(level, _usable(largest), largest.value, freest.gpus.free, freest.value)


def shortage(
    tree: Tree, level: str, need: Need, words: tuple[str, ...] = (), inside: frozenset[str] = frozenset()
) -> Reason | None:
    """Why a gang does not fit into one domain of `level`: for good (LevelTooSmall, PoolTooSmall), for now
    (LevelFull, PoolFull), or in spite of enough GPUs (LevelFragmented, PoolFragmented). None: it cannot be said."""
    room = level_room(tree, level, inside)
    if room is None:
        return Reason("LevelEmpty", {"level": level}, words) if level else None
    where = "Level" if level else "Pool"
    arguments = {
        "level": level,
        "asked": _text(need.gpus),
        "largest": _text(room.largest),
        "largestDomain": room.largest_domain,
        "free": _text(room.free),
        "freeDomain": room.free_domain,
        "largestPod": _text(need.largest_pod),
    }
    if need.gpus > room.largest and not inside:
        return Reason(f"{where}TooSmall", {**arguments, "short": _text(need.gpus - room.largest)}, words)
    if need.gpus > room.free:
        return Reason(f"{where}Full", {**arguments, "short": _text(need.gpus - room.free)}, words)
    return Reason(f"{where}Fragmented", arguments, words)


def _holds(domain: Domain, names: frozenset[str]) -> bool:
    return any(node.name in names for inner in domain.walk() if not inner.children for node in inner.nodes)


def _usable(domain: Domain) -> Decimal:
    """GPUs that could ever be free: without unhealthy ones and those of cordoned nodes."""
    return Decimal(domain.gpus.total) - domain.gpus.unhealthy - domain.gpus.cordoned


def _text(amount: Decimal) -> str:
    return f"{amount.normalize():f}"
