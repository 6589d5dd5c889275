"""The API's paths of topologies and node pools, relative to /api/."""

from django.urls import path

from topology.api import impact_views, views

urlpatterns = (
    path("v1/network-topologies", views.TopologyListView.as_view(), name="network-topologies"),
    path("v1/network-topologies/count", views.TopologyCountView.as_view(), name="network-topologies-count"),
    path("v1/network-topologies/<str:topology_id>", views.TopologyView.as_view(), name="network-topology"),
    path("v1/node-pools", views.NodePoolListView.as_view(), name="node-pools"),
    path("v1/node-pools/count", views.NodePoolCountView.as_view(), name="node-pools-count"),
    path("v1/node-pools/<str:pool_id>/impact", impact_views.NodePoolImpactView.as_view(), name="node-pool-impact"),
    path("v1/node-pools/<str:pool_id>", views.NodePoolView.as_view(), name="node-pool"),
)
