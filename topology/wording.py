"""Findings and conditions in the viewer's language, in the shape that the console's components take."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from core.templatetags.ui import and_more
from topology.findings import Code, Finding, Fix

Text = str | Promise
Sentence = Callable[[Finding], tuple[str, str]]


def finding_item(finding: Finding) -> dict[str, Any]:
    """A finding as components/finding.html draws it: sentence, detail, and the kubectl lines to copy."""
    text, detail = _SENTENCES[finding.code](finding)
    item: dict[str, Any] = {"status": finding.severity.value, "text": text, "detail": detail}
    if finding.fixes:
        item["clip"] = "\n".join(fix.line for fix in finding.fixes)
        item["clip_label"] = ngettext("Copy kubectl line", "Copy %(n)d kubectl lines", len(finding.fixes)) % {
            "n": len(finding.fixes)
        }
    return item


def short_key(key: str) -> str:
    """The end of a label key, as people say it in their language: zone, rack, hostname."""
    word = key.rpartition("/")[2]
    known = {"zone": _("zone"), "rack": _("rack"), "region": _("region"), "hostname": _("hostname")}
    return known.get(word, word)


def _missing(finding: Finding) -> tuple[str, str]:
    count = len(finding.nodes)
    text = ngettext(
        "%(n)d node is outside: %(nodes)s has no label %(key)s.",
        "%(n)d nodes are outside: %(nodes)s have no label %(key)s.",
        count,
    ) % {"n": count, "nodes": and_more(finding.nodes), "key": finding.key}
    detail = ngettext(
        "No workload with a placement constraint can use its GPU, not even with a preferred level.",
        "No workload with a placement constraint can use the %(n)d GPUs, not even with a preferred level.",
        finding.gpus,
    ) % {"n": finding.gpus}
    return text, f"{detail} {_neighbours(finding.fixes)}".strip()


def _neighbours(fixes: Sequence[Fix]) -> str:
    guessed = [fix for fix in fixes if fix.value and fix.neighbours]
    if len(fixes) != 1 or not guessed:
        return ""
    fix = guessed[0]
    return _("Its neighbours %(nodes)s are in %(value)s.") % {"nodes": and_more(fix.neighbours), "value": fix.value}


def _missing_no_gpu(finding: Finding) -> tuple[str, str]:
    count = len(finding.nodes)
    text = ngettext(
        "%(n)d node without GPUs has no label %(key)s: %(nodes)s.",
        "%(n)d nodes without GPUs have no label %(key)s: %(nodes)s.",
        count,
    ) % {"n": count, "nodes": and_more(finding.nodes), "key": finding.key}
    return text, _("Pods without GPUs that have a constraint cannot run there.")


def _empty(finding: Finding) -> tuple[str, str]:
    count = len(finding.nodes)
    text = ngettext(
        "%(n)d node has the label %(key)s with an empty value: %(nodes)s.",
        "%(n)d nodes have the label %(key)s with an empty value: %(nodes)s.",
        count,
    ) % {"n": count, "nodes": and_more(finding.nodes), "key": finding.key}
    return text, _("An empty value places a node nowhere: it counts as outside.")


def _two_parents(finding: Finding) -> tuple[str, str]:
    value, *parents = finding.values
    text = _("%(level)s %(value)s lies in more than one %(parent)s: %(parents)s.") % {
        "level": short_key(finding.key),
        "value": value,
        "parent": short_key(finding.other),
        "parents": ", ".join(parents),
    }
    detail = _("The scheduler takes them as separate domains. Probably mislabelled: %(nodes)s.")
    return text, detail % {"nodes": and_more(finding.nodes)}


def _look_alike(finding: Finding) -> tuple[str, str]:
    common, rare = finding.values
    sentence = (
        _("%(rare)s and %(common)s differ only by case.")
        if finding.code is Code.CASE
        else _("%(rare)s and %(common)s differ by one character.")
    )
    detail = _("They are two domains of %(level)s. With %(rare)s: %(nodes)s.")
    words = {
        "rare": rare,
        "common": common,
        "level": short_key(finding.key),
        "nodes": and_more(finding.nodes),
    }
    return sentence % words, detail % words


_SENTENCES: Mapping[Code, Sentence] = {
    Code.KEY_ON_NO_NODE: lambda f: (
        _("No node has the label %(key)s.") % {"key": f.key},
        _("Every node would be outside, and no constrained workload could run."),
    ),
    Code.REVERSED: lambda f: (
        _("The order runs near to far: the first level is the narrowest."),
        _("Levels are stored broadest first: %(levels)s.") % {"levels": " › ".join(map(short_key, f.values))},
    ),
    Code.MISORDERED: lambda f: (
        _("%(key)s stands below %(other)s, but is broader.") % {"key": short_key(f.key), "other": short_key(f.other)},
        _("Each %(other)s lies in one %(key)s: move %(key)s above it.")
        % {"key": short_key(f.key), "other": short_key(f.other)},
    ),
    Code.HOSTNAME_NOT_LAST: lambda f: (
        _("%(key)s can only be the last level.") % {"key": f.key},
        _("Nothing lies inside one node."),
    ),
    Code.MISSING_LABEL: _missing,
    Code.MISSING_LABEL_NO_GPU: _missing_no_gpu,
    Code.EMPTY_VALUE: _empty,
    Code.TWO_PARENTS: _two_parents,
    Code.CASE: _look_alike,
    Code.TYPO: _look_alike,
    Code.REUSED: lambda f: (
        _("Values of %(level)s are used again in each %(parent)s.")
        % {"level": short_key(f.key), "parent": short_key(f.other)},
        _("The scheduler keeps them apart by their path, so this is right: %(values)s.")
        % {"values": and_more(f.values)},
    ),
    Code.SINGLE_VALUE: lambda f: (
        _("%(key)s has one value on all nodes and adds nothing.") % {"key": f.key},
        "",
    ),
    Code.ORDER_OK: lambda f: (_("Order is right: each narrower domain lies in one broader domain."), ""),
    Code.VALUES_OK: lambda f: (_("No value is empty or differs from another only by case or one character."), ""),
}

# Conditions whose status True is the problem.
NEGATIVE = frozenset({"TopologyMismatch", "Overlap", "UnknownPools"})
_SERIOUS = frozenset({"Accepted", "Synced", "QueuesReady", "NamespaceReady"})

# What a failed reconcile says of itself in the argument `retry` (core.reconciling).
_RETRY: Mapping[str, Text] = {
    "yes": gettext_lazy("It will be tried again."),
    "no": gettext_lazy("Trying again will not help."),
}

_CONDITIONS: Mapping[tuple[str, str], Text] = {
    ("Accepted", "Accepted"): gettext_lazy("It can be written to the cluster."),
    ("Accepted", "NameTaken"): gettext_lazy(
        "An object of this name was made by somebody else (%(madeBy)s); Muster leaves it alone."
    ),
    ("Synced", "Applied"): gettext_lazy("The cluster has what is defined here."),
    ("Synced", "NothingToWrite"): gettext_lazy("The default pool is the nodes without a pool label."),
    ("Synced", "Deleting"): gettext_lazy("Waiting for these to leave the cluster: %(objects)s."),
    ("InSync", "InSync"): gettext_lazy("Nobody has changed what Muster wrote."),
    ("InSync", "DriftRepaired"): gettext_lazy("Somebody had changed %(fields)s; it was put back."),
    ("InSync", "DeletionRepaired"): gettext_lazy("Somebody had deleted %(objects)s; it was made again."),
    ("InSync", "LevelsReplaced"): gettext_lazy("Somebody had made %(name)s with other levels; it is made anew."),
    ("Bound", "Applied"): gettext_lazy("Grove’s ClusterTopologyBinding refers to this topology."),
    ("Bound", "NotServed"): gettext_lazy("Grove does not serve its ClusterTopologyBinding in this cluster."),
    ("Bound", "NameTaken"): gettext_lazy("A ClusterTopologyBinding %(name)s of somebody else (%(madeBy)s) exists."),
    ("Bound", "KeyTooLong"): gettext_lazy("The label key %(key)s is longer than Grove takes (63 characters)."),
    ("TopologyMismatch", "TopologyMatch"): gettext_lazy("Every GPU node has the labels of the attached topology."),
    ("TopologyMismatch", "TopologyMismatch"): gettext_lazy(
        "Outside topology %(topology)s for want of labels: %(told)s."
    ),
    ("Overlap", "PoolsOverlap"): gettext_lazy(
        "Other pools match the same nodes: %(pools)s. Nodes: %(nodes)s. Each node counts for the older pool alone: "
        "%(holders)s."
    ),
    ("UnknownPools", "LabelWithoutPool"): gettext_lazy("Nodes carry the label of a pool that is not here: %(told)s."),
    ("LabelsOwned", "HeldByOthers"): gettext_lazy("Somebody else holds the pool label on %(told)s."),
}

# Why a reconcile failed, by the reason of its error; what the cluster said of it is the message.
_FAILURES: Mapping[str, Text] = {
    "Unavailable": gettext_lazy("The cluster’s API server gives no answer."),
    "NotApiServer": gettext_lazy("What answers at the cluster’s address is no API server."),
    "Unauthorized": gettext_lazy("The cluster does not take Muster’s credential any more."),
    "Forbidden": gettext_lazy("Muster’s account lacks a permission in the cluster."),
    "FieldConflict": gettext_lazy("Somebody else owns a field that Muster would set."),
    "Conflict": gettext_lazy("Somebody changed the object at the same moment."),
    "Rejected": gettext_lazy("The cluster refuses what Muster would write."),
    "TooLarge": gettext_lazy("The object is too large for the cluster."),
    "NotServed": gettext_lazy("The cluster does not serve a kind that this needs."),
    "Expired": gettext_lazy("What Muster had read is too old; it reads anew."),
    "BadCertificate": gettext_lazy("A certificate or key of the cluster’s access cannot be read."),
    "NamespaceMissing": gettext_lazy("The namespace is not in the cluster yet."),
    "BeingDeleted": gettext_lazy("Somebody deleted the object, and it is not gone yet."),
    "NameTaken": gettext_lazy("An object of this name was made by somebody else; Muster leaves it alone."),
    "Fought": gettext_lazy("Somebody sets a field back each time; Muster leaves it alone for some minutes."),
    "CredentialUnreadable": gettext_lazy("The stored credential of the cluster cannot be read any more."),
    "OtherMuster": gettext_lazy("Another installation of Muster keeps this cluster, so this one writes nothing there."),
    "ClusterError": gettext_lazy("The cluster answered with an error."),
}


def condition_item(
    condition: Mapping[str, Any], sentences: Mapping[tuple[str, str], Text] = _CONDITIONS
) -> dict[str, Any]:
    """A stored condition as components/conditions.html draws it.

    Its message is English and may quote the cluster: it is the sentence of what has none for whoever reads English, and
    a detail for others only where it quotes. Nobody reads the same thing twice.
    """
    arguments = {name: str(value).replace(",", ", ") for name, value in condition.get("arguments", {}).items()}
    english = (get_language() or "en").startswith("en")
    failure = _FAILURES.get(condition["reason"])
    sentence = sentences.get((condition["type"], condition["reason"]), None if english else failure)
    message = str(condition.get("message") or condition["reason"])
    text = _filled(sentence, arguments) or message
    shown = _status(condition) in ("wait", "bad") and message != text and failure is not None
    return {
        "status": _status(condition),
        "type": condition["type"],
        "text": f"{_ended(text)}{_RETRY[arguments['retry']]}" if arguments.get("retry") in _RETRY else text,
        "detail": message if shown else "",
        "since": parse_datetime(condition.get("lastTransitionTime") or ""),
    }


def _ended(text: str) -> str:
    """The sentence with its full stop, ready for another: a Chinese one has its own and takes no space."""
    return text if text.endswith("。") else f"{text.rstrip('.')}. "


def _filled(sentence: Text | None, arguments: Mapping[str, str]) -> str:
    """The sentence with its arguments; empty where there is none, or where an older version stored other arguments."""
    try:
        return "" if sentence is None else str(sentence) % arguments
    except KeyError:
        return ""


def _status(condition: Mapping[str, Any]) -> str:
    type_ = condition["type"]
    if (condition["status"] == "True") != (type_ in NEGATIVE):
        return "ok"
    if condition["reason"] in ("Deleting", "ParentMissing") or condition["status"] == "Unknown":
        return "wait"
    if type_ in _SERIOUS:
        return "bad"
    return "info" if type_ == "Bound" else "wait"


def worst_sentence(
    conditions: Sequence[Mapping[str, Any]], sentences: Mapping[tuple[str, str], Text] = _CONDITIONS
) -> str:
    """What is most wrong, in one sentence; empty where nothing is."""
    items = [condition_item(condition, sentences) for condition in conditions]
    for status in ("bad", "wait"):
        for item in items:
            if item["status"] == status:
                return str(item["text"])
    return ""
