"""Acts on one workload: scale, suspend, resume, delete. Each answers with the workload's page, even where its address
is only opened."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.audit import record_refusal
from accounts.permissions import require
from accounts.requests import actor_of
from core.edit_forms import tell_saved
from core.errors import Conflict, InvalidInput, MusterError, NotFound, Stale
from core.templatetags.quantities import number
from core.templatetags.ui import and_more
from workloads import observed, selectors, services
from workloads.models import DesiredPhase, Workload

MAX_BULK = 100
BULK = {
    "suspend": (services.suspend_workload, DesiredPhase.STOPPED),
    "resume": (services.resume_workload, DesiredPhase.RUNNING),
}


@require_http_methods(["GET", "HEAD", "POST"])
def workload_scale(request: HttpRequest, pk: str) -> HttpResponse:
    """Set the replicas of one component."""
    workload = selectors.workload_of(request.user, pk)
    if request.method != "POST":
        return redirect("workloads:detail", workload.pk)
    before, text = workload.generation, request.POST.get("replicas", "").strip()
    try:
        if not (text.isascii() and text.isdigit() and len(text) <= 6):
            raise InvalidInput.of(
                "replicas", _("“%(text)s” is not a number of replicas") % {"text": text[:20]}, "1, 2, 3 …"
            )
        services.scale_workload(
            actor_of(request), workload=workload, component=request.POST.get("component", ""), replicas=int(text)
        )
    except InvalidInput as error:
        messages.error(request, " ".join(fault.sentence for fault in error.faults))
    except (Conflict, Stale) as error:
        messages.error(request, error.message)
    else:
        tell_saved(request, workload, before, _("The change is saved; the cluster follows."))
    return redirect("workloads:detail", workload.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def workload_suspend(request: HttpRequest, pk: str) -> HttpResponse:
    """Take the pods away and keep the definition."""
    workload = selectors.workload_of(request.user, pk)
    if request.method != "POST":
        return redirect("workloads:detail", workload.pk)
    services.suspend_workload(actor_of(request), workload=workload)
    messages.success(request, _("%(name)s is being suspended; its GPUs become free.") % {"name": workload.name})
    return redirect("workloads:detail", workload.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def workload_resume(request: HttpRequest, pk: str) -> HttpResponse:
    """Start it again."""
    workload = selectors.workload_of(request.user, pk)
    if request.method != "POST":
        return redirect("workloads:detail", workload.pk)
    try:
        services.resume_workload(actor_of(request), workload=workload)
    except InvalidInput as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("%(name)s is being resumed.") % {"name": workload.name})
    return redirect("workloads:detail", workload.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def workload_bulk(request: HttpRequest, action: str) -> HttpResponse:
    """Suspend or resume the selected workloads, and report of each what became of it: one that cannot be stops none."""
    require(request.user, "workloads:update")
    if action not in BULK:
        raise NotFound(_("There is no such act."))
    if request.method != "POST":
        return redirect("workloads:list")
    pks = list(dict.fromkeys(request.POST.getlist("pk")))
    if not pks:
        messages.warning(request, _("No workload was selected."))
    if len(pks) > MAX_BULK:
        told = _("Only the first %(limit)d of the %(n)d selected were looked at.")
        messages.warning(request, told % {"limit": MAX_BULK, "n": len(pks)})
    _report(request, action, [_act_on(request, action, pk) for pk in pks[:MAX_BULK]])
    return redirect("workloads:list")


@dataclass(frozen=True, slots=True)
class RowResult:
    """What became of one of the selected. `error` is empty where it is, or was already, as asked for."""

    name: str
    error: str = ""
    unchanged: bool = False


def _act_on(request: HttpRequest, action: str, pk: str) -> RowResult:
    act, wanted = BULK[action]
    actor, workload, name = actor_of(request), None, _("one that you do not see any more")
    try:
        workload = selectors.workload_of(request.user, pk)
        name, unchanged = workload.name, workload.desired_phase == wanted
        with transaction.atomic():
            act(actor, workload=workload)
    except MusterError as error:
        record_refusal(actor, action, error, workload)
        return RowResult(name, error.message)
    return RowResult(name, unchanged=unchanged)


def _report(request: HttpRequest, action: str, results: Sequence[RowResult]) -> None:
    """Each by name: those that follow, those that were so already, and each that failed with its reason."""
    changed = [result.name for result in results if not (result.error or result.unchanged)]
    already = [result.name for result in results if result.unchanged]
    if changed:
        told = _("Being suspended: %(names)s.") if action == "suspend" else _("Being resumed: %(names)s.")
        messages.success(request, told % {"names": and_more(changed, MAX_BULK)})
    if already:
        told = _("Suspended already: %(names)s.") if action == "suspend" else _("Not suspended: %(names)s.")
        messages.info(request, told % {"names": and_more(already, MAX_BULK)})
    for result in results:
        if result.error:
            messages.error(request, f"{result.name}: {result.error}")


@require_http_methods(["GET", "HEAD", "POST"])
def workload_delete(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, with what it hits and the name to type; then asks the cluster."""
    workload = selectors.workload_of(request.user, pk)
    require(request.user, "workloads:delete", workload.scope)
    error = ""
    if request.method == "POST":
        if request.POST.get("confirm", "").strip() == workload.name:
            services.delete_workload(actor_of(request), workload=workload)
            messages.success(request, _("%(name)s is being deleted.") % {"name": workload.name})
            return redirect("workloads:list")
        error = _("This is not its name.")
    context = {
        "title": _("Delete workload %(name)s") % {"name": workload.name},
        "hits": _hits(workload),
        "name": workload.name,
        "act": _("Delete workload"),
        "action_url": reverse("workloads:delete", args=[workload.pk]),
        "back_url": reverse("workloads:detail", args=[workload.pk]),
        "error": error,
    }
    return render(request, "confirm.html", context, status=422 if error else 200)


def _hits(workload: Workload) -> list[dict[str, object]]:
    pods = observed.pods_of(workload).count()
    graph = _("the DynamoGraphDeployment %(namespace)s/%(name)s and its service")
    hits: list[dict[str, object]] = [
        {"text": graph % {"namespace": workload.project.namespace, "name": workload.name}, "icon": "boxes"}
    ]
    if pods:
        text = ngettext("%(n)d pod", "%(n)d pods", pods) % {"n": pods}
        hits.append({"text": text + _(", holding %(gpus)s GPUs") % {"gpus": number(workload.gpus_held)}, "icon": "cpu"})
    return hits
