"""Expected values: kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity, and by hand."""

from decimal import Decimal

import pytest

from clusters.quantities import parse_quantity, to_millicores, to_whole
from core.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e3", "1000"),  # T8
        ("500m", "0.5"),  # T8: also for memory
        ("1.5Gi", "1610612736"),
        ("1.4Gi", "1503238553.6"),  # field report 68
        ("1Ei", "1152921504606846976"),
        ("100n", "0.0000001"),
        ("1E", "1000000000000000000"),
        ("1E3", "1000"),
        ("+5", "5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-1", "-1"),
        ("0", "0"),
        ("128974848", "128974848"),
        ("129e6", "129000000"),
        ("123Mi", "128974848"),
        (8, "8"),
        (0.1, "0.1"),
    ],
)
def test_a_quantity_is_parsed_exactly(text: str, value: str) -> None:
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize(
    "text", ["", "1K", "1e3Ki", "NaN", "inf", "1 Gi", "Gi", "--1", "1ki", "0x10", "1e999", "٣", "9" * 500]
)
def test_what_the_api_server_refuses_is_refused_and_named(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_quantity(text, field="resources.memory")

    assert refusal.value.faults[0].field == "resources.memory"


def test_millicores_and_bytes_round_up_as_kubernetes_does() -> None:
    assert to_millicores("1") == 1000
    assert to_millicores("0.0001") == 1
    assert to_whole("500m") == 1
    assert to_whole("1.5Ki") == 1536
