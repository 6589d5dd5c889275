"""A diagnosis as one person is told it: sentences, evidence and links; the JSON of the API and the page's context."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from accounts.permissions import has_right
from core.moments import rfc3339
from core.numerals import singular
from core.templatetags.quantities import number
from scheduling.diagnosis_scene import Outcome
from scheduling.diagnosis_structs import Cause, Holder
from scheduling.remedy_structs import Act, Remedy, Step
from topology.models import NodePool
from workloads.diagnosis import MANY_WAITING, GroupDiagnosis, WorkloadDiagnosis, diagnose_workload
from workloads.diagnosis_names import Namer, keys_in
from workloads.diagnosis_outside import Finding
from workloads.diagnosis_sentences import RULED_OUT
from workloads.diagnosis_words import act_sentence, amount, arguments, cause_sentence, cause_title, unit_of
from workloads.models import Workload
from workloads.selectors import Person

Json = dict[str, Any]

MAX_LISTED = 12
_NODE_ACTS = (Act.UNCORDON, Act.UNTAINT, Act.LABEL_NODES, Act.REPAIR_NODES, Act.REPAIR_DEVICES)
_QUEUE_ACTS = (Act.RAISE_LIMIT, Act.RAISE_QUOTA, Act.MAKE_QUEUE, Act.MOVE_QUEUE)
_POOL_ACTS = (Act.ADD_NODES, Act.ADD_FIRST_NODES, Act.MAKE_SHARD)
_NO_PAGE = (
    Act.WAIT_FOR_PODS, Act.WAIT_FOR_GATES, Act.WAIT_UNTIL, Act.WAIT_FOR_OTHERS, Act.BREAK_CIRCLE, Act.LABEL_PODS,
    Act.REMOVE_QUEUES,
)  # fmt: skip


def told_to(user: Person, workload: Workload) -> Json:
    """The diagnosis of a workload as this person is told it now."""
    return tell(user, workload, diagnose_workload(workload, now=timezone.now()))


def tell(user: Person, workload: Workload, diagnosis: WorkloadDiagnosis) -> Json:
    """All of it, in the language of the moment. Names outside the person's scope are left out, counts stay."""
    namer = Namer(user, workload, _keys(diagnosis))
    causes = [_finding(each) for each in diagnosis.outside]
    seen: set[tuple[str, str]] = set()
    for group in diagnosis.groups:
        others = len(diagnosis.outside) + len(group.diagnosis.causes) - 1
        for cause in group.diagnosis.causes:
            told = _cause(namer, cause, others)
            if (told["code"], told["text"]) not in seen:
                seen.add((told["code"], told["text"]))
                causes.append(told)
    return {
        "workloadId": str(workload.pk),
        "state": diagnosis.state,
        "settling": diagnosis.settling,
        "observedAt": rfc3339(diagnosis.observed_at, "microseconds"),
        "verdict": _verdict(namer, diagnosis, causes),
        "causes": causes,
        "remedies": _remedies(namer, workload, diagnosis.groups),
        "otherPools": _other_pools(namer, diagnosis.groups),
        "ruledOut": list(dict.fromkeys(_ruled(each) for group in diagnosis.groups[:1] for each in group.ruled)),
        "schedulerWords": list(diagnosis.words),
        "notConsidered": list(diagnosis.unknown),
    }


def _keys(diagnosis: WorkloadDiagnosis) -> set[str]:
    keys: set[str] = set()
    for group in diagnosis.groups:
        outcome = group.diagnosis.outcome
        keys.update((*outcome.evicted, *outcome.moved) if outcome else ())
        for cause in group.diagnosis.causes:
            keys.update(holder.group for holder in cause.holders[:MAX_LISTED])
            keys.update(key for groups in cause.starts_when for key in groups)
            keys.update(keys_in(cause.names))
        for each in group.elsewhere:
            keys.update((*each.scene.outcome.evicted, *each.scene.outcome.moved) if each.scene.outcome else ())
            keys.update(key for cause in each.causes for key in keys_in(cause.names))
        for remedy in group.remedies:
            keys.update((*remedy.outcome.evicted, *remedy.outcome.moved))
            keys.update(key for step in remedy.steps for key in keys_in(step.names))
    return keys


def _verdict(namer: Namer, diagnosis: WorkloadDiagnosis, causes: Sequence[Json]) -> str:
    if causes:
        return str(causes[0]["text"])
    if diagnosis.state == "starts":
        outcome = diagnosis.groups[0].diagnosis.outcome
        where = _outcome(namer, outcome) if outcome else ""
        return _("Nothing is wrong: it fits, and the scheduler places it in its next cycles.") + f" {where}"
    if MANY_WAITING in diagnosis.unknown:
        return _("So many pods wait in its node pool that Muster has not worked out what this one waits for.")
    sentences = {
        "unknown": _("The cluster is not heard, so what is known of it may be old: no cause can be named."),
        "stopped": _("It is suspended, so it has no pods."),
        "runs": _("It runs."),
    }
    return sentences.get(diagnosis.state, _("Every pod has its node; containers are starting."))


def _finding(finding: Finding) -> Json:
    return {
        "code": finding.code,
        "permanent": finding.permanent,
        "title": cause_title(finding.code),
        "text": cause_sentence(finding.code, finding.names, finding.numbers),
        "names": dict(finding.names),
        "numbers": dict(finding.numbers),
        "words": list(finding.words),
        "nodes": [],
        "domains": [],
        "holders": [],
        "startsWhen": [],
    }


def _cause(namer: Namer, cause: Cause, others: int) -> Json:
    names = _masked(namer, cause.names, cause.numbers)
    unit = unit_of(cause.names)
    nodes = [
        {"name": namer.node(note.name).name, "note": note.note, "gpus": note.gpus} for note in cause.nodes[:MAX_LISTED]
    ]
    return {
        "code": str(cause.code),
        "permanent": cause.permanent,
        "title": cause_title(cause.code),
        "text": cause_sentence(cause.code, names, cause.numbers, others=others),
        "names": names,
        "numbers": dict(cause.numbers),
        "words": [],
        "nodes": nodes,
        "nodesInAll": len(cause.nodes),
        "domains": _domains(cause),
        "holders": [_holder(namer, holder, unit) for holder in cause.holders[:MAX_LISTED]],
        "startsWhen": [namer.groups(groups) for groups in cause.starts_when],
    }


def _masked(namer: Namer, names: Mapping[str, str], numbers: Mapping[str, float]) -> dict[str, str]:
    masked = dict(names)
    if names.get("subgroup"):
        masked["subgroup"] = re.sub(rf"^{re.escape(namer.graph)}-\d+-", "", names["subgroup"])
    if "groups" in names:
        masked["groups"] = namer.groups(keys_in(names), int(numbers.get("groups", 0)))
    if "queues" in names:
        masked["queues"] = namer.queues(names["queues"].split(", "))
    if names.get("node") and not namer.sees_nodes:
        masked["node"] = namer.node(names["node"]).name
    return masked


def _domains(cause: Cause) -> list[Json]:
    """Rows of the evidence, with bars in parts of a hundred of what is asked or of the largest domain."""
    asked = cause.numbers.get("asked", 0.0)
    most = max([asked, *(row.usable for row in cause.domains)], default=0.0) or 1.0
    return [
        {
            "name": row.name,
            "path": row.path,
            "usable": row.usable,
            "free": row.free,
            "held": row.usable - row.free,
            "notCounted": _not_counted(row),
            "heldPart": round(100 * (row.usable - row.free) / most),
            "usablePart": round(100 * row.usable / most),
            "askedPart": round(100 * asked / most),
        }
        for row in cause.domains[:MAX_LISTED]
    ]


def _not_counted(row: Any) -> str:
    parts = (
        (row.cordoned, ngettext("%(n)s node cordoned", "%(n)s nodes cordoned", int(row.cordoned))),
        (row.not_ready, ngettext("%(n)s node not ready", "%(n)s nodes not ready", int(row.not_ready))),
        (row.tainted, ngettext("%(n)s node tainted", "%(n)s nodes tainted", int(row.tainted))),
        (row.unmatched, ngettext("%(n)s node not selected", "%(n)s nodes not selected", int(row.unmatched))),
        (row.unhealthy, ngettext("%(n)s GPU unhealthy", "%(n)s GPUs unhealthy", int(row.unhealthy))),
    )
    return ", ".join(text % {"n": number(count)} for count, text in parts if count)


def _holder(namer: Namer, holder: Holder, unit: str) -> Json:
    named = namer.group(holder.group)
    return {
        "name": named.name,
        "url": named.url,
        "project": named.project,
        "amount": holder.amount,
        "amountText": amount(holder.amount, unit),
        "pods": holder.pods,
        "preemptible": holder.preemptible,
    }


def _remedies(namer: Namer, workload: Workload, groups: Sequence[GroupDiagnosis]) -> list[Json]:
    """Each once; with the gang that it lets run, where several wait."""
    told: list[Json] = []
    seen: set[tuple[str, ...]] = set()
    for group in groups:
        gang = _gang(group.key) if len(groups) > 1 else ""
        for each in group.remedies:
            made = _remedy(namer, workload, each) | {"gang": gang}
            texts = tuple(step["text"] for step in made["steps"])
            if texts not in seen:
                seen.add(texts)
                told.append(made)
    return told


def _other_pools(namer: Namer, groups: Sequence[GroupDiagnosis]) -> list[Json]:
    """What each other pool of the project has for the first gang: where it would stand, or why it would wait."""
    return [
        {
            "pool": each.pool or "default",
            "fits": each.scene.outcome is not None,
            "text": _outcome(namer, each.scene.outcome) if each.scene.outcome else _why(namer, each.causes),
        }
        for group in groups[:1]
        for each in group.elsewhere
    ]


def _why(namer: Namer, causes: Sequence[Cause]) -> str:
    return " ".join(_cause(namer, cause, len(causes) - 1)["text"] for cause in causes)


def _gang(key: str) -> str:
    """What a gang is called beside its graph's other ones: KAI's names are `pg-<gang>-<uid>`."""
    name = key.partition("/")[2]
    found = re.fullmatch(r"pg-(.+?)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", name)
    return found[1] if found else name


def _remedy(namer: Namer, workload: Workload, remedy: Remedy) -> Json:
    steps = [_step(namer, workload, step) for step in remedy.steps]
    return {"steps": steps, "outcome": _outcome(namer, remedy.outcome), "nodes": _counts(namer, remedy.outcome)}


def _step(namer: Namer, workload: Workload, step: Step) -> Json:
    names = _masked(namer, step.names, step.numbers)
    if step.nodes:
        names["nodeList"] = _listed([namer.node(note.name).name for note in step.nodes])
    return {
        "act": str(step.act),
        "text": act_sentence(step.act, names, step.numbers),
        "names": names,
        "numbers": dict(step.numbers),
        "url": _url(namer, workload, step),
    }


def _listed(names: Sequence[str]) -> str:
    shown, more = list(dict.fromkeys(names[:4])), len(names) - 4
    text = pgettext("between names in a list", ", ").join(shown)
    return text if more <= 0 else _("%(names)s and %(n)d more") % {"names": text, "n": more}


def _url(namer: Namer, workload: Workload, step: Step) -> str:
    """The page on which it is done, for those who may do it; "" where there is none."""
    url = ""
    if step.act in _NODE_ACTS:
        url = namer.node_url(step.nodes[0].name) if step.nodes else ""
    elif step.act in _QUEUE_ACTS:
        url = namer.queue_url(step.names.get("queue", ""))
    elif step.act in _POOL_ACTS:
        pool = NodePool.objects.visible_to(namer.user).filter(pk=workload.node_pool_id).first()
        url = reverse("topology:node-pool-detail", args=[pool.pk]) if pool else ""
    elif step.act in (Act.WAIT_FOR_END, Act.END):
        keys = keys_in(step.names)
        url = namer.group(keys[0]).url if keys else ""
    elif step.act not in _NO_PAGE and has_right(namer.user, "workloads:update", workload.scope):
        url = reverse("workloads:edit", args=[workload.pk])
    return url


def _outcome(namer: Namer, outcome: Outcome) -> str:
    """Where it stands then, and who goes for it."""
    hosts = sorted({name for name in outcome.nodes.values() if not name.startswith("new-")})
    pods = len(outcome.nodes)
    text = ngettext("Then %(n)s pod runs", "Then %(n)s pods run", pods) % {"n": number(pods)}
    if hosts and namer.sees_nodes:
        text = _("%(pods)s on %(nodes)s") % {"pods": text, "nodes": _listed(hosts)}
    if outcome.evicted:
        text += _("; ") + _("evicted for it: %(groups)s") % {"groups": namer.groups(outcome.evicted)}
    if outcome.moved:
        text += _("; ") + _("moved for it: %(groups)s") % {"groups": namer.groups(outcome.moved)}
    return text + pgettext("end of a sentence", ".")


def _counts(namer: Namer, outcome: Outcome) -> dict[str, int]:
    return dict(Counter(outcome.nodes.values())) if namer.sees_nodes else {}


def _ruled(ruled: tuple[str, Mapping[str, str], Mapping[str, float]]) -> str:
    code, names, numbers = ruled
    return singular(str(RULED_OUT[code]) % arguments(names, numbers))
