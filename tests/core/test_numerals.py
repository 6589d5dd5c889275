"""English of sentences with several numbers."""

import pytest
from django.utils.translation import override

from core.numerals import singular


@pytest.mark.parametrize(
    ("sentence", "right"),
    [
        ("Let role prefill start with 1 pods", "Let role prefill start with 1 pod"),
        ("1 pods of up to 1 GPUs", "1 pod of up to 1 GPU"),
        ("1 pods are gated", "1 pod is gated"),
        ("It asks for 1 GPUs, and 1 are free", "It asks for 1 GPU, and 1 is free"),
        (
            "2 of 6 pods exist; 21 pods, 0.1 CPU cores, 1,001 GPUs",
            "2 of 6 pods exist; 21 pods, 0.1 CPU cores, 1,001 GPUs",
        ),
    ],
)
def test_one_of_a_thing_is_singular(sentence: str, right: str) -> None:
    assert singular(sentence) == right


def test_other_languages_are_left_alone() -> None:
    with override("zh-hans"):
        assert singular("1 GPUs") == "1 GPUs"
