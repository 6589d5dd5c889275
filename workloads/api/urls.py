"""The API's paths of workloads, relative to /api/."""

from django.urls import path

from workloads.api import batch, views

urlpatterns = (
    path("v1/workloads", views.WorkloadListView.as_view(), name="workloads"),
    path("v1/workloads/count", views.WorkloadCountView.as_view(), name="workloads-count"),
    path("v1/workloads/batch", batch.WorkloadBatchView.as_view(), name="workloads-batch"),
    path("v1/workloads/<str:workload_id>/pods", views.WorkloadPodsView.as_view(), name="workload-pods"),
    path("v1/workloads/<str:workload_id>", views.WorkloadView.as_view(), name="workload"),
    path("v2/workloads", views.WorkloadsV2View.as_view(), name="workloads-v2"),
    path("v2/workloads/<str:workload_id>", views.WorkloadV2View.as_view(), name="workload-v2"),
)
