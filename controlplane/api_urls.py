"""Mounts each package's part of the REST API below /api/."""

from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView

from controlplane import api_objects
from controlplane.api_adoptions import AdoptionsView
from controlplane.api_docs import ApiDocumentView, api_docs

PACKAGES = ("accounts", "clusters", "topology", "organizations", "workloads", "metrics")

urlpatterns: list[URLPattern | URLResolver] = [
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", api_docs, name="api-docs"),
    path("v1/openapi.json", ApiDocumentView.as_view(), name="api-document"),
    path("v1/clusters/<str:cluster_id>/adoptions", AdoptionsView.as_view(), name="cluster-adoptions"),
    *api_objects.urlpatterns(),
    *(path("", include(f"{package}.api.urls")) for package in PACKAGES),
]
