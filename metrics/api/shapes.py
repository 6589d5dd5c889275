"""Shapes of measurements, telemetry and reports (`runai-openapi.json`)."""

from typing import Literal

from core.api.shapes import UNSET, Shape, UnsetType


class Measured(Shape):
    """A figure at a moment. It is text, as in Run:ai."""

    value: str
    timestamp: str


class MetricGroup(Shape):
    """What a measurement was grouped by."""

    key: str
    value: str


class Measurement(Shape):
    """The values of one type, of one GPU or group where it has several."""

    type: str
    values: list[Measured]
    labels: dict[str, str] | UnsetType = UNSET
    groups: list[MetricGroup] | UnsetType = UNSET


class Measurements(Shape):
    """What was recorded; what was not is absent, and the answer is 207."""

    measurements: list[Measurement]


class ReportShape(Shape):
    """One report."""

    id: str
    name: str
    start: str
    end: str
    group_by: str | None
    filter_by: list[str] | None
    tenant_id: int
    created_at: str
    created_by: str
    status: str
    status_updated_at: str


class ReportList(Shape):
    """Reports."""

    reports: list[ReportShape]


class ReportCreation(Shape):
    """A report to make."""

    name: str
    start: str
    end: str
    group_by: Literal["Nodepool", "Project", "Department", "Cluster"] | None = None
    filter_by: list[str] | None = None


class Availability(Shape):
    """Whether reports can be made."""

    is_available: bool
