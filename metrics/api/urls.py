"""The API's paths of metrics, relative to /api/."""

from django.urls import path

from metrics.api import views

urlpatterns = (
    path("v1/workloads/<str:workload_id>/metrics", views.WorkloadMetricsView.as_view(), name="workload-metrics"),
    path("v1/nodes/<str:node_id>/metrics", views.NodeMetricsView.as_view(), name="node-metrics"),
)
