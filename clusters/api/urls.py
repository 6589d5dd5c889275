"""The API's paths of clusters and nodes, relative to /api/."""

from django.urls import path

from clusters.api import install_views, views

urlpatterns = (
    path("v1/clusters", views.ClusterListView.as_view(), name="clusters"),
    path("v1/clusters/<str:cluster_id>", views.ClusterView.as_view(), name="cluster"),
    path("v1/clusters/<str:cluster_id>/nodes", views.NodeListView.as_view(), name="cluster-nodes"),
    path("v1/clusters/<str:cluster_id>/nodes/count", views.NodeCountView.as_view(), name="cluster-nodes-count"),
    path(
        "v1/clusters/<str:cluster_id>/cluster-install-info",
        install_views.InstallInfoView.as_view(),
        name="cluster-install-info",
    ),
    path("v1/nodes", views.NodeListView.as_view(), name="nodes"),
    path("v1/nodes/count", views.NodeCountView.as_view(), name="nodes-count"),
)
