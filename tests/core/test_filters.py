"""Filter terms: what they accept, what they mean, and what they answer to nonsense."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db.models import Q

from core.errors import InvalidInput
from core.filters import Filter, parse_term

FILTERS = (
    Filter(key="name", label="Name"),
    Filter(key="phase", label="Phase", kind="choice", choices=(("Pending", "Waiting"), ("Running", "Running"))),
    Filter(key="gpus", label="GPUs", kind="number", lookup="resources__gpus"),
    Filter(key="createdAt", label="Created", kind="time", lookup="created_at"),
    Filter(key="preemptible", label="Preemptible", kind="flag"),
)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("name==a b", Q(name="a b")),
        ("name!=a", ~Q(name="a")),
        ("name=@50%", Q(name__icontains="50%")),
        ("name!@x", ~Q(name__icontains="x")),
        ("name=^gpu", Q(name__istartswith="gpu")),
        ("name=$-01", Q(name__iendswith="-01")),
        ("name===", Q(name="=")),
        ("phase==Pending", Q(phase="Pending")),
        ("gpus>=2.5", Q(resources__gpus__gte=Decimal("2.5"))),
        ("gpus<=2", Q(resources__gpus__lte=Decimal(2))),
        ("createdAt>=2021-01-01T00:00:00Z", Q(created_at__gte=datetime(2021, 1, 1, tzinfo=UTC))),
        ("createdAt<=2021-01-01", Q(created_at__lte=datetime(2021, 1, 1, tzinfo=UTC))),
        ("preemptible==true", Q(preemptible=True)),
    ],
)
def test_a_term_becomes_its_condition(text: str, condition: Q) -> None:
    term = parse_term(text, FILTERS)

    assert term.q == condition
    assert str(term) == text


@pytest.mark.parametrize(
    ("text", "field", "allowed"),
    [
        ("name", "filterBy", "=="),
        ("==x", "filterBy", "=="),
        ("owner==x", "filterBy", "createdAt, gpus, name, phase, preemptible"),
        ("phase>=Pending", "filterBy.phase", "== !="),
        ("phase==Lost", "filterBy.phase", "Pending, Running"),
        ("gpus>=many", "filterBy.gpus", "decimal number"),
        ("gpus>=NaN", "filterBy.gpus", "decimal number"),
        ("gpus>=1e999999", "filterBy.gpus", "decimal number"),
        ("createdAt>=2021-02-31T00:00:00Z", "filterBy.createdAt", "2026-11-29T14:00:00Z"),
        ("preemptible==1", "filterBy.preemptible", "true, false"),
        ("name==a\x00b", "filterBy.name", "200 characters"),
        ("name==" + "x" * 201, "filterBy.name", "200 characters"),
    ],
)
def test_nonsense_names_the_field_and_what_is_allowed(text: str, field: str, allowed: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_term(text, FILTERS)

    (fault,) = caught.value.faults
    assert fault.field == field
    assert allowed in fault.allowed


def test_a_chip_shows_words_not_keys() -> None:
    term = parse_term("phase!=Pending", FILTERS)

    assert (term.filter.label, str(term.operator_label), term.value_label) == ("Phase", "is not", "Waiting")
