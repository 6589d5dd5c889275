"""Two who write the same object at once: who named no state comes after the other, who named one is told."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from accounts.models import User
from organizations.models import Project

PATH = "/api/v1/org-unit/projects/{}"


@contextmanager
def written_between(project: Project, times: int) -> Iterator[None]:
    """So many times somebody else's change comes right before the request's own, which takes it back as it fails."""
    left = times

    def write(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal left
        table = f'UPDATE "{Project._meta.db_table}"'
        if sql.startswith(table) and left:
            left -= 1
            execute(f"{table} SET generation = generation + 1 WHERE id = %s", (project.pk,), many, context)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(write):
        yield
    assert left == 0


@pytest.mark.parametrize("header", [{}, {"HTTP_IF_MATCH": "*"}])
def test_who_names_no_state_writes_after_the_other(
    admin: User, client_of: Callable[..., Any], project: Project, header: dict[str, str]
) -> None:
    with written_between(project, 3):
        answer = client_of(admin).put(
            PATH.format(project.pk), json.dumps({"description": "mine"}), content_type="application/json", **header
        )

    assert answer.status_code == 200, answer.content
    assert Project.objects.get(pk=project.pk).description == "mine"


def test_a_deletion_that_names_no_state_is_no_edit_of_one(
    admin: User, client_of: Callable[..., Any], project: Project
) -> None:
    with written_between(project, 1):
        answer = client_of(admin).delete(PATH.format(project.pk))

    assert answer.status_code == 202, answer.content
    assert Project.objects.get(pk=project.pk).is_being_deleted


def test_who_names_a_state_is_told_that_it_is_over(
    admin: User, client_of: Callable[..., Any], project: Project
) -> None:
    with written_between(project, 1):
        answer = client_of(admin).delete(PATH.format(project.pk), HTTP_IF_MATCH=f'"{project.generation}"')

    assert answer.status_code == 412
    assert not Project.objects.get(pk=project.pk).is_being_deleted
