"""The API's paths of departments and projects, relative to /api/."""

from django.urls import path

from organizations.api import credentials, fair_share, project_views, telemetry, views
from organizations.api.credentials_shapes import CHANGES, CREATIONS
from organizations.api.credentials_wire import KINDS

ROOT = "v1/org-unit"
CREDENTIALS = "v1/asset/credentials"

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
    path(f"{ROOT}/departments/telemetry", telemetry.DepartmentTelemetryView.as_view(), name="departments-telemetry"),
    path(f"{ROOT}/departments/<str:department_id>", views.DepartmentView.as_view(), name="department"),
    path(
        f"{ROOT}/departments/<str:department_id>/resources",
        views.DepartmentResourcesView.as_view(),
        name="department-resources",
    ),
    path(f"{ROOT}/projects", project_views.ProjectListView.as_view(), name="projects"),
    path(f"{ROOT}/projects/count", project_views.ProjectCountView.as_view(), name="projects-count"),
    path(f"{ROOT}/projects/telemetry", telemetry.ProjectTelemetryView.as_view(), name="projects-telemetry"),
    path(f"{ROOT}/projects/<str:project_id>", project_views.ProjectView.as_view(), name="project"),
    path(
        f"{ROOT}/projects/<str:project_id>/resources",
        project_views.ProjectResourcesView.as_view(),
        name="project-resources",
    ),
    path(CREDENTIALS, credentials.AllCredentialsView.as_view(), name="credentials"),
    *(
        path(
            f"{CREDENTIALS}/{kind.path}",
            credentials.CredentialListView.as_view(kind=kind, takes={"post": CREATIONS[kind.path]}),
            name=kind.path,
        )
        for kind in KINDS.values()
    ),
    *(
        path(
            f"{CREDENTIALS}/{kind.path}/<str:asset_id>",
            credentials.CredentialView.as_view(kind=kind, takes={"put": CHANGES[kind.path]}),
            name=f"{kind.path}-one",
        )
        for kind in KINDS.values()
    ),
)
