"""The page of a submission, before there is anywhere to submit to."""

from typing import Any

from django.urls import reverse


def test_without_a_project_the_page_leads_to_making_one(admin: Any, client_of: Any, cluster: Any) -> None:
    answer = client_of(admin).get(reverse("workloads:new"))

    assert answer.status_code == 200
    assert "No project yet" in answer.content.decode()
    assert f'href="{reverse("organizations:project-new")}"' in answer.content.decode()


def test_who_may_submit_nowhere_is_told_which_right_it_takes(viewer: Any, client_of: Any, project: Any) -> None:
    answer = client_of(viewer).get(reverse("workloads:new"))

    assert answer.status_code == 403
    assert "workloads:create" in answer.content.decode()
