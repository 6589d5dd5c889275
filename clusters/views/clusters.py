"""Pages about clusters: list, detail, register, credential, test, remove."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from accounts.permissions import TENANT, has_right, require
from accounts.requests import actor_of
from clusters import live, node_presenting, presenting, rbac, selectors, services
from clusters.forms import AccessForm, ClusterForm
from clusters.models import Cluster, Removal
from clusters.removal_impact import sealed_ending, was_shown
from clusters.tables import CLUSTERS
from core.errors import Conflict, InvalidInput, Stale
from core.tables import build_table, table_response

SECRETS = ("kubeconfig", "token")


@require_GET
def cluster_list(request: HttpRequest) -> HttpResponseBase:
    """All clusters that the viewer sees."""
    require(request.user, "cluster:read")
    table = build_table(request, selectors.cluster_list(request.user), CLUSTERS)
    context = {"may_add": has_right(request.user, "cluster:create", TENANT)}
    return table_response(request, "clusters/cluster_list.html", table, context)


@require_GET
def cluster_detail(request: HttpRequest, pk: str) -> HttpResponse:
    """One cluster: state, components, streams."""
    cluster = _cluster(request, pk)
    state = selectors.watch_state(cluster)
    strip = selectors.gpu_strip(request.user, cluster)
    context = {
        "cluster": cluster,
        "topics": f"clusters.Cluster.{cluster.pk}",
        "crumbs": presenting.cluster_crumbs(),
        "heading": cluster.name,
        "facts": presenting.cluster_facts(cluster, strip.nodes if strip.known else None),
        "tiles": node_presenting.gpu_tiles(strip),
        "components": presenting.component_views(cluster),
        "conditions": presenting.condition_views(cluster.conditions),
        "streams": presenting.stream_views(cluster),
        "stale": presenting.stale_sentences([(cluster, state)] if state.stale else []),
        "may_update": has_right(request.user, "cluster:update", cluster.scope),
        "menu": presenting.cluster_menu(request.user, cluster),
    }
    return render(request, "clusters/cluster_detail.html", context)


@sensitive_post_parameters(*SECRETS)
@require_http_methods(["GET", "HEAD", "POST"])
def cluster_add(request: HttpRequest) -> HttpResponse:
    """Register a cluster, or only try its connection."""
    require(request.user, "cluster:create", TENANT)
    form = ClusterForm(request.POST or None)
    report = None
    if form.is_valid() and form.access:
        if "test" in request.POST:
            report = live.try_access(form.access)
        else:
            try:
                cluster = services.register_cluster(
                    actor_of(request), name=form.cleaned_data["name"], access=form.access
                )
                return redirect("clusters:cluster-detail", cluster.pk)
            except (Conflict, InvalidInput) as error:
                form.add_error("name", error.message)
    status = 422 if form.errors else 200
    return render(request, "clusters/cluster_add.html", _form_context(form, report), status=status)


@sensitive_post_parameters(*SECRETS)
@require_http_methods(["GET", "HEAD", "POST"])
def cluster_credential(request: HttpRequest, pk: str) -> HttpResponse:
    """Give a cluster another address, CA or credential, or only try it."""
    cluster = _cluster(request, pk)
    require(request.user, "cluster:update", cluster.scope)
    form = AccessForm(request.POST or None)
    report = None
    if form.is_valid() and form.access:
        if "test" in request.POST:
            report = live.try_access(form.access)
        else:
            services.update_credential(actor_of(request), cluster, access=form.access)
            messages.success(request, _("The credential was changed. Muster connects anew."))
            return redirect("clusters:cluster-detail", cluster.pk)
    context = {"cluster": cluster, **_form_context(form, report)}
    return render(request, "clusters/cluster_credential.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def cluster_test(request: HttpRequest, pk: str) -> HttpResponse:
    """Try the stored connection now; answers with the report alone for htmx."""
    cluster = _cluster(request, pk)
    require(request.user, "cluster:update", cluster.scope)
    if request.method != "POST":
        return redirect("clusters:cluster-detail", cluster.pk)
    report = live.try_cluster(cluster)
    context = {"cluster": cluster, "report": report, "crumbs": presenting.cluster_crumbs(cluster)}
    alone = "HX-Request" in request.headers
    return render(request, "clusters/connection_report.html" if alone else "clusters/cluster_test.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def cluster_remove(request: HttpRequest, pk: str) -> HttpResponse:
    """Ask, then forget a cluster."""
    cluster = _cluster(request, pk)
    require(request.user, "cluster:delete", cluster.scope)
    error = ""
    if request.method == "POST":
        how = request.POST.get("objects", "")
        if request.POST.get("confirm") != cluster.name:
            error = _("This is not the name.")
        elif how == Removal.CLEAN and not was_shown(request.user, cluster, request.POST.get("impact", "")):
            error = _("What this would do has grown since it was shown: look at it again.")
        else:
            try:
                services.remove_cluster(actor_of(request), cluster, how=how)
                messages.success(request, _("%(name)s is being removed.") % {"name": cluster.name})
                return redirect("clusters:cluster-list")
            except (Conflict, InvalidInput, Stale) as refused:
                error = refused.message
    context = presenting.removal_context(cluster, services.removal_blockers(cluster))
    context |= {"error": error, "impact": sealed_ending(request.user, cluster)}
    return render(request, "clusters/cluster_remove.html", context, status=422 if error else 200)


def _cluster(request: HttpRequest, pk: str) -> Cluster:
    require(request.user, "cluster:read")
    return Cluster.objects.get_visible(request.user, pk=pk)


def _form_context(form: AccessForm, report: live.ConnectionReport | None) -> dict[str, object]:
    return {
        "form": form,
        "report": report,
        "crumbs": presenting.cluster_crumbs(),
        "manifest": rbac.rbac_manifest(),
        "token_command": rbac.token_command(),
    }
