"""What else would run now: smaller roles, looser placement, another pool. Each is tried by the engine before it is
offered, as the document that somebody would submit.
"""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.utils import timezone

from core.errors import InvalidInput
from organizations.models import Quota
from topology.models import NodePool
from workloads.checks import Submission
from workloads.editing import Fields, RoleFields, changes_of, fields_of
from workloads.graph import parse_graph
from workloads.models import Preemptibility
from workloads.placement import Json, placement_preview, render, surroundings_of
from workloads.placement_gangs import Surroundings
from workloads.placement_shards import prepared_shard

MOST_TRIED = 24
MOST_OFFERED = 6


@dataclass(frozen=True, slots=True)
class Change:
    """One thing changed. `field` and `value` are those of the submission form; `role`, `before` and `after` say it."""

    code: str
    field: str
    value: str
    fields: Fields
    role: str = ""
    before: str = ""
    after: str = ""
    pool: NodePool | None = None


def _alternatives_of(submission: Submission, now: datetime) -> list[Json]:
    """Changes after which it would run now, at most one of each kind and role. At most `MOST_TRIED` are tried."""
    around = surroundings_of(submission.project.cluster)
    offered: list[Json] = []
    kinds: set[tuple[str, str]] = set()
    for tried, change in enumerate(_changes(submission)):
        if tried >= MOST_TRIED or len(offered) >= MOST_OFFERED:
            break
        if (change.code, change.role) in kinds:
            continue
        found = _outcome(submission, change, around, now)
        if found is not None:
            kinds.add((change.code, change.role))
            offered.append(found)
    return offered


def _outcome(submission: Submission, change: Change, around: Surroundings, now: datetime) -> Json | None:
    """What a change leads to; None where it does not run now either."""
    try:
        changed = _changed(submission, change)
        rendered = render(changed, around, now=now)
    except InvalidInput:
        return None
    if rendered is None:
        return None
    _, prepared = prepared_shard(changed.project.cluster, changed.pool.shard, now=now)
    if not prepared.fits(rendered.gangs):
        return None
    levels = prepared.preview(rendered.gangs).gangs[0].levels
    return {
        "change": change.code,
        "field": change.field,
        "value": change.value,
        "role": change.role,
        "before": change.before,
        "after": change.after,
        "level": levels[0].reached if levels else "",
        "domain": levels[0].domain if levels else "",
    }


def _changed(submission: Submission, change: Change) -> Submission:
    """The submission with its document edited. Raises `InvalidInput`."""
    document = _edited(submission.document, changes_of(submission.document, change.fields))
    return replace(submission, document=document, graph=parse_graph(document), pool=change.pool or submission.pool)


def _edited(document: Mapping[str, Any], edits: Mapping[tuple[str | int, ...], Any]) -> dict[str, Any]:
    """A copy with values set at these paths, None taking one away: as `workloads.document.edit`, without the text."""
    changed = copy.deepcopy(dict(document))
    for path, value in edits.items():
        inner: Any = changed
        for key in path[:-1]:
            if isinstance(key, str) and not isinstance(inner.get(key), dict | list):
                inner[key] = {}
            inner = inner[key]
        if value is None:
            inner.pop(path[-1], None)
        else:
            inner[path[-1]] = value
    return changed


def _changes(submission: Submission) -> Iterator[Change]:
    """In the order of preference: the same workload placed otherwise, then a smaller one."""
    fields = fields_of(submission.document)
    yield from _looser(submission, fields)
    yield from _preemptible(fields)
    yield from _other_pools(submission, fields)
    for index, role in enumerate(fields.roles):
        yield from _smaller(fields, index, role)


def _looser(submission: Submission, fields: Fields) -> Iterator[Change]:
    """The required level as a preference, then a broader one required."""
    if not fields.required:
        return
    wanted = replace(fields, required="", preferred=fields.preferred or fields.required)
    yield Change("preferred", "required_level", "", wanted, before=fields.required, after=wanted.preferred)
    levels = submission.levels
    position = levels.index(fields.required) if fields.required in levels else 0
    for level in reversed(levels[:position]):
        wanted = replace(fields, required=level)
        yield Change("broader", "required_level", level, wanted, before=fields.required, after=level)


def _preemptible(fields: Fields) -> Iterator[Change]:
    """It may go over the quota once it can be evicted."""
    if fields.preemptibility != Preemptibility.PREEMPTIBLE:
        value = str(Preemptibility.PREEMPTIBLE.value)
        yield Change("preemptible", "preemptibility", value, replace(fields, preemptibility=value), after=value)


def _other_pools(submission: Submission, fields: Fields) -> Iterator[Change]:
    """Pools on which the project has a queue and that have the level that is required; a preferred one that their
    topology lacks is left out."""
    quotas = Quota.objects.filter(project=submission.project).exclude(node_pool=submission.pool)
    for quota in quotas.select_related("node_pool__network_topology").order_by("node_pool__name"):
        pool = quota.node_pool
        levels = pool.network_topology.levels if pool.network_topology else []
        if fields.required and fields.required not in levels:
            continue
        preferred = fields.preferred if fields.preferred in levels else ""
        topology = pool.network_topology.name if pool.network_topology and (fields.required or preferred) else ""
        wanted = replace(
            fields,
            node_pool=pool.shard,
            preferred=preferred,
            topology=topology,
            queue=quota.queue_name,
        )
        before = submission.pool.name
        yield Change("pool", "node_pool", pool.name, wanted, before=before, after=pool.name, pool=pool)


def _smaller(fields: Fields, index: int, role: RoleFields) -> Iterator[Change]:
    """Fewer replicas, then fewer GPUs each: by one, by two, half, one."""
    for code, field, now in (("replicas", "replicas", role.replicas), ("gpus", "gpus", role.gpus)):
        if not now.isdigit() or int(now) < 2 or not role.gpus.isdigit() or int(role.gpus) == 0:
            continue
        count = int(now)
        for fewer in sorted({count - 1, count - 2, count // 2, 1} - {0, count}, reverse=True):
            roles = list(fields.roles)
            roles[index] = replace(role, **{field: str(fewer)})
            wanted = replace(fields, roles=tuple(roles))
            name = f"role-{index}-{field}"
            yield Change(code, name, str(fewer), wanted, role=role.name, before=now, after=str(fewer))


def full_preview(user: Any, submission: Submission) -> Json:
    """`placement_preview` with what else would run now, where it would not run now as it is: what page, API and dry
    run answer."""
    now = timezone.now()
    preview = placement_preview(user, submission, now=now)
    wanted = preview["verdict"] in ("waiting", "never", "evicting", "releasing")
    return preview | {"alternatives": _alternatives_of(submission, now) if wanted else []}
