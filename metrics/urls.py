"""Pages of metrics."""

from django.urls import path

from metrics import views

app_name = "metrics"

urlpatterns = [
    path("gpu-utilisation/", views.gpu_utilisation, name="gpu-utilisation"),
    path("gpu-utilisation/nodes/<str:pk>/", views.node_gpus, name="node-gpus"),
    path("gpu-utilisation/node-pools/<str:pk>/", views.pool_gpus, name="pool-gpus"),
    path("gpu-utilisation/workloads/<str:pk>/", views.workload_gpus, name="workload-gpus"),
]
