"""Pages about network topologies and node pools."""

from django.urls import path

from topology.views import impact, new, pools, topologies

app_name = "topology"

urlpatterns = [
    path("network-topologies/", topologies.topology_list, name="topology-list"),
    path("network-topologies/new/", new.topology_new, name="topology-new"),
    path("network-topologies/<str:pk>/", topologies.topology_detail, name="topology-detail"),
    path("network-topologies/<str:pk>/nodes/", topologies.topology_nodes, name="topology-nodes"),
    path("network-topologies/<str:pk>/events/", topologies.topology_events, name="topology-events"),
    path("network-topologies/<str:pk>/yaml/", topologies.topology_yaml, name="topology-yaml"),
    path("network-topologies/<str:pk>/links/", topologies.topology_links, name="topology-links"),
    path("network-topologies/<str:pk>/replace/", new.topology_replace, name="topology-replace"),
    path("network-topologies/<str:pk>/delete/", topologies.topology_delete, name="topology-delete"),
    path("node-pools/", pools.node_pool_list, name="node-pool-list"),
    path("node-pools/new/", pools.node_pool_new, name="node-pool-new"),
    path("node-pools/<str:pk>/", pools.node_pool_detail, name="node-pool-detail"),
    path("node-pools/<str:pk>/nodes/", pools.node_pool_nodes, name="node-pool-nodes"),
    path("node-pools/<str:pk>/events/", pools.node_pool_events, name="node-pool-events"),
    path("node-pools/<str:pk>/yaml/", pools.node_pool_yaml, name="node-pool-yaml"),
    path("node-pools/<str:pk>/edit/", pools.node_pool_edit, name="node-pool-edit"),
    path("node-pools/<str:pk>/impact/", impact.node_pool_impact, name="node-pool-impact"),
    path("node-pools/<str:pk>/attach/", pools.node_pool_attach, name="node-pool-attach"),
    path("node-pools/<str:pk>/delete/", pools.node_pool_delete, name="node-pool-delete"),
]
