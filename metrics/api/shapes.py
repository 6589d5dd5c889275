"""Shapes of measurements, telemetry and reports (`runai-openapi.json`)."""

import re
from typing import Annotated, Literal

from core.api.limits import Moment, limited
from core.api.shapes import UNSET, Shape, UnsetType
from core.readable import READABLE
from metrics.reports import FILTERS, LONGEST_NAME


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


Condition = Annotated[
    str, limited(re.compile(rf"(?:{'|'.join(FILTERS)})==[^\x00]+"), examples=["projectName==assistant"])
]


class ReportCreation(Shape):
    """A report to make."""

    name: Annotated[str, limited(READABLE, minLength=1, maxLength=LONGEST_NAME)]
    start: Moment
    end: Moment
    group_by: Literal["Nodepool", "Project", "Department", "Cluster"] | None = None
    filter_by: list[Condition] | None = None


class Availability(Shape):
    """Whether reports can be made."""

    is_available: bool
