"""Mounts each package's part of the REST API below /api/."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

PACKAGES = ("accounts", "clusters", "topology", "organizations", "workloads", "metrics")

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include(f"{package}.api.urls"))
    for package in PACKAGES
    if find_spec(f"{package}.api") and find_spec(f"{package}.api.urls")
]
