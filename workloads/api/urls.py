"""The API's paths of workloads, relative to /api/."""

from django.urls import path

from workloads.api import agreement, batch, diagnosis, observed_views, preview, properties, telemetry, views

urlpatterns = (
    path(
        "v1/clusters/<str:cluster_id>/scheduler-agreement",
        agreement.SchedulerAgreementView.as_view(),
        name="scheduler-agreement",
    ),
    path(
        "v1/clusters/<str:cluster_id>/scheduler-agreement/predictions",
        agreement.PredictionListView.as_view(),
        name="scheduler-predictions",
    ),
    path(
        "v1/clusters/<str:cluster_id>/scheduler-agreement/predictions/<str:prediction_id>",
        agreement.PredictionView.as_view(),
        name="scheduler-prediction",
    ),
    path(
        "v1/clusters/<str:cluster_id>/scheduler-agreement/predictions/<str:prediction_id>/case",
        agreement.PredictionCaseView.as_view(),
        name="scheduler-prediction-case",
    ),
    path("v1/workload-categories", properties.CategoryListView.as_view(), name="workload-categories"),
    path("v1/workload-categories/<str:category_id>", properties.CategoryView.as_view(), name="workload-category"),
    path("v1/workload-types", properties.TypeListView.as_view(), name="workload-types"),
    path("v1/workload-types/<str:type_id>", properties.TypeView.as_view(), name="workload-type"),
    path("v1/workload-priorities", properties.PriorityListView.as_view(), name="workload-priorities"),
    path("v1/workloads", views.WorkloadListView.as_view(), name="workloads"),
    path("v1/workloads/count", views.WorkloadCountView.as_view(), name="workloads-count"),
    path("v1/workloads/batch", batch.WorkloadBatchView.as_view(), name="workloads-batch"),
    path("v1/workloads/telemetry", telemetry.WorkloadTelemetryView.as_view(), name="workloads-telemetry"),
    path("v1/workloads/preview", preview.WorkloadPreviewView.as_view(), name="workloads-preview"),
    path("v1/workloads/pods", observed_views.PodListView.as_view(), name="workloads-pods"),
    path("v1/workloads/pods/count", observed_views.PodCountView.as_view(), name="workloads-pods-count"),
    path("v1/workloads/<str:workload_id>/pods", views.WorkloadPodsView.as_view(), name="workload-pods"),
    path(
        "v1/workloads/<str:workload_id>/diagnosis", diagnosis.WorkloadDiagnosisView.as_view(), name="workload-diagnosis"
    ),
    path("v1/workloads/<str:workload_id>/events", observed_views.WorkloadEventsView.as_view(), name="workload-events"),
    path(
        "v1/workloads/<str:workload_id>/history",
        observed_views.WorkloadHistoryView.as_view(),
        name="workload-history",
    ),
    path("v1/workloads/<str:workload_id>", views.WorkloadView.as_view(), name="workload"),
    path("v2/workloads", views.WorkloadsV2View.as_view(), name="workloads-v2"),
    path("v2/workloads/<str:workload_id>", views.WorkloadV2View.as_view(), name="workload-v2"),
)
