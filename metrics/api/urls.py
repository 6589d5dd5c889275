"""The API's paths of metrics, relative to /api/."""

from django.urls import path

from metrics.api import reports, telemetry, views
from organizations.models import Department

urlpatterns = (
    path("v1/nodes/telemetry", telemetry.NodeTelemetryView.as_view(), name="nodes-telemetry"),
    path("v1/workloads/<str:workload_id>/metrics", views.WorkloadMetricsView.as_view(), name="workload-metrics"),
    path(
        "v1/workloads/<str:workload_id>/pods/<str:pod_id>/metrics", views.PodMetricsView.as_view(), name="pod-metrics"
    ),
    path("v1/nodes/<str:node_id>/metrics", views.NodeMetricsView.as_view(), name="node-metrics"),
    path("v1/clusters/<str:cluster_id>/metrics", views.ClusterMetricsView.as_view(), name="cluster-metrics"),
    path(
        "v1/clusters/<str:cluster_id>/nodepools/<str:pool_name>/metrics",
        views.NodePoolMetricsView.as_view(),
        name="node-pool-metrics",
    ),
    path("v1/org-unit/projects/<str:unit_id>/metrics", views.OrgUnitMetricsView.as_view(), name="project-metrics"),
    path(
        "v1/org-unit/departments/<str:unit_id>/metrics",
        views.OrgUnitMetricsView.as_view(model=Department),
        name="department-metrics",
    ),
    path("v1/org-unit/reports", reports.ReportListView.as_view(), name="reports"),
    path("v1/org-unit/reports/count", reports.ReportCountView.as_view(), name="reports-count"),
    path("v1/org-unit/reports/availability", reports.ReportAvailabilityView.as_view(), name="reports-availability"),
    path("v1/org-unit/reports/<str:report_id>", reports.ReportView.as_view(), name="report"),
    path("v1/org-unit/reports/<str:report_id>/file", reports.ReportFileView.as_view(), name="report-file"),
)
