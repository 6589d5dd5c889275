"""Mounts each package's pages and the REST API."""

from django.urls import URLPattern, URLResolver, include, path

from accounts.views.language import choose_language
from controlplane import adopt_views, health_views, views
from controlplane.live_views import live
from controlplane.search import search
from core.own_views import own_views

PACKAGES = ("clusters", "topology", "organizations", "workloads", "metrics")

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.overview, name="overview"),
    path("live", live, name="live"),
    path("search", search, name="search"),
    path("views", own_views, name="own-views"),
    path("healthz", health_views.healthz, name="healthz"),
    path("readyz", health_views.readyz, name="readyz"),
    path("metrics", health_views.metrics, name="metrics"),
    path("clusters/<str:pk>/adopt/", adopt_views.cluster_adopt, name="cluster-adopt"),
    path("clusters/<str:pk>/release/", adopt_views.cluster_release, name="cluster-release"),
    path("", include("accounts.urls")),
    path("i18n/setlang/", choose_language, name="set_language"),
    *(path("", include(f"{package}.urls")) for package in PACKAGES),
    path("api/", include("controlplane.api_urls")),
    path("v1/k8s/", include("controlplane.api_legacy_urls")),
]

handler400 = "controlplane.views.bad_request"
handler404 = "controlplane.views.page_not_found"
handler500 = "controlplane.views.server_error"
