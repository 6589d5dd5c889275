"""Schemas and examples of successful answers, recorded from the tests (answers.json; see tests/api/answers.py)."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

_FILE = Path(__file__).with_name("answers.json")
_PARAMETER = re.compile(r"\{[^}]*\}")


@cache
def recorded() -> Mapping[str, Mapping[str, Any]]:
    """`{"GET /api/v1/clusters/{} 200": {schema, example}}`."""
    found: dict[str, dict[str, Any]] = json.loads(_FILE.read_text())
    return found


def responses_of(method: str, path: str) -> dict[int, OpenApiResponse]:
    """What is known of the successful answers of an operation, by status."""
    start = f"{method} {_PARAMETER.sub('{}', path)} "
    return {
        int(key.removeprefix(start)): OpenApiResponse(
            answer["schema"], examples=[OpenApiExample("answer", value=answer["example"], response_only=True)]
        )
        for key, answer in recorded().items()
        if key.startswith(start)
    }
