"""Says in the viewer's language what codes and numbers mean: why something waits, what a condition tells."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.numerals import singular
from topology.wording import short_key
from workloads.diagnosis_sentences import CAUSES

Arguments = Mapping[str, str]

# Code → (at most 32 characters for lists, one sentence for the page). The names in them are the code's arguments.
REASONS: Mapping[str, tuple[str | Promise, str | Promise]] = {
    "LevelTooSmall": (
        gettext_lazy("%(asked)s in one %(place)s; largest is %(largest)s"),
        gettext_lazy(
            "It asks for %(asked)s GPUs inside one %(place)s. The largest %(place)s of the pool, %(largestDomain)s, has"
            " %(largest)s: %(short)s short. It can never start as written, however many GPUs become free."
        ),
    ),
    "LevelFull": (
        gettext_lazy("%(asked)s in one %(place)s; %(free)s are free"),
        gettext_lazy(
            "It asks for %(asked)s GPUs inside one %(place)s. The %(place)s with most free GPUs, %(freeDomain)s, has"
            " %(free)s: %(short)s short for now. It starts when that many become free in one %(place)s."
        ),
    ),
    "LevelFragmented": (
        gettext_lazy("free GPUs of a %(place)s are in pieces"),
        gettext_lazy(
            "It asks for %(asked)s GPUs inside one %(place)s, and %(freeDomain)s has %(free)s free, but not in pieces"
            " that hold its pods of up to %(largestPod)s GPUs."
        ),
    ),
    "LevelEmpty": (
        gettext_lazy("no node has the label of the level"),
        gettext_lazy("It asks for one %(place)s, and no node of the pool carries all labels of the topology."),
    ),
    "PoolTooSmall": (
        gettext_lazy("%(asked)s GPUs; the pool has %(largest)s"),
        gettext_lazy(
            "It asks for %(asked)s GPUs and the whole node pool has %(largest)s that can be used: %(short)s short."
        ),
    ),
    "PoolFull": (
        gettext_lazy("%(asked)s GPUs; %(free)s are free"),
        gettext_lazy("It asks for %(asked)s GPUs and %(free)s of the node pool are free: %(short)s short for now."),
    ),
    "PoolFragmented": (
        gettext_lazy("free GPUs are in pieces"),
        gettext_lazy(
            "%(free)s GPUs of the pool are free, but no set of nodes holds all its pods of up to %(largestPod)s GPUs."
        ),
    ),
    "OverLimit": (
        gettext_lazy("over the limit of %(limit)s"),
        gettext_lazy(
            "The limit of queue %(queue)s is %(limit)s %(resource)s, %(allocated)s are held and it asks for"
            " %(requested)s."
        ),
    ),
    "NonPreemptibleOverQuota": (
        gettext_lazy("not preemptible: %(limit)s deserved"),
        gettext_lazy(
            "It is not preemptible, so it must fit what queue %(queue)s deserves: %(limit)s %(resource)s, of which"
            " %(allocated)s are taken by others that are not preemptible; it asks for %(requested)s."
        ),
    ),
    "QueueDoesNotExist": (
        gettext_lazy("its queue is missing"),
        gettext_lazy(
            "Queue %(queue)s does not exist for the scheduler of its node pool: it is missing, or it belongs to"
            " another pool."
        ),
    ),
    "TopologyDoesNotExist": (
        gettext_lazy("its topology is missing"),
        gettext_lazy("The cluster has no topology %(topology)s, so nothing that names it can be placed."),
    ),
    "TopologyUnsatisfied": (
        gettext_lazy("no domain of its level fits"),
        gettext_lazy("No domain of topology %(topology)s fits the gang."),
    ),
    "PodTooLarge": (
        gettext_lazy("a pod of %(requested)s; nodes have %(limit)s"),
        gettext_lazy(
            "One pod asks for %(requested)s %(resource)s and the largest node of the pool has %(limit)s: it can never"
            " start."
        ),
    ),
    "NoGpuNode": (
        gettext_lazy("no node has what it asks for"),
        gettext_lazy("No node of its pool has any %(resource)s."),
    ),
    "SubGroupUnknown": (
        gettext_lazy("a pod is in no known subgroup"),
        gettext_lazy("A pod names the subgroup %(subgroup)s, which its pod group does not have."),
    ),
    "PreemptionDelay": (
        gettext_lazy("may not evict others yet"),
        gettext_lazy("It may not evict others before %(until)s: that is its preemption delay."),
    ),
    "NotReady": (
        gettext_lazy("%(found)s of %(minimum)s pods exist"),
        gettext_lazy("The gang needs %(minimum)s pods and %(found)s exist: the scheduler waits for the rest."),
    ),
    "Ahead": (
        gettext_lazy("others come first"),
        gettext_lazy("There is room for one of those that wait, and others come first."),
    ),
    "SchedulerHangs": (
        gettext_lazy("the scheduler hangs"),
        gettext_lazy("Queues are parents of each other and a pod waits in them: the scheduler places nothing at all."),
    ),
    "MinRuntime": (
        gettext_lazy("others may finish their minimum"),
        gettext_lazy("Those whom it could evict have a guaranteed running time that is not over yet."),
    ),
    "Fits": (
        gettext_lazy("it fits, to be placed next"),
        gettext_lazy("Nothing is wrong: it fits, and the scheduler places it in its next cycles."),
    ),
    "OtherTopology": (
        gettext_lazy("its topology is not the pool’s"),
        gettext_lazy(
            "It asks for one %(place)s of topology %(topology)s, whose levels are not known here any more; the node"
            " pool now has %(poolTopology)s."
        ),
    ),
    "GangIncomplete": (
        gettext_lazy("room for %(found)s of %(minimum)s pods"),
        gettext_lazy("There is room for %(found)s pods and %(minimum)s must start together."),
    ),
    "NotEnoughResources": (
        gettext_lazy("not enough room"),
        gettext_lazy("The nodes have not enough resources for it now."),
    ),
    "Scheduler": (gettext_lazy("the scheduler refuses it"), gettext_lazy("The scheduler cannot place it; it says:")),
    "Gated": (
        gettext_lazy("%(gated)s pods are gated"),
        gettext_lazy("%(gated)s of %(pods)s pods are gated: Grove holds them back until their gang is complete."),
    ),
    "NotJudged": (
        gettext_lazy("not judged by the scheduler yet"),
        gettext_lazy("%(pods)s pods wait and the scheduler has said nothing of them yet."),
    ),
    "NoPods": (
        gettext_lazy("the operator made no pod yet"),
        gettext_lazy("The Dynamo operator has made no pod of it yet."),
    ),
    "NodeLost": (
        gettext_lazy("node lost: %(nodes)s"),
        gettext_lazy("Pods stood on nodes that are gone: %(nodes)s. The members on them are missing from the gang."),
    ),
    "Container": (
        "%(fault)s",
        gettext_lazy("Pod %(pod)s does not start: %(fault)s."),
    ),
    "Starting": (
        gettext_lazy("containers are starting"),
        gettext_lazy("Every pod has its node; containers are starting."),
    ),
    "Refused": (
        gettext_lazy("refused by the cluster"),
        gettext_lazy("The cluster or Muster refuses it: %(message)s"),
    ),
}

PERMANENT = frozenset(
    ("LevelTooSmall", "LevelTooSmallInPieces", "LevelEmpty", "PoolTooSmall", "PoolTooSmallInPieces", "PodTooLarge",
     "NoGpuNode", "Refused", "TopologyDoesNotExist", "OtherTopology")
)  # fmt: skip
FIRST_CAUSES = frozenset(
    ("LevelTooSmall", "LevelFull", "LevelFragmented", "PoolTooSmall", "PoolFull", "PoolFragmented", "Ahead",
     "MinRuntime", "SchedulerHangs")
)  # fmt: skip
"""Causes of the diagnosis that have a reason of the same code and of the same arguments."""


class _Known(dict[str, str]):
    """Arguments of a message; one that is missing is a dash, never an error."""

    def __missing__(self, key: str) -> str:
        return "–"


def place_word(level: str) -> str:
    """What people call a level in a sentence: "one rack", "one host"."""
    return _("host") if level.rpartition("/")[2] == "hostname" else short_key(level)


def reason_short(reason: Mapping[str, Any]) -> str:
    """Why, in at most 32 characters; empty where nothing waits."""
    code = reason.get("code", "")
    if not code:
        return ""
    return singular(str(_words(code)[0]) % _arguments(reason))


def reason_sentence(reason: Mapping[str, Any]) -> str:
    """Why, in a sentence with the numbers."""
    code = reason.get("code", "")
    if not code:
        return ""
    return singular(str(_words(code)[1]) % _arguments(reason))


def _words(code: str) -> tuple[str | Promise, str | Promise]:
    """Those of a reason, else those of a cause of the diagnosis."""
    return REASONS.get(code) or CAUSES.get(code) or REASONS["Scheduler"]


def is_permanent(reason: Mapping[str, Any]) -> bool:
    """Whether waiting cannot help."""
    return reason.get("code") in PERMANENT


def _arguments(reason: Mapping[str, Any]) -> Mapping[str, str]:
    arguments = dict(reason.get("arguments") or {})
    return _Known(arguments, place=place_word(arguments.get("level", "")))


@dataclass(frozen=True, slots=True)
class ConditionView:
    """A condition as the page shows it (components/conditions.html)."""

    status: str
    type: str
    text: str
    since: Any
    detail: str = ""


def condition_view(condition: Mapping[str, Any]) -> ConditionView:
    """One stored condition in words."""
    say = _SENTENCES.get(condition["type"])
    text = say(condition) if say else condition.get("message") or condition.get("reason", "")
    since = parse_datetime(condition.get("lastTransitionTime") or "")
    return ConditionView(_status(condition), condition["type"], text, since)


def _status(condition: Mapping[str, Any]) -> str:
    if condition["status"] == "True":
        return "ok"
    if condition["status"] == "Unknown":
        return "info"
    waits = condition["type"] in ("Ready", "InSync", "PlacementKept") or condition.get("reason") in ("Deleting",)
    return "wait" if waits else "bad"


def _accepted(condition: Mapping[str, Any]) -> str:
    if condition["status"] == "True":
        return _("It can be written to the cluster.")
    if condition.get("reason") == "NameTaken":
        return _("A graph of this name exists in the namespace and is somebody else’s; it is left alone.")
    return _("It is refused: %(message)s") % {"message": condition.get("message", "")}


def _synced(condition: Mapping[str, Any]) -> str:
    if condition["status"] == "True":
        return _("The cluster has what is wanted.")
    arguments = condition.get("arguments") or {}
    if condition.get("reason") == "Deleting":
        return _("Waiting until its objects are gone from the cluster: %(left)s.") % {"left": arguments.get("left", "")}
    retry = _("It will be tried again.") if arguments.get("retry") == "yes" else _("Trying again will not help.")
    return (
        _("The cluster could not be reached or refused: %(message)s") % {"message": condition.get("message", "")}
        + " "
        + retry
    )


def _in_sync(condition: Mapping[str, Any]) -> str:
    if condition["status"] == "True":
        return _("Nobody else has changed it.")
    arguments = condition.get("arguments") or {}
    if condition.get("reason") == "DeletionRepaired":
        return _("Somebody had deleted %(objects)s; it was made again.") % {"objects": arguments.get("objects", "")}
    fields = arguments.get("fields", "")
    return _("Somebody else changed %(fields)s; Muster put it back.") % {"fields": fields}


def _constraint(text: str) -> str:
    """Constraints as `workloads.reconcile.status` keeps them: topology, required level if any, preferred level."""
    return "; ".join(_one_constraint(each.split(), each) for each in text.split("; "))


def _one_constraint(parts: list[str], text: str) -> str:
    if len(parts) not in (2, 3):
        return text or _("none")
    topology, *required, preferred = parts
    said = [_("topology %(name)s") % {"name": topology}]
    said += [_("one %(place)s required") % {"place": place_word(level)} for level in required]
    if [preferred] != required:
        said.append(_("one %(place)s preferred") % {"place": place_word(preferred)})
    return ", ".join(said)


def _arrived(what: str | Promise, told: Callable[[str], str] = str) -> Callable[[Mapping[str, Any]], str]:
    def say(condition: Mapping[str, Any]) -> str:
        arguments = condition.get("arguments") or {}
        groups = arguments.get("found", "").split("; ")
        found = told("; ".join(filter(None, groups))) if any(groups) else ""
        values = {"what": what, "wanted": told(arguments.get("wanted", "")), "found": found or _("none")}
        if condition["status"] == "True":
            return _("%(what)s arrived: the pod group has %(wanted)s.") % values
        if found and not all(groups):
            return (
                _(
                    "%(what)s did not arrive on every pod group: %(wanted)s was asked for; some have none, others have "
                    "%(found)s."
                )
                % values
            )
        return _("%(what)s did not arrive: the pod group has %(found)s where %(wanted)s was asked for.") % values

    return say


def _ready(condition: Mapping[str, Any]) -> str:
    if condition["status"] == "True":
        return _("Every pod of every role is ready.")
    return reason_sentence({"code": condition.get("reason", ""), "arguments": condition.get("arguments") or {}})


def _placement(condition: Mapping[str, Any]) -> str:
    arguments = condition.get("arguments") or {}
    values = {"place": place_word(arguments.get("level", "")), "domains": arguments.get("domains") or "–"}
    if condition["status"] == "True":
        return _("All pods stand in one %(place)s: %(domains)s.") % values
    if condition.get("reason") == "Loosened":
        return _("One %(place)s was preferred and did not fit; it was loosened and runs in %(domains)s.") % values
    return _("One %(place)s was required, and the pods stand in %(domains)s.") % values


_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "Accepted": _accepted,
    "Synced": _synced,
    "InSync": _in_sync,
    "QueueArrived": _arrived(gettext_lazy("The queue")),
    "PoolArrived": _arrived(gettext_lazy("The node pool")),
    "PlacementArrived": _arrived(gettext_lazy("The placement"), _constraint),
    "Ready": _ready,
    "PlacementKept": _placement,
}
