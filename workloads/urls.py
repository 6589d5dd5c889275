"""Pages of workloads."""

from django.urls import path

from workloads.views import actions, agreement, detail, diagnosis, listing, placement, submit

app_name = "workloads"

urlpatterns = [
    path("workloads/", listing.workload_list, name="list"),
    path("workloads/new/", submit.workload_new, name="new"),
    path("workloads/new/placement/", placement.draft_placement, name="placement"),
    path("workloads/bulk/<str:action>/", actions.workload_bulk, name="bulk"),
    path("clusters/<str:pk>/agreement/", agreement.cluster_agreement, name="agreement"),
    path("clusters/<str:pk>/predictions/", agreement.prediction_list, name="predictions"),
    path("clusters/<str:pk>/predictions/<str:prediction>/case/", agreement.prediction_case, name="prediction-case"),
    path("workloads/<str:pk>/", detail.workload_detail, name="detail"),
    path("workloads/<str:pk>/why/", diagnosis.workload_why, name="why"),
    path("workloads/<str:pk>/logs/", detail.workload_logs, name="logs"),
    path("workloads/<str:pk>/events/", detail.workload_events, name="events"),
    path("workloads/<str:pk>/yaml/", detail.workload_yaml, name="yaml"),
    path("workloads/<str:pk>/edit/", submit.workload_edit, name="edit"),
    path("workloads/<str:pk>/scale/", actions.workload_scale, name="scale"),
    path("workloads/<str:pk>/suspend/", actions.workload_suspend, name="suspend"),
    path("workloads/<str:pk>/resume/", actions.workload_resume, name="resume"),
    path("workloads/<str:pk>/delete/", actions.workload_delete, name="delete"),
]
