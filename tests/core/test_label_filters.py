import datetime as dt
from typing import Any

import pytest

from clusters.models import Node
from core.errors import InvalidInput
from core.filters import Filter, parse_term

FILTERS = (Filter(key="label", label="Label", lookup="labels", kind="label"), Filter(key="name", label="Name"))
LABELS: dict[str, dict[str, str]] = {
    "a": {"pool": "pvt", "topology.kubernetes.io/rack": "r1"},
    "b": {"pool": "pvt2", "odd": ""},
    "c": {},
}


@pytest.fixture
def nodes(cluster: Any) -> None:
    for name, labels in LABELS.items():
        at = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
        Node.objects.create(cluster=cluster, uid=name, name=name, resource_version="1", created_at=at, labels=labels)


@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize(
    ("term", "names"),
    [
        ("label==pool=pvt", ["a"]),  # field report 83
        ("label:pool==pvt", ["a"]),
        ("label!=pool=pvt", ["b", "c"]),
        ("label:pool!=pvt", ["b", "c"]),
        ("label==pool", ["a", "b"]),
        ("label:pool", ["a", "b"]),
        ("label!=pool", ["c"]),
        ("label:topology.kubernetes.io/rack==r1", ["a"]),
        ("label==odd=", ["b"]),
        ("label==x'\"%s__y=1", []),
        ("label==pool=nowhere", []),
    ],
)
def test_a_label_is_a_filter_like_any_other(term: str, names: list[str]) -> None:
    found = Node.objects.filter(parse_term(term, FILTERS).q).order_by("name")

    assert list(found.values_list("name", flat=True)) == names


def test_a_label_can_only_be_equal_or_not() -> None:
    with pytest.raises(InvalidInput, match="operator"):
        parse_term("label>=pool=pvt", FILTERS)


def test_only_a_label_filter_takes_a_key() -> None:
    with pytest.raises(InvalidInput):
        parse_term("name:pool==pvt", FILTERS)
