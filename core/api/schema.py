"""How views of the API appear in openapi.yaml: Run:ai's conventions that no single view should have to repeat."""

import re
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

_STATUS = re.compile(r"\b(20[0-9])\.$")

DRY_RUN = OpenApiParameter(
    "dryRun", OpenApiTypes.BOOL, description="Write nothing; the answer says what would be written.", default=False
)
# Collections whose lists and counts take these parameters.
FILTERED = {"nodes", "node-pools", "departments", "projects", "workloads"}
LIST_PARAMETERS = [
    OpenApiParameter("limit", OpenApiTypes.INT, description="How many rows, 1 to 500.", default=50),
    OpenApiParameter("offset", OpenApiTypes.INT, description="How many rows to skip.", default=0),
    OpenApiParameter("sortBy", OpenApiTypes.STR, description="The field to sort by."),
    OpenApiParameter("sortOrder", OpenApiTypes.STR, enum=["asc", "desc"], default="asc"),
    OpenApiParameter(
        "filterBy", OpenApiTypes.STR, description="Conditions, ANDed, separated by commas: `name==a,createdAt>=2026`."
    ),
    OpenApiParameter("search", OpenApiTypes.STR, description="Words that must all occur."),
]


class FaultSerializer(serializers.Serializer[Any]):
    """One thing wrong with one field."""

    field = serializers.CharField(help_text="Dotted path of the field.")
    message = serializers.CharField()
    allowed = serializers.CharField(help_text="What would be allowed; may be empty.")


class ErrorSerializer(serializers.Serializer[Any]):
    """The one error shape."""

    code = serializers.IntegerField(help_text="The HTTP status.")
    message = serializers.CharField()
    details = serializers.CharField(required=False)
    reason = serializers.CharField(required=False, help_text="A word for programs.")
    faults = FaultSerializer(many=True, required=False)


class MusterSchema(AutoSchema):
    """Adds the error answers and the dry-run flag; a view that declares no body is described as a JSON object."""

    def get_tags(self) -> list[str]:
        parts = [part for part in self.path.split("/") if part and not part.startswith("{")]
        named = [part for part in parts if part not in ("api", "v1", "v2", "org-unit")]
        return [named[0] if named else "api"]

    def get_operation_id(self) -> str:
        parts = [part.strip("{}") for part in self.path.split("/") if part and part != "api"]
        return "_".join([self.method.lower(), *parts]).replace("-", "_")

    def get_override_parameters(self) -> list[Any]:
        declared = list(super().get_override_parameters())
        writes = self.method in ("POST", "PUT", "PATCH", "DELETE") and "token" not in self.get_tags()
        if self.method == "GET" and self.get_tags()[0] in FILTERED and not self.path.endswith("}"):
            declared += [p for p in LIST_PARAMETERS if p.name in ("filterBy", "search") or not self._is_count()]
        return [*declared, DRY_RUN] if writes else declared

    def _is_count(self) -> bool:
        return str(self.path).endswith("/count")

    def get_request_serializer(self) -> Any:
        if self._declares_a_serializer():
            return super().get_request_serializer()
        return OpenApiTypes.OBJECT if self.method in ("POST", "PUT", "PATCH") else None

    def get_response_serializers(self) -> Any:
        declared: Any = super().get_response_serializers() if self._declares_a_serializer() else OpenApiTypes.OBJECT
        if not isinstance(declared, dict):
            status = self._success()
            declared = {status: None if status == 204 else declared}
        errors = {code: OpenApiResponse(ErrorSerializer, description=text) for code, text in self._errors().items()}
        return {**errors, **declared}

    def _success(self) -> int:
        """The status with which the first sentence of the method's docstring ends, as in "Create one. 201."."""
        said = _STATUS.search((getattr(self.view, self.method.lower()).__doc__ or "").split("\n")[0])
        return int(said[1]) if said else 204 if self.method == "DELETE" else 200

    def _declares_a_serializer(self) -> bool:
        view = self.view
        return hasattr(view, "serializer_class") or hasattr(view, "get_serializer_class")

    def _errors(self) -> dict[int, str]:
        errors = {400: "The input breaks a rule."}
        if self.view.authentication_classes:
            errors |= {401: "No or no valid token.", 403: "The right is missing."}
        if "{" in self.path:
            errors[404] = "Absent, or outside of what you may see."
        return errors
