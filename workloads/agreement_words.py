"""Agreement and its exceptions in sentences, in the viewer's language."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.templatetags.quantities import number
from workloads.agreement_case import DROPPED, NOT_REPLAYABLE, TOO_LARGE
from workloads.agreement_tally import UNKNOWN
from workloads.models import Agreement, Prediction


def agreement_line(found: Mapping[str, Any]) -> str:
    """What a preview says of itself."""
    version = scheduler_word(found["schedulerVersion"])
    if not found["compared"]:
        return _("No prediction has been compared with this cluster’s scheduler (%(version)s) yet.") % {
            "version": version
        }
    line = ngettext(
        "The engine was right in %(right)s of %(n)s prediction compared with this cluster’s scheduler (%(version)s).",
        "The engine was right in %(right)s of %(n)s predictions compared with this cluster’s scheduler (%(version)s).",
        found["compared"],
    )
    return line % {"right": number(found["right"]), "n": number(found["compared"]), "version": version}


def scheduler_word(version: str) -> str:
    """A version of the scheduler by name."""
    return _("KAI, version not known") if version in ("", UNKNOWN) else _("KAI %(version)s") % {"version": version}


def reason_word(code: str) -> str:
    """Why predictions are not comparable, in a few words."""
    words = {
        "busy": _("too many starts at once"),
        "tooManyPods": _("too many pods to look into"),
        "noNodes": _("the pool had no nodes"),
        "schedulerBlind": _("the scheduler could not read an object"),
        "stale": _("the cluster was not heard"),
        "tooLate": _("the scheduler was faster"),
        "notRendered": _("no gang could be rendered"),
        "deleted": _("deleted before the scheduler decided"),
        "edited": _("changed before the scheduler decided"),
        "waited": _("not decided in time"),
        "schedulerChanged": _("the scheduler’s version changed"),
        "otherPods": _("the operators made other pods"),
        "changed": _("something else changed in between"),
    }
    return words.get(code, code)


def told(row: Prediction) -> str:
    """What came of a prediction, in a sentence; empty where it was right."""
    if row.outcome == Agreement.OPEN:
        return _("The scheduler has not decided yet.")
    if row.outcome == Agreement.NOT_COMPARABLE:
        return _not_comparable(row.reasons)
    if row.outcome == Agreement.WRONG:
        return "; ".join(_wrong(aspect, row) for aspect in row.reasons)
    return ""


def verdict_word(verdict: str) -> str:
    """What the engine expected, in a word."""
    words = {
        "now": _("runs now"),
        "evicting": _("runs, others go"),
        "releasing": _("runs when pods have ended"),
        "waiting": _("waits"),
        "never": _("never in this pool"),
    }
    return words.get(verdict, "–")


def case_word(state: str) -> str:
    """Why there is no case to download; empty where there is one, or nothing to keep."""
    words = {
        TOO_LARGE: _("larger than is kept"),
        NOT_REPLAYABLE: _("its redacted case does not show the difference"),
        DROPPED: _("made room for newer ones"),
    }
    return words.get(state, "")


def _not_comparable(reasons: Sequence[str]) -> str:
    code, _colon, kinds = (reasons[0] if reasons else "").partition(":")
    if not kinds:
        return reason_word(code)
    words = {
        "nodes": _("nodes"),
        "queues": _("queues"),
        "topologies": _("topologies"),
        "gangs": _("gangs"),
        "pods": _("pods"),
        "settings": _("settings of the scheduler"),
    }
    listed = ", ".join(words.get(kind, kind) for kind in kinds.split(","))
    return _("something else changed in between: %(kinds)s") % {"kinds": listed}


def _wrong(aspect: str, row: Prediction) -> str:
    if aspect == "verdict":
        amounts = {"expected": number(row.pods_expected), "placed": number(row.pods_placed or 0)}
        return _("%(expected)s pods expected to be placed, %(placed)s were") % amounts
    return {"nodes": _("pods stand on other nodes"), "victims": _("other pods had to go")}.get(aspect, aspect)
