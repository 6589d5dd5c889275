"""Documents and forms that no page of ours sends: they come back with what is wrong, and nothing is written."""

from typing import Any

import pytest
from django.urls import reverse

from tests.workloads.test_views import PASTED, form
from workloads.models import Workload


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('resources:\n        limits:\n          gpu: "1"', "volumeMounts: x"),
        ('resources:\n        limits:\n          gpu: "1"', "sharedMemory: 5"),
        ('resources:\n        limits:\n          gpu: "1"', "envs: {}"),
        ('gpu: "1"', 'gpu: "' + "9" * 40 + '"'),
    ],
)
@pytest.mark.usefixtures("quota", "topology", "nodes")
@pytest.mark.parametrize("view", ["yaml", "form"])
def test_a_document_of_any_shape_comes_back_with_what_is_wrong(
    project: Any, client_of: Any, researcher: Any, view: str, old: str, new: str
) -> None:
    data = form(PASTED.replace(old, new), project, view=view, action="submit")

    response = client_of(researcher).post(reverse("workloads:new"), data)

    assert response.status_code == 422
    assert not Workload.objects.exists()


@pytest.mark.usefixtures("quota", "topology", "nodes")
@pytest.mark.parametrize("source", ["", " ", "\n# nothing\n"])
def test_an_editor_that_was_emptied_submits_nothing(project: Any, client_of: Any, researcher: Any, source: str) -> None:
    data = form(source, project, view="yaml", action="submit")

    response = client_of(researcher).post(reverse("workloads:new"), data)

    assert response.status_code == 422
    assert [check.message for check in response.context["page"].checks] == ["it holds 0 documents"]
    assert not Workload.objects.exists()


@pytest.mark.usefixtures("quota", "topology", "nodes")
@pytest.mark.parametrize("gone", ["999999", "x"])
def test_nothing_is_submitted_to_another_project_than_the_chosen_one(
    project: Any, client_of: Any, researcher: Any, gone: str
) -> None:
    """Somebody deleted it, or took it out of sight, while the form was open."""
    data = form(PASTED, project, view="yaml", action="submit") | {"project": gone}

    response = client_of(researcher).post(reverse("workloads:new"), data)

    assert response.status_code == 422
    assert [check.field for check in response.context["page"].blocking] == ["project"]
    assert not Workload.objects.exists()
    assert client_of(researcher).post(reverse("workloads:new"), data | {"project": str(project.pk)}).status_code == 302
