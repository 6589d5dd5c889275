"""What-ifs on the fair-share page, calculated by hand."""

from decimal import Decimal as D
from typing import Any

import pytest

from accounts.models import User
from topology.models import NodePool

pytestmark = pytest.mark.django_db


def test_what_if_works_out_another_division_and_saves_nothing(admin: User, pool: NodePool, client_of: Any) -> None:
    """With 20 deserved by vision 28 are unused: assistant 16 + 18⅔, vision 20 + 9⅓; the odd unit to assistant."""
    response = client_of(admin).get("/fair-share/", {"deserved.vision": "20"})

    would = {item.queue: (item.fair, item.would, item.change) for item in response.context["compared"]}
    assert would["assistant"] == (D(24), D(35), D(11))
    assert would["vision"] == (D(40), D(29), D(-11))
    assert pool.quotas.get(queue_name="vision").gpu_deserved == 36
    assert [line.row.fair for line in response.context["lines"]] == [D(64), D(24), D(40)]


def test_what_if_of_another_total_and_weight(admin: User, pool: NodePool, client_of: Any) -> None:
    """76 GPUs, of which the department deserves 64 and gets 76; 24 unused at 0 : 1, of which vision takes its 4."""
    response = client_of(admin).get("/fair-share/", {"total": "76", "weight.assistant": "0"})

    would = {item.queue: item.would for item in response.context["compared"]}
    assert response.context["would_total"] == D(76)
    assert would == {"research": D(76), "assistant": D(16), "vision": D(40)}


def test_what_if_of_a_priority_gives_all_that_is_unused_to_it_first(
    admin: User, pool: NodePool, client_of: Any
) -> None:
    """Assistant asks for 60 and deserves 16; of the 12 unused it then takes all, and vision keeps its 36."""
    response = client_of(admin).get("/fair-share/", {"priority.assistant": "200"})

    would = {item.queue: item.would for item in response.context["compared"]}
    assert (would["assistant"], would["vision"]) == (D(28), D(36))
    assert 'name="priority.assistant" value="200"' in response.content.decode()


def test_a_what_if_of_less_than_is_deserved_says_why_its_rows_add_up_to_more(
    admin: User, pool: NodePool, client_of: Any
) -> None:
    """The department deserves 64 and asks for as much: KAI grants it that of any total."""
    response = client_of(admin).get("/fair-share/", {"total": "60"})

    assert "The queues would get 64 GPUs, 4 more than the 60 that can be shared" in response.content.decode()
    assert "more than the" not in client_of(admin).get("/fair-share/", {"total": "76"}).content.decode()


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("deserved.vision", "many"),
        ("weight.vision", "-1"),
        ("total", "unlimited"),
        ("deserved.nobody", "4"),
        ("priority.vision", "high"),
    ],
)
def test_a_what_if_that_cannot_be_read_names_its_field(
    field: str, text: str, admin: User, pool: NodePool, client_of: Any
) -> None:
    response = client_of(admin).get("/fair-share/", {field: text})

    (fault,) = response.context["what_if"].faults
    assert fault.field == field
    assert all(item.change == 0 for item in response.context["compared"])


def test_what_if_of_a_queue_out_of_scope_is_unknown(researcher: User, pool: NodePool, client_of: Any) -> None:
    context = client_of(researcher).get("/fair-share/", {"weight.vision": "9"}).context

    assert [fault.field for fault in context["what_if"].faults] == ["weight.vision"]
