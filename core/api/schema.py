"""How views of the API appear in openapi.yaml: Run:ai's conventions that no single view should have to repeat."""

import re
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from core.api import idempotency
from core.api.documenting import schema_of
from core.api.errors import status_body
from core.api.limits import whole
from core.api.queries import query_parameters

_STATUS = re.compile(r"\b(20[0-9])[.;]")

IDEMPOTENCY_KEY = OpenApiParameter(
    idempotency.HEADER,
    {"type": "string", "pattern": whole(idempotency.KEY)},
    OpenApiParameter.HEADER,
    description="For 24 hours the same key and request get the same answer; it is run once.",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The ETag of the object as it was read, or `*`. Writes of quota and topology want it.",
)


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


def _error(code: int, text: str) -> OpenApiResponse:
    example = OpenApiExample("answer", value=status_body(code, details=text), response_only=True)
    return OpenApiResponse(ErrorSerializer, description=text, examples=[example])


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
        declared: list[Any] = super().get_override_parameters()
        if "token" in self.get_tags():
            return declared
        keyed = [IDEMPOTENCY_KEY] if self.method == "POST" else []
        matched = [IF_MATCH] if self.method not in ("GET", "POST") else []
        return [*declared, *query_parameters(self.view, self.method), *keyed, *matched]

    def get_request_serializer(self) -> Any:
        if self._declares_a_serializer():
            return super().get_request_serializer()
        writes = self.method in ("POST", "PUT", "PATCH")
        shape = self._declared("takes", dict[str, Any] if writes else None)
        return None if shape is None else {"application/json": schema_of(shape)}

    def get_response_serializers(self) -> Any:
        declared: Any = super().get_response_serializers() if self._declares_a_serializer() else None
        if not isinstance(declared, dict):
            declared = getattr(self.view, "answers", None) or self._given()
        return {**{code: _error(code, text) for code, text in self._errors().items()}, **declared}

    def _given(self) -> dict[int, Any]:
        """The successes with the declared shape: the one of the docstring, and others that the view has too."""
        status = self._success()
        shape = self._declared("gives", None if status == 204 else dict[str, Any])
        statuses = (status, *getattr(self.view, "other_successes", {}).get(self.method.lower(), ()))
        return {code: None if shape is None or code == 204 else schema_of(shape) for code in statuses}

    def _declared(self, what: str, otherwise: Any) -> Any:
        """The shape that the view declares for this method."""
        return getattr(self.view, what, {}).get(self.method.lower(), otherwise)

    def _success(self) -> int:
        """The status that the first line of the method's docstring says, as in "Create one. 201."."""
        said = _STATUS.search((getattr(self.view, self.method.lower()).__doc__ or "").split("\n")[0])
        return int(said[1]) if said else 204 if self.method == "DELETE" else 200

    def _declares_a_serializer(self) -> bool:
        view = self.view
        return hasattr(view, "serializer_class") or hasattr(view, "get_serializer_class")

    def _errors(self) -> dict[int, str]:
        errors = {400: "The input breaks a rule.", 406: "The answer has no such format."}
        if self.view.authentication_classes:
            errors |= {401: "No or no valid token.", 403: "The right is missing.", 429: "Too many requests."}
        if "{" in self.path:
            errors[404] = "Absent, or outside of what you may see."
        if self.method != "GET":
            errors |= {409: "A name is taken, or the object is in use.", 415: "The body is no JSON."}
        if self.method == "POST":
            errors[422] = "The Idempotency-Key was used for another request."
        if self.method in ("PUT", "PATCH", "DELETE"):
            errors |= {412: "The object was changed since it was read.", 428: "The write wants an If-Match."}
        return errors | getattr(self.view, "errors", {})
