"""An impact in words, as components/findings.html draws it; and carrying what was shown from the page to the save."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core import signing
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.numerals import singular
from core.templatetags.quantities import number
from topology.impact_growth import grown
from topology.impact_names import Shown
from topology.wording import short_key

MAX_AGE = 24 * 3600
MOST_NAMED = 5

Item = dict[str, Any]
Entry = Mapping[str, Any]


def impact_items(shown: Shown) -> list[Item]:
    """One finding per effect, worst first, each with the workloads that it hits; then queues, then what is unknown."""
    items = [
        _effect_item(effect, entries)
        for effect in _EFFECTS
        if (entries := [entry for entry in shown["workloads"] if entry["effect"] == effect])
    ]
    items += _queue_items(shown["queues"])
    if shown.get("nodesOutside"):
        items.append(_outside_item(shown["nodesOutside"]))
    if shown["moreWorkloads"] or shown["unchecked"]:
        hidden = shown["moreWorkloads"] + shown["unchecked"]
        text = ngettext(
            "%(n)s more workload was not looked at one by one.",
            "%(n)s more workloads were not looked at one by one.",
            hidden,
        )
        items.append({"status": "info", "text": text % {"n": number(hidden)}, "detail": ""})
    if items and shown.get("whenAsked"):
        text = _("Nothing happens at once. If the project asks for all GPUs that it is to deserve:")
        items.insert(0, {"status": "info", "text": text, "detail": ""})
    if items and "stale" in shown["unknown"]:
        text = _("What is known of the cluster is old: the effects may differ.")
        items.append({"status": "wait", "text": text, "detail": ""})
    return items


def _outside_item(nodes: Sequence[str]) -> Item:
    text = ngettext(
        "%(n)s node lies outside the topology: nothing that it places lands there",
        "%(n)s nodes lie outside the topology: nothing that it places lands there",
        len(nodes),
    )
    return {"status": "wait", "text": text % {"n": number(len(nodes))}, "detail": _list(list(nodes))}


def _effect_item(effect: str, entries: Sequence[Entry]) -> Item:
    status, say = _EFFECTS[effect]
    count = _count(entries)
    words = {"n": number(count), "gpus": number(sum(entry["gpus"] for entry in entries))}
    return {"status": status, "text": singular(say(count) % words), "detail": _list(list(map(_named, entries)))}


def _count(entries: Sequence[Entry]) -> int:
    """Workloads: one that loses gangs to several others stands here several times. Hidden ones are counted each."""
    named = {(entry["project"], entry["name"], entry["pool"]) for entry in entries if entry["name"]}
    return len(named) + sum(not entry["name"] for entry in entries)


def _named(entry: Entry) -> str:
    words = {
        "name": entry["name"] or _("another project"),
        "project": entry["project"] or "",
        "gpus": number(entry["gpus"]),
    }
    text = _("%(name)s of %(project)s, %(gpus)s GPUs") if entry["project"] else _("%(name)s, %(gpus)s GPUs")
    text = singular(text % words)
    if entry.get("levels"):
        levels = ", ".join(map(short_key, entry["levels"]))
        text = _("{workload} (topology {topology}: {levels})").format(
            workload=text, topology=entry["topology"], levels=levels
        )
    if entry.get("for"):
        text = _("{workload}, for {other}").format(workload=text, other=entry["for"]["name"] or _("another project"))
    return text


def _list(texts: list[str]) -> str:
    named = "; ".join(texts[:MOST_NAMED])
    more = len(texts) - MOST_NAMED
    if more > 0:
        named = _("{first}; {rest}").format(
            first=named, rest=ngettext("and %(n)s more", "and %(n)s more", more) % {"n": more}
        )
    return named


def _queue_items(queues: Sequence[Entry]) -> list[Item]:
    over = [entry for entry in queues if entry["after"] == "over" and entry["before"] != "over"]
    under = [entry for entry in queues if entry["after"] == "under" and entry["before"] != "under"]
    better = [entry for entry in queues if entry["before"] in ("over", "under") and entry["after"] == "within"]
    # A queue that goes and holds nothing has no share afterwards: that is no news.
    queues = [entry for entry in queues if entry["fairShareAfter"] is not None or entry["held"]]
    other = [entry for entry in queues if entry not in over and entry not in under and entry not in better]
    groups = (
        (over, "wait", _("Above their fair share from now on: what they hold above it can be reclaimed")),
        (under, "wait", _("Below their fair share until what they ask for runs")),
        (better, "ok", _("Within their fair share from now on")),
        (other, "info", _("Other fair shares")),
    )
    return [
        {"status": status, "text": text, "detail": _list(list(map(_share, entries)))}
        for entries, status, text in groups
        if entries
    ]


def _share(entry: Entry) -> str:
    words = {
        "name": entry["name"] or _("another project"),
        "pool": entry["pool"],
        "before": number(entry["fairShareBefore"]),
        "after": number(entry["fairShareAfter"]),
        "held": number(entry["held"]),
    }
    return _("%(name)s on node pool %(pool)s: fair share %(before)s → %(after)s GPUs, holds %(held)s") % words


Say = Callable[[int], str]
_EFFECTS: Mapping[str, tuple[str, Say]] = {
    "reclaimed": (
        "bad",
        lambda n: ngettext(
            "%(n)s workload would lose pods to others who wait: %(gpus)s GPUs",
            "%(n)s workloads would lose pods to others who wait: %(gpus)s GPUs",
            n,
        ),
    ),
    "loses-nodes": (
        "bad",
        lambda n: ngettext(
            "%(n)s workload has pods on nodes that go: %(gpus)s GPUs",
            "%(n)s workloads have pods on nodes that go: %(gpus)s GPUs",
            n,
        ),
    ),
    "queue-gone": (
        "bad",
        lambda n: ngettext(
            "%(n)s workload would lose its queue and never start again: %(gpus)s GPUs",
            "%(n)s workloads would lose their queue and never start again: %(gpus)s GPUs",
            n,
        ),
    ),
    "ends": (
        "bad",
        lambda n: ngettext("%(n)s workload would end: %(gpus)s GPUs", "%(n)s workloads would end: %(gpus)s GPUs", n),
    ),
    "stops-fitting": (
        "bad",
        lambda n: ngettext(
            "%(n)s workload could not be started any more: %(gpus)s GPUs",
            "%(n)s workloads could not be started any more: %(gpus)s GPUs",
            n,
        ),
    ),
    "loses-constraint": (
        "wait",
        lambda n: ngettext(
            "%(n)s workload would lose its placement constraint when started again: %(gpus)s GPUs",
            "%(n)s workloads would lose their placement constraint when started again: %(gpus)s GPUs",
            n,
        ),
    ),
    "changes-constraint": (
        "wait",
        lambda n: ngettext(
            "%(n)s workload would get another placement constraint when started again: %(gpus)s GPUs",
            "%(n)s workloads would get another placement constraint when started again: %(gpus)s GPUs",
            n,
        ),
    ),
    "gains-constraint": (
        "info",
        lambda n: ngettext(
            "%(n)s workload would get a placement constraint when started again: %(gpus)s GPUs",
            "%(n)s workloads would get a placement constraint when started again: %(gpus)s GPUs",
            n,
        ),
    ),
    "starts": (
        "ok",
        lambda n: ngettext(
            "%(n)s workload that waits would start: %(gpus)s GPUs",
            "%(n)s workloads that wait would start: %(gpus)s GPUs",
            n,
        ),
    ),
}


def hits_of(shown: Shown) -> list[Item]:
    """The same as lines of a confirmation (components/confirm.html)."""
    icons = {"bad": "triangle-alert", "wait": "clock", "info": "info", "ok": "circle-check"}
    return [
        {
            "text": f"{item['text']} – {item['detail']}" if item["detail"] else item["text"],
            "icon": icons[item["status"]],
            "harmless": item["status"] == "ok",
        }
        for item in impact_items(shown)
    ]


def impact_sentence(shown: Any) -> str:
    """The impact that an audit entry keeps, in one line; "" for what is none."""
    if not isinstance(shown, Mapping) or not {"workloads", "queues", "moreWorkloads", "unchecked"} <= shown.keys():
        return ""
    return "; ".join(line["text"] for line in hits_of({"unknown": (), **shown}))


def sealed(request: HttpRequest, row: Model, shown: Shown) -> str:
    """What was shown to this person of this row, signed, for the hidden field `impact`: the audit entry keeps it."""
    return signing.dumps(shown, salt=_salt(request, row), compress=True)


def opened(request: HttpRequest, row: Model) -> Shown | None:
    """What `sealed` made, sent back; None where it is missing, altered, older than a day, or of another row."""
    try:
        found = signing.loads(request.POST.get("impact", ""), salt=_salt(request, row), max_age=MAX_AGE)
    except signing.BadSignature:
        return None
    return found if isinstance(found, dict) else None


def was_shown(request: HttpRequest, row: Model, shown: Shown) -> bool:
    """Whether the person has seen all that the act would do now; where it grew since, they are asked again."""
    return not grown(opened(request, row), shown)


def grew() -> Item:
    """The finding that stands above effects which are shown for the second time."""
    text = _("What this would do has grown since it was shown: look at it again.")
    return {"status": "wait", "text": text, "detail": ""}


def _salt(request: HttpRequest, row: Model) -> str:
    return f"topology.impact:{request.user.pk}:{row._meta.label}:{row.pk}"
