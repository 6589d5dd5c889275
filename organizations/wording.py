"""Conditions, warnings and faults of queues in the viewer's language."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.models import Cluster
from core.templatetags.quantities import number
from organizations.queue_findings import QueueFault, QueueFinding
from organizations.quota import QuotaWarning, WarningCode
from organizations.selectors import to_people
from topology.wording import Text, condition_item, worst_sentence

SENTENCES: Mapping[tuple[str, str], Text] = {
    ("Accepted", "Accepted"): gettext_lazy("It can be written to the cluster."),
    ("Synced", "Applied"): gettext_lazy("The cluster has what is defined here."),
    ("Synced", "Deleting"): gettext_lazy("Waiting for these to go: %(objects)s."),
    ("InSync", "InSync"): gettext_lazy("Nobody has changed what Muster wrote."),
    ("InSync", "DriftRepaired"): gettext_lazy("Somebody had changed %(fields)s; it was put back."),
    ("InSync", "DeletionRepaired"): gettext_lazy("Somebody had deleted %(objects)s; it was made again."),
    ("Accepted", "NameTaken"): gettext_lazy(
        "An object of this name was made by somebody else (%(madeBy)s); Muster leaves it alone."
    ),
    ("Accepted", "Unlabelled"): gettext_lazy(
        "The namespace %(name)s exists and nothing in it says who made it. If it is this project’s own, somebody took "
        "its labels off: give it back with “kubectl label namespace %(name)s %(label)s”. If it is not, make the "
        "project with “use the existing namespace”, or with another namespace."
    ),
    ("NamespaceReady", "Terminating"): gettext_lazy("The namespace %(name)s is being deleted by somebody."),
    ("SecretsReady", "Applied"): gettext_lazy("The secrets are as defined here."),
    ("SecretsReady", "NameTaken"): gettext_lazy(
        "Secrets of somebody else have these names and are left alone: %(names)s."
    ),
    ("NamespaceReady", "Created"): gettext_lazy("The namespace %(name)s is there."),
    ("NamespaceReady", "Adopted"): gettext_lazy("The namespace %(name)s existed and is used; it stays."),
    ("QueuesReady", "Applied"): gettext_lazy("The queues are as defined here."),
    ("QueuesReady", "ParentMissing"): gettext_lazy("Queue %(queue)s waits for its parent %(parent)s."),
    ("QueuesReady", "ParentForeign"): gettext_lazy("Queue %(parent)s, the parent of %(queue)s, is somebody else’s."),
    ("QueuesReady", "BeingDeleted"): gettext_lazy(
        "Queue %(queue)s was deleted by somebody and is not gone yet; it is made anew then."
    ),
    ("QueuesReady", "ParentCycle"): gettext_lazy("The parents of a queue form a cycle: %(chain)s."),
}


def conditions_of(conditions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Conditions as components/conditions.html draws them."""
    return [condition_item(condition, SENTENCES) for condition in conditions]


def why_of(conditions: list[dict[str, Any]]) -> str:
    """What is most wrong, in one sentence; empty where nothing is."""
    return worst_sentence(conditions, SENTENCES)


def resource_word(resource: str) -> str:
    """GPU, CPU cores, memory."""
    return {"gpu": _("GPUs"), "cpu": _("CPU cores"), "memory": _("GB of memory")}[resource]


def amount_word(resource: str, amount: Decimal) -> str:
    """An amount in the unit of people: "12", "unlimited"."""
    if amount == -1:
        return _("unlimited")
    return number(to_people(resource, amount))


def bound_word(written: str) -> str:
    """The word for a quota or limit as the audit log has it, where that is no figure; else empty."""
    return _("unlimited") if written == "-1" else ""


def warning_item(warning: QuotaWarning) -> dict[str, Any]:
    """A warning as components/finding.html draws it."""
    words = {
        "pool": warning.pool,
        "resource": resource_word(warning.resource),
        "amount": amount_word(warning.resource, warning.amount),
        "against": amount_word(warning.resource, warning.against),
    }
    sentences = {
        WarningCode.BELOW_ALLOCATED: _(
            "%(pool)s: deserved goes to %(amount)s %(resource)s while %(against)s are held."
        ),
        WarningCode.LIMIT_BELOW_ALLOCATED: _(
            "%(pool)s: the limit goes to %(amount)s %(resource)s while %(against)s are held."
        ),
        WarningCode.LIMIT_BELOW_DESERVED: _(
            "%(pool)s: the limit of %(amount)s %(resource)s is below the deserved amount, %(against)s."
        ),
        WarningCode.PROJECTS_EXCEED_DEPARTMENT: _(
            "%(pool)s: the projects would deserve %(amount)s %(resource)s, their department %(against)s."
        ),
        WarningCode.EXCEEDS_CAPACITY: _(
            "%(pool)s: the departments would deserve %(amount)s %(resource)s, the pool has %(against)s."
        ),
    }
    details = {
        WarningCode.BELOW_ALLOCATED: _("What is held above it can be reclaimed for others."),
        WarningCode.LIMIT_BELOW_ALLOCATED: _("Running pods go on; nothing new starts until less is held."),
        WarningCode.LIMIT_BELOW_DESERVED: _("The limit wins: the deserved amount cannot be used in full."),
        WarningCode.PROJECTS_EXCEED_DEPARTMENT: _("The department’s amount wins: not every project can have its own."),
        WarningCode.EXCEEDS_CAPACITY: _("Work within its quota may have to wait too."),
    }
    return {"status": "wait", "text": sentences[warning.code] % words, "detail": details[warning.code]}


def fault_item(cluster: Cluster, fault: QueueFinding) -> dict[str, Any]:
    """A fault of the cluster's queues as components/finding.html draws it."""
    names = {"queue": fault.queues[0], "value": fault.value, "chain": " → ".join([*fault.queues, fault.queues[0]])}
    texts = {
        QueueFault.PARENT_CYCLE: (
            "bad",
            _("Queues are each other’s parent: %(chain)s."),
            _("As soon as a pod waits in one of them, the scheduler of the whole cluster stops."),
        ),
        QueueFault.BAD_DURATION: (
            "bad",
            _("Queue %(queue)s has a duration that cannot be read, %(value)s."),
            _("Every reader of queues in the cluster fails until it is gone. Allowed units: h, m, s."),
        ),
        QueueFault.MISSING_PARENT: (
            "wait",
            _("Queue %(queue)s has a parent that does not exist: %(value)s."),
            _("The scheduler leaves it out, with all queues below it."),
        ),
        QueueFault.BELOW_UNLIMITED: (
            "wait",
            _("Queue %(queue)s has an amount below −1: %(value)s."),
            _("The scheduler takes it literally and blocks the queue."),
        ),
        QueueFault.NO_LIMIT: (
            "wait",
            _("Queue %(queue)s has no limit for %(value)s."),
            _("An absent limit is 0: nothing that asks for it may run."),
        ),
    }
    status, text, detail = texts[fault.fault]
    return {"status": status, "text": f"{cluster.name}: {text % names}", "detail": detail}
