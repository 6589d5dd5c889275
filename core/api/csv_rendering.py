"""Lists and measurements as CSV, for `Accept: text/csv`: one line per row, nested values as JSON."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

import msgspec
from rest_framework.renderers import BaseRenderer

from core.api.json_rendering import FastJSONRenderer, encode
from core.csv import FORMULA_STARTS


class CsvRenderer(BaseRenderer):
    """Measurements become a line per value; any other answer the lines of the one list that it holds."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> str:
        data = msgspec.json.decode(encode(data))  # plain values, in the columns of the JSON
        rows = list(_measured(data) if _is_measured(data) else _listed(data))
        columns = list(dict.fromkeys(column for row in rows for column in row))
        text = StringIO()
        lines = csv.writer(text, lineterminator="\r\n")
        lines.writerow(columns)
        lines.writerows([_cell(row.get(column)) for column in columns] for row in rows)
        return text.getvalue()


RENDERERS = (FastJSONRenderer, CsvRenderer)


def _is_measured(data: Any) -> bool:
    return isinstance(data, Mapping) and ("measurements" in data or "values" in data)


def _measured(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """`{measurements: [{type, labels, groups, values}]}` and telemetry's `{type, timestamp, values}`."""
    if "measurements" not in data:
        for value in data["values"]:
            groups = {group["key"]: group.get("name") or group["value"] for group in value.get("groups", ())}
            yield {"type": data["type"], **groups, "timestamp": data["timestamp"], "value": value["value"]}
        return
    for entry in data["measurements"]:
        groups = {group["key"]: group["value"] for group in entry.get("groups", ())}
        for value in entry["values"]:
            yield {"type": entry["type"], **(entry.get("labels") or {}), **groups, **value}


def _listed(data: Any) -> Sequence[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        data = next((value for value in data.values() if isinstance(value, list)), [data])
    return [row if isinstance(row, Mapping) else {"value": row} for row in data]


def _cell(value: Any) -> Any:
    """Numbers and text as they are, but for text that a spreadsheet would run."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return value
