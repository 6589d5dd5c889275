"""The API's paths of departments and projects, relative to /api/."""

from django.urls import path

from organizations.api import fair_share, project_views, views

ROOT = "v1/org-unit"

urlpatterns = (
    path("v1/node-pools/<str:pool_id>/fair-share", fair_share.FairShareView.as_view(), name="fair-share"),
    path(
        "v1/node-pools/<str:pool_id>/fair-share/history",
        fair_share.FairShareHistoryView.as_view(),
        name="fair-share-history",
    ),
    path(f"{ROOT}/priorities", views.PriorityListView.as_view(), name="priorities"),
    path(f"{ROOT}/departments", views.DepartmentListView.as_view(), name="departments"),
    path(f"{ROOT}/departments/count", views.DepartmentCountView.as_view(), name="departments-count"),
    path(f"{ROOT}/departments/<str:department_id>", views.DepartmentView.as_view(), name="department"),
    path(
        f"{ROOT}/departments/<str:department_id>/resources",
        views.DepartmentResourcesView.as_view(),
        name="department-resources",
    ),
    path(f"{ROOT}/projects", project_views.ProjectListView.as_view(), name="projects"),
    path(f"{ROOT}/projects/count", project_views.ProjectCountView.as_view(), name="projects-count"),
    path(f"{ROOT}/projects/<str:project_id>", project_views.ProjectView.as_view(), name="project"),
    path(
        f"{ROOT}/projects/<str:project_id>/resources",
        project_views.ProjectResourcesView.as_view(),
        name="project-resources",
    ),
)
