"""Sentences for what reconcile found out about a cluster, in the viewer's language; names stay as they are."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.components import Component
from clusters.rbac import without

# (type, reason) of a condition → its sentence, with the condition's arguments as fields.
_SENTENCES: Mapping[tuple[str, str], Promise] = {
    ("Reachable", "Answered"): gettext_lazy("The API server answers; it runs Kubernetes %(version)s."),
    ("Permitted", "AllGranted"): gettext_lazy("The role grants all that Muster needs."),
    ("Permitted", "Unreachable"): gettext_lazy("Not known while the cluster cannot be asked."),
    ("SoleMuster", "Claimed"): gettext_lazy("No other installation of Muster keeps this cluster."),
    ("SoleMuster", "Unreachable"): gettext_lazy("Not known while the cluster cannot be asked."),
    ("SoleMuster", "OtherMuster"): gettext_lazy(
        "Another installation of Muster (%(holder)s) keeps this cluster, so this one writes nothing there but a note "
        "of itself. If that one is gone, remove the annotation %(annotation)s of the namespace %(namespace)s."
    ),
    ("SoleMuster", "OthersKeptOut"): gettext_lazy(
        "This installation of Muster keeps this cluster. Another one (%(others)s) is connected to it too and writes "
        "nothing there. If that one is gone, remove its annotation %(annotation)s of the namespace %(namespace)s."
    ),
    ("PrerequisitesMet", "AllFound"): gettext_lazy("All required components are installed."),
    ("PrerequisitesMet", "ComponentMissing"): gettext_lazy("Not installed: %(names)s."),
    ("ComponentsHealthy", "AllReady"): gettext_lazy("Every installed component is ready."),
    ("PrerequisitesMet", "Unreachable"): gettext_lazy("Not known while the cluster cannot be asked."),
    ("ComponentsHealthy", "Unreachable"): gettext_lazy("Not known while the cluster cannot be asked."),
}


def condition_text(condition: Mapping[str, Any]) -> str:
    """The condition's sentence; its own message where there is none or its arguments are missing."""
    if condition["reason"] == "PermissionMissing":
        return _missing_text(str(condition.get("arguments", {}).get("missing", "")).split(","))
    sentence = _SENTENCES.get((condition["type"], condition["reason"]))
    message = str(condition["message"] or condition["reason"])
    if sentence is None:
        return message
    try:
        return f"{sentence % condition.get('arguments', {})}"
    except KeyError:
        return message


def _missing_text(missing: Sequence[str]) -> str:
    said = "; ".join(
        _("%(permission)s – without it %(what)s") % {"permission": one, "what": without(one)} for one in missing
    )
    return _("The role of Muster’s account lacks: %(missing)s. Apply what Muster prints again.") % {"missing": said}


def component_text(component: Component, entry: Mapping[str, Any]) -> str:
    """What is wrong with a component, empty when nothing is."""
    if entry.get("health") == "missing":
        return _("It was not found in the cluster.")
    if entry.get("health") != "degraded":
        return str(entry.get("message", ""))
    needed = {part.name for part in component.parts if not part.optional}
    parts = entry.get("parts", ())
    wrong = [_("%(name)s is not ready") % {"name": p["name"]} for p in parts if p["health"] == "degraded"]
    wrong += [
        _("%(name)s was not found") % {"name": p["name"]}
        for p in parts
        if p["health"] == "missing" and p["name"] in needed
    ]
    wrong += [_("the kind %(name)s is not served") % {"name": name} for name in entry.get("missingKinds", ())]
    return "; ".join(wrong)
