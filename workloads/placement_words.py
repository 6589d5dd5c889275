"""A placement preview in sentences, in the viewer's language. The numbers are those of `workloads.placement`."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.numerals import singular
from core.templatetags.quantities import number
from workloads.words import place_word

Json = Mapping[str, Any]

STATUS = {
    "now": "ok",
    "evicting": "wait",
    "releasing": "wait",
    "waiting": "wait",
    "never": "bad",
    "unknown": "off",
}


def headline(preview: Json) -> str:
    """The verdict in a sentence."""
    sentences = {
        "now": _("It would run now."),
        "evicting": _("It would run now, and others would have to make room."),
        "releasing": _("It would run as soon as pods that are ending are gone."),
        "waiting": _("It would wait until something else ends."),
        "never": _("It would never run in pool %(pool)s as the pool is.") % {"pool": preview["nodePool"]},
    }
    return sentences.get(preview["verdict"]) or why_unknown(preview)


def why_unknown(preview: Json) -> str:
    """Why nothing can be said."""
    sentences = {
        "NoQueue": _("The project has no quota on this node pool, so nothing of it is scheduled there."),
        "NoNodes": _("No node of this pool has been seen."),
        "SchedulerBlind": _("The cluster’s scheduler decides nothing now: it cannot read an object."),
        "NotRendered": _("The document cannot be rendered."),
        "NoReplicas": _("Nothing of it would run."),
        "TooManyPods": _("It wants more pods than a preview can place in time; the scheduler will take its own."),
    }
    sentence = sentences.get(preview.get("reason", ""), _("It cannot be said."))
    return f"{sentence} {preview['message']}" if preview.get("message") else sentence


def gang_line(gang: Json) -> str:
    """What becomes of one gang."""
    words = {"n": number(gang["pods"]), "placed": number(gang["placed"]), "gpus": number(gang["gpus"])}
    if gang["waitsFor"] and not gang["placed"]:
        return _("starts after %(gang)s") % {"gang": gang["waitsFor"]}
    if gang["placed"] == gang["pods"]:
        line = ngettext("its %(n)s pod placed, %(gpus)s GPUs", "all %(n)s pods placed, %(gpus)s GPUs", gang["pods"])
        return singular(line % words)
    if gang["placed"]:
        return _("%(placed)s of %(n)s pods placed; the others wait") % words
    line = ngettext(
        "its %(n)s pod not placed, %(gpus)s GPUs asked", "none of %(n)s pods placed, %(gpus)s GPUs asked", gang["pods"]
    )
    return singular(line % words)


def level_line(level: Json) -> str:
    """Level reached against level asked."""
    words = {
        "reached": place_word(level["reached"]),
        "domain": level["domain"].rpartition(".")[2],
        "asked": place_word(level["preferred"] or level["required"]),
    }
    if not level["reached"]:
        return _("shares no %(asked)s") % words if level["equal"] else _("wants one %(asked)s") % words
    if level["kept"]:
        line = _("one %(reached)s, as asked: %(domain)s") % words
    else:
        line = _("one %(reached)s (%(domain)s), though one %(asked)s was preferred") % words
    if level["equal"] > 1:
        equal = ngettext("one of %(n)d that are equally good", "one of %(n)d that are equally good", level["equal"])
        line = f"{line}; {equal % {'n': level['equal']}}"
    return line


def victim_line(victim: Json) -> str:
    """Who goes for it."""
    count = victim["pods"]
    pods = ngettext("%(n)s pod", "%(n)s pods", count) % {"n": number(count)}
    if victim["moved"] == count:
        line = _("%(who)s: %(pods)s would move to other nodes")
    else:
        line = {
            "Preempt": _("%(who)s: %(pods)s would go, of a lower priority in the same queue"),
            "Reclaim": _("%(who)s: %(pods)s would go, since its queue holds more than its share"),
        }.get(victim["action"], _("%(who)s: %(pods)s would go"))
    return line % {"pods": pods, "who": holder_name(victim)}


def room_line(holders: Sequence[Json]) -> str:
    """Whose end makes room."""
    names = ", ".join(holder_name(holder) for holder in holders[:3])
    more = len(holders) - 3
    if more > 0:
        names = ngettext("%(names)s and %(n)d more", "%(names)s and %(n)d more", more) % {"names": names, "n": more}
    held = number(sum(holder["gpus"] for holder in holders))
    return singular(_("when %(names)s ends (%(gpus)s GPUs)") % {"names": names, "gpus": held})


def holder_name(holder: Json) -> str:
    """The name of a running gang, or that it is another project's."""
    return holder["name"] or _("a workload of another project")


def alternative_line(found: Json) -> str:
    """What would run now."""
    word = place_word if found["change"] in ("preferred", "broader") else str
    words = {
        "role": found["role"],
        "before": word(found["before"]),
        "after": word(found["after"]),
        "fewer": _fewer(found),
    }
    text = {
        "preferred": _("%(after)s preferred instead of required"),
        "broader": _("one %(after)s instead of one %(before)s"),
        "preemptible": _("preemptible, so that it may go over the quota"),
        "pool": _("pool %(after)s instead of %(before)s"),
        "replicas": _("%(fewer)s replicas fewer of %(role)s (%(after)s)"),
        "gpus": _("%(fewer)s GPUs fewer per pod of %(role)s (%(after)s)"),
    }[found["change"]] % words
    where = {"level": place_word(found["level"]), "domain": found["domain"].rpartition(".")[2]}
    place = _("in %(level)s %(domain)s") % where if found["domain"] else ""
    runs = _("runs now")
    return singular(f"{text}: {runs} {place}".rstrip())


def room_line_after(left: Sequence[Json]) -> str:
    """The largest gang that one domain can still take, level by level."""
    parts = [
        _("%(gpus)s GPUs in one %(level)s") % {"gpus": number(each["gpus"]), "level": place_word(each["level"])}
        for each in left
        if each["level"]
    ]
    return singular(_("Free afterwards at most: %(parts)s.") % {"parts": ", ".join(parts)}) if parts else ""


def unknown_lines(preview: Json) -> list[str]:
    """What the data cannot tell."""
    sentences = {
        "otherPods": _("CPU and memory of pods that belong to no queue are not known."),
        "schedulerFlags": _("Settings on the scheduler’s command line are not known."),
        "podLabels": _("Some pods mind labels of other pods that are not kept."),
        "stale": _("The cluster is not heard at the moment."),
    }
    codes = [code.partition(":") for code in preview.get("unknown", ())]
    found = [sentences[kind] for kind, _colon, plural in codes if not plural and kind in sentences]
    unread = ", ".join(plural for _kind, _colon, plural in codes if plural)
    return [*found, _("These lists could not be read: %(kinds)s.") % {"kinds": unread}] if unread else found


def _fewer(found: Json) -> str:
    before, after = found["before"], found["after"]
    return number(int(before) - int(after)) if before.isdigit() and after.isdigit() else ""
