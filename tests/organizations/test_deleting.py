"""Deleting a department or project on its page: what it hits, what forbids it, what an edit does to it."""

from typing import Any

from django.test import Client, RequestFactory
from django.utils import timezone

from accounts.models import User
from organizations import services
from organizations.impact import deletion_impact
from organizations.models import Project
from organizations.quota_rows import ensure_quota_rows
from organizations.views.shared import confirm_page
from topology.models import NodePool
from workloads.models import Workload


def test_row_28_deleting_asks_names_what_is_hit_and_refuses_what_is_in_use(page: Client, project: Project) -> None:
    pool = NodePool.objects.get()
    ensure_quota_rows(project)
    department_url = f"/departments/{project.department_id}/delete/"
    in_use = page.post(department_url, {"confirm": "research"})
    workload = Workload.objects.create(
        project=project, cluster=project.cluster, node_pool=pool, name="qwen", source="", manifest={}
    )
    forbidden = page.get(f"/projects/{project.pk}/delete/").content.decode()
    blocked = page.post(f"/projects/{project.pk}/delete/", {"confirm": "assistant"})
    workload.delete()
    asked = page.get(f"/projects/{project.pk}/delete/").content.decode()
    wrong = page.post(f"/projects/{project.pk}/delete/", {"confirm": "Assistant"})
    done = page.post(f"/projects/{project.pk}/delete/", {"confirm": "assistant"})

    assert "assistant" in in_use.content.decode()
    assert "the namespace runai-assistant with everything in it" in asked
    assert "The workload qwen is in it: delete it first." in forbidden
    assert ['name="confirm"' in each for each in (asked, forbidden)] == [True, False]
    assert [a.status_code for a in (in_use, blocked, wrong, done)] == [422, 422, 422, 302]
    project.refresh_from_db()
    assert project.is_being_deleted


def test_a_deletion_that_an_edit_came_before_is_asked_again_on_its_page(
    rf: RequestFactory, admin: User, actor: Any, project: Project
) -> None:
    """The row was read, then somebody saved another description: the deletion is refused, in the dialog."""
    opened = Project.objects.get(pk=project.pk)
    services.update_project(actor(admin), project=project, description="changed meanwhile")
    request = rf.post("/projects/1/delete/", {"confirm": opened.name})
    request.user = admin

    answer = confirm_page(
        request,
        {"title": "Delete project", "hits": [], "name": opened.name, "act": "Delete project", "back_url": "/"},
        lambda shown: services.delete_project(actor(admin), project=opened, impact=shown),
        "organizations:project-list",
        (opened, deletion_impact(admin, opened, now=timezone.now())),
    )

    assert answer.status_code == 422
    assert "changed by somebody else" in answer.content.decode()
    assert not Project.objects.get(pk=project.pk).is_being_deleted
