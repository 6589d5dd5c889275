"""KAI's words taken apart: from conditions, pod conditions and events to causes with numbers.

The texts are those of ``verdicts``; what is not recognised stays as a cause of kind OTHER with its text.
"""

import re
from collections.abc import Callable
from enum import StrEnum

import msgspec

from scheduling.structs import UNLIMITED


class CauseKind(StrEnum):
    """What keeps a gang from being placed."""

    OVER_LIMIT = "over-limit"
    OVER_QUOTA = "non-preemptible-over-quota"
    QUEUE_MISSING = "queue-missing"
    TOPOLOGY_MISSING = "topology-missing"
    LEVEL_UNSATISFIED = "level-unsatisfied"
    DOMAIN_FULL = "domain-full"
    DOMAIN_SHORT = "domain-short"
    GANG_SHORT = "gang-short"
    NODE_FIT = "node-fit"
    POD_TOO_LARGE = "pod-too-large"
    NO_SUCH_RESOURCE = "no-node-has-resource"
    PREEMPTION_DELAY = "preemption-delay"
    NOT_READY = "not-ready"
    GATED = "gated"
    SUBGROUP_UNKNOWN = "subgroup-unknown"
    UNEXPLAINED = "unexplained"
    """The scheduler gives no cause: wrong level name, level above required, parent used as a leaf."""
    OTHER = "other"


class NodeRefusal(msgspec.Struct, frozen=True):
    """How many nodes refused a pod for one reason; ``resource`` is set when they lacked one."""

    nodes: int
    text: str
    resource: str = ""


class Cause(msgspec.Struct, frozen=True):
    """One cause. Amounts are in the text's units: GPUs, CPU cores or GB; None where it says nothing."""

    kind: CauseKind
    text: str
    queue: str = ""
    resource: str = ""
    limit: float | None = None
    used: float | None = None
    requested: float | None = None
    topology: str = ""
    level: str = ""
    domain: str = ""
    subgroup: str = ""
    pod: str = ""
    found: int | None = None
    needed: int | None = None
    until: str = ""
    refusals: tuple[NodeRefusal, ...] = ()


def explain_text(text: str) -> Cause:
    """The cause in one text: a reason's message, a pod's condition or an event."""
    stripped = re.sub(r"^Node-Pool '[^']*': ", "", text)
    for pattern, build in _PATTERNS:
        match = pattern.search(stripped)
        if match:
            return build(stripped, match)
    if stripped.strip(". ") in ("Unable to schedule podgroup", "Unable to schedule pod", ""):
        return Cause(CauseKind.UNEXPLAINED, text)
    return Cause(CauseKind.OTHER, text)


def _amount(text: str) -> float:
    return UNLIMITED if text == "Unlimited" else float(text)


def _over_limit(text: str, match: re.Match[str]) -> Cause:
    queue, resource, limit, used, requested = match.groups()
    return Cause(
        CauseKind.OVER_LIMIT,
        text,
        queue=queue,
        resource=resource,
        limit=_amount(limit),
        used=_amount(used),
        requested=_amount(requested),
    )


def _over_quota(text: str, match: re.Match[str]) -> Cause:
    requested, resource, queue, quota, used = match.groups()
    return Cause(
        CauseKind.OVER_QUOTA,
        text,
        queue=queue,
        resource={"GB memory": "memory"}.get(resource, resource),
        limit=_amount(quota),
        used=_amount(used),
        requested=_amount(requested),
    )


def _level(text: str, match: re.Match[str]) -> Cause:
    topology, level, subgroup, place = match.groups()
    domain = place if place and place != "the cluster" else ""
    return Cause(
        CauseKind.LEVEL_UNSATISFIED,
        text,
        topology=topology,
        level=level,
        subgroup=subgroup or "",
        domain=domain,
    )


def _gang(text: str, match: re.Match[str]) -> Cause:
    found, needed = int(match["found"]), int(match["needed"])
    refusals = _refusals(text)
    subgroup = match.groupdict().get("subgroup") or ""
    return Cause(CauseKind.GANG_SHORT, text, found=found, needed=needed, subgroup=subgroup, refusals=refusals)


def _too_large(text: str, match: re.Match[str]) -> Cause:
    pod, resource, top = match["pod"], match["resource"], match["top"]
    asked = re.search(rf"{resource}: ([\d.]+)", text)
    return Cause(
        CauseKind.POD_TOO_LARGE,
        text,
        pod=pod,
        resource=resource,
        limit=_amount(top),
        requested=_amount(asked[1]) if asked else None,
    )


def _refusals(text: str) -> tuple[NodeRefusal, ...]:
    _, _, tail = text.rpartition("no nodes with enough resources were found: ")
    found = []
    for part in re.split(r"\. \n", tail.rstrip(".")):
        match = re.match(r"(\d+) (.*)", part, re.DOTALL)
        if match:
            resource = match[2].removeprefix("node(s) didn't have enough resources: ")
            lacks = resource if resource != match[2] else ""
            found.append(NodeRefusal(int(match[1]), match[2], lacks))
    return tuple(found)


Builder = Callable[[str, re.Match[str]], Cause]


def _simple(kind: CauseKind, *fields: str) -> Builder:
    return lambda text, match: msgspec.structs.replace(
        Cause(kind, text), **dict(zip(fields, match.groups(), strict=True))
    )


def _counted(kind: CauseKind) -> Builder:
    return lambda text, match: Cause(
        kind, text, domain=match["domain"] or "", found=int(match["found"]), needed=int(match["needed"])
    )


_PATTERNS: tuple[tuple[re.Pattern[str], Builder], ...] = tuple(
    (re.compile(pattern, re.DOTALL), build)
    for pattern, build in (
        (
            r"(\S+) quota has reached the allowable limit of (GPUs|CPU cores|memory)\. Limit is (\S+) \w+, "
            r"currently (\S+) \w+ allocated and workload requested (\S+) \w+",
            _over_limit,
        ),
        (
            r"Workload requested (\S+) (GPUs|CPU cores|GB memory), but (\S+) quota is (\S+) \w+, "
            r"while (\S+) \w+ are already allocated for non-preemptible pods",
            _over_quota,
        ),
        (r"Queue '([^']*)' does not exist", _simple(CauseKind.QUEUE_MISSING, "queue")),
        (r"Requested topology (\S+) does not exist", _simple(CauseKind.TOPOLOGY_MISSING, "topology")),
        (
            r"topology (\S+), requirement (\S*) couldn't be satisfied for job <(?:[^<>]|<[^<>]*>)*>"
            r"(?:, subgroup (\S+?))?(?:: not enough resources in (.+?) to allocate the job.*)?\.*$",
            _level,
        ),
        (
            r"node-group (?P<domain>\S+) can allocate only (?P<found>\d+) of (?P<needed>\d+) required pods",
            _counted(CauseKind.DOMAIN_FULL),
        ),
        (
            r"node-group\(s\) didn't have enough resources: ([\w ]+)",
            _simple(CauseKind.DOMAIN_SHORT, "resource"),
        ),
        (
            r"The pod (?P<pod>\S+) requires .*?Max (?P<resource>\w+) resources available in a single node in "
            r"the \S+ node-pool is topped at (?P<top>[\d.]+?)(?: \w+)?\.?(?:\n|$)",
            _too_large,
        ),
        (
            r"The pod (\S+) requires .*?No node in the \S+ node-pool has (\w+) resources",
            _simple(CauseKind.NO_SUCH_RESOURCE, "pod", "resource"),
        ),
        (
            r"Resources were found for (?P<found>\d+) pods from all sub-groups while sub-group "
            r"(?P<subgroup>\S+) requires (?P<needed>\d+) pods",
            _gang,
        ),
        (
            r"Resources were found for (?P<found>\d+) pods while (?P<needed>\d+) are required",
            _gang,
        ),
        (
            r"Resources were not found for pod (\S+) due to",
            lambda text, match: Cause(CauseKind.NODE_FIT, text, pod=match[1], refusals=_refusals(text)),
        ),
        (
            r"no nodes with enough resources were found",
            lambda text, _: Cause(CauseKind.NODE_FIT, text, refusals=_refusals(text)),
        ),
        (
            r"preemption delay window \(\S+\) and may not trigger evictions before (\S+)",
            _simple(CauseKind.PREEMPTION_DELAY, "until"),
        ),
        (
            r"Waiting for (?P<needed>\d+) pods(?: for SubGroup (?P<domain>[^,]+))?, "
            r"currently (?P<found>\d+) exist",
            lambda text, match: Cause(
                CauseKind.NOT_READY,
                text,
                subgroup=match["domain"] or "",
                found=int(match["found"]),
                needed=int(match["needed"]),
            ),
        ),
        (r"blocked due to non-empty scheduling gates", _simple(CauseKind.GATED)),
        (
            r'Pod references subgroup "([^"]*)", which does not exist',
            _simple(CauseKind.SUBGROUP_UNKNOWN, "subgroup"),
        ),
    )
)
