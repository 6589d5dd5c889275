"""Pages about departments and projects."""

from django.urls import path

from organizations.views import departments, fair_share, projects

app_name = "organizations"

urlpatterns = [
    path("departments/", departments.department_list, name="department-list"),
    path("departments/new/", departments.department_new, name="department-new"),
    path("departments/<str:pk>/", departments.department_detail, name="department-detail"),
    path("departments/<str:pk>/events/", departments.department_events, name="department-events"),
    path("departments/<str:pk>/yaml/", departments.department_yaml, name="department-yaml"),
    path("departments/<str:pk>/edit/", departments.department_edit, name="department-edit"),
    path("departments/<str:pk>/delete/", departments.department_delete, name="department-delete"),
    path("projects/", projects.project_list, name="project-list"),
    path("projects/new/", projects.project_new, name="project-new"),
    path("projects/<str:pk>/", projects.project_detail, name="project-detail"),
    path("projects/<str:pk>/secrets/", projects.project_secrets, name="project-secrets"),
    path("projects/<str:pk>/secrets/<int:secret>/delete/", projects.secret_delete, name="secret-delete"),
    path("projects/<str:pk>/events/", projects.project_events, name="project-events"),
    path("projects/<str:pk>/yaml/", projects.project_yaml, name="project-yaml"),
    path("projects/<str:pk>/edit/", projects.project_edit, name="project-edit"),
    path("projects/<str:pk>/delete/", projects.project_delete, name="project-delete"),
    path("fair-share/", fair_share.fair_share, name="fair-share"),
    path("projects/<str:pk>/fair-share/", fair_share.project_fair_share, name="project-fair-share"),
    path("departments/<str:pk>/fair-share/", fair_share.department_fair_share, name="department-fair-share"),
    path("node-pools/<str:pk>/quotas/", departments.node_pool_quotas, name="node-pool-quotas"),
]
