"""Paths of Run:ai that stand outside /api/, relative to /v1/k8s/."""

from django.urls import path

from clusters.api.install_views import InstallFileView
from controlplane import api_settings

urlpatterns = (
    path("setting", api_settings.SettingListView.as_view(), name="tenant-settings"),
    path("setting/<str:setting_key>", api_settings.SettingView.as_view(), name="tenant-setting"),
    path("clusters/<str:cluster_id>/installfile", InstallFileView.as_view(), name="cluster-install-file"),
)
