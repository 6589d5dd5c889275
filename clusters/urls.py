"""Pages about clusters and nodes."""

from django.urls import path

from clusters.views import clusters, node_map, nodes

app_name = "clusters"

urlpatterns = [
    path("clusters/", clusters.cluster_list, name="cluster-list"),
    path("clusters/add/", clusters.cluster_add, name="cluster-add"),
    path("clusters/<str:pk>/", clusters.cluster_detail, name="cluster-detail"),
    path("clusters/<str:pk>/credential/", clusters.cluster_credential, name="cluster-credential"),
    path("clusters/<str:pk>/test/", clusters.cluster_test, name="cluster-test"),
    path("clusters/<str:pk>/remove/", clusters.cluster_remove, name="cluster-remove"),
    path("nodes/", nodes.node_list, name="node-list"),
    path("nodes/map/", node_map.node_map, name="node-map"),
    path("nodes/map/data/", node_map.node_map_data, name="node-map-data"),
    path("nodes/<str:pk>/", nodes.node_detail, name="node-detail"),
]
