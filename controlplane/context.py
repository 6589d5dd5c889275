"""What every page's shell shows: navigation by rights, the cluster picker, live stream, search."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.permissions import ROLE_LABELS, has_right, rights_of, rules_of
from clusters.models import Cluster

Text = str | Promise


@dataclass(frozen=True, slots=True)
class Page:
    """An entry of the navigation: shown to whoever has `right` anywhere, to everybody without one."""

    label: Text
    icon: str
    url_name: str
    right: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A `Page` as one request sees it."""

    label: Text
    icon: str
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Entries under one heading; the first group has none."""

    label: Text
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a picker."""

    label: str
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class Picker:
    """A picker of the top bar."""

    label: str
    icon: str
    choices: tuple[Choice, ...]


# Pages that take ?cluster=.
SCOPED_PAGES = (
    "overview",
    "clusters:node-list",
    "clusters:node-map",
    "topology:topology-list",
    "topology:node-pool-list",
    "metrics:gpu-utilisation",
    "organizations:fair-share",
    "workloads:list",
)
MAX_CHOICES = 50

NAVIGATION: Sequence[tuple[Text, Sequence[Page]]] = (
    (
        "",
        (
            Page(_("Overview"), "layout-dashboard", "overview", "dashboards-overview:read"),
            Page(_("Workloads"), "boxes", "workloads:list", "workloads:read"),
        ),
    ),
    (
        _("Organisation"),
        (
            Page(_("Projects"), "folder", "organizations:project-list", "project:read"),
            Page(_("Departments"), "building-2", "organizations:department-list", "department:read"),
            Page(_("Fair share"), "scale", "organizations:fair-share", "project:read"),
        ),
    ),
    (
        _("Resources"),
        (
            Page(_("Clusters"), "server", "clusters:cluster-list", "cluster:read"),
            Page(_("Node pools"), "layers", "topology:node-pool-list", "nodepools:read"),
            Page(_("Nodes"), "cpu", "clusters:node-list", "nodes:read"),
            Page(_("Network topologies"), "network", "topology:topology-list", "network-topologies:read"),
        ),
    ),
    (
        _("Insight"),
        (Page(_("GPU utilisation"), "activity", "metrics:gpu-utilisation", "dashboards-analytics:read"),),
    ),
    (
        _("Administration"),
        (
            Page(_("Access rules"), "shield", "accounts:rule-list", "access_rules:read"),
            Page(_("Users"), "users", "accounts:user-list", "users:read"),
            Page(_("Service accounts"), "bot", "accounts:service-account-list", "service-account:read"),
            Page(_("Access keys"), "key", "accounts:key-list", ""),
            Page(_("Audit log"), "scroll-text", "accounts:audit-list", "events-history:read"),
        ),
    ),
)


def shell(request: HttpRequest) -> dict[str, object]:
    """Context processor of `templates/base.html`. Empty for people who are not signed in."""
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return {"nav": ()}
    return {
        "nav": tuple(_groups(request, user)),
        "account_role": _role_label(user),
        "scope": _scope(request, user),
        # The answer to a form is no page that can be fetched again: it stays as it was given.
        "live_url": reverse("live") if request.method in ("GET", "HEAD") else "",
        "search_url": reverse("search"),
    }


def _groups(request: HttpRequest, user: User) -> list[Group]:
    groups = []
    for label, pages in NAVIGATION:
        entries = tuple(_entry(request, page) for page in pages if is_shown(page, user))
        if entries:
            groups.append(Group(label, entries))
    return groups


def is_shown(page: Page, user: User | AnonymousUser) -> bool:
    """Whether a page is offered to somebody, in the navigation as in the search."""
    return not page.right or has_right(user, page.right)


def _entry(request: HttpRequest, page: Page) -> Entry:
    url = reverse(page.url_name)
    current = request.path == url or (url != "/" and request.path.startswith(url))
    cluster = request.GET.get("cluster", "")
    return Entry(page.label, page.icon, f"{url}?{urlencode({'cluster': cluster})}" if cluster else url, current)


def _scope(request: HttpRequest, user: User) -> tuple[Picker, ...]:
    """The picker of a cluster, on the pages that list what several clusters hold."""
    match = request.resolver_match
    if match is None or match.view_name not in SCOPED_PAGES:
        return ()
    names = list(Cluster.objects.visible_to(user).order_by("name").values_list("name", flat=True)[:MAX_CHOICES])
    chosen = request.GET.get("cluster", "")
    every = gettext("All clusters")
    choices = [Choice(every, request.path, current=not chosen)]
    choices += [Choice(name, f"{request.path}?{urlencode({'cluster': name})}", name == chosen) for name in names]
    return (Picker(chosen if chosen in names else every, "server", tuple(choices)),)


def _role_label(user: User) -> Text:
    """The label of the widest role that the user holds anywhere."""
    widest = max(rules_of(user), key=lambda rule: len(rights_of(rule)), default=None)
    return ROLE_LABELS.get(widest.role, widest.role) if widest else ""
