"""Acts on one workload: scale, suspend, resume, delete. Each answers with the workload's page."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.permissions import require
from accounts.requests import actor_of
from core.errors import Conflict, InvalidInput, MusterError, NotFound, Stale
from core.templatetags.quantities import number
from workloads import observed, selectors, services
from workloads.models import Workload

MAX_BULK = 100


@require_POST
def workload_scale(request: HttpRequest, pk: str) -> HttpResponse:
    """Set the replicas of one component."""
    workload = selectors.workload_of(request.user, pk)
    text = request.POST.get("replicas", "").strip()
    try:
        if not (text.isascii() and text.isdigit() and len(text) <= 6):
            raise InvalidInput.of(
                "replicas", _("“%(text)s” is not a number of replicas") % {"text": text[:20]}, "0, 1, 2 …"
            )
        services.scale_workload(
            actor_of(request), workload=workload, component=request.POST.get("component", ""), replicas=int(text)
        )
    except (InvalidInput, Conflict, Stale) as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The change is saved; the cluster follows."))
    return redirect("workloads:detail", workload.pk)


@require_POST
def workload_suspend(request: HttpRequest, pk: str) -> HttpResponse:
    """Take the pods away and keep the definition."""
    workload = selectors.workload_of(request.user, pk)
    services.suspend_workload(actor_of(request), workload=workload)
    messages.success(request, _("%(name)s is being suspended; its GPUs become free.") % {"name": workload.name})
    return redirect("workloads:detail", workload.pk)


@require_POST
def workload_resume(request: HttpRequest, pk: str) -> HttpResponse:
    """Start it again."""
    workload = selectors.workload_of(request.user, pk)
    try:
        services.resume_workload(actor_of(request), workload=workload)
    except InvalidInput as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("%(name)s is being resumed.") % {"name": workload.name})
    return redirect("workloads:detail", workload.pk)


@require_POST
def workload_bulk(request: HttpRequest, action: str) -> HttpResponse:
    """Suspend or resume the selected workloads; each that cannot be is named with the reason."""
    require(request.user, "workloads:update")
    act = {"suspend": services.suspend_workload, "resume": services.resume_workload}.get(action)
    if act is None:
        raise NotFound(_("There is no such act."))
    actor, done = actor_of(request), 0
    for pk in request.POST.getlist("pk")[:MAX_BULK]:
        workload = selectors.workload_of(request.user, pk)
        try:
            act(actor, workload=workload)
            done += 1
        except MusterError as error:
            messages.error(request, f"{workload.name}: {error.message}")
    if done:
        told = ngettext("%(n)d workload: the cluster follows.", "%(n)d workloads: the cluster follows.", done)
        messages.success(request, told % {"n": done})
    return redirect("workloads:list")


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
