"""What every view of the API shares: who asks and how bodies are read are settings; dry runs are here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.api import idempotency, runai
from core.api.concurrency import AtOnce, Place
from core.api.json_rendering import FastJSONRenderer
from core.api.matching import in_turn
from core.api.queries import check_query
from core.api.rates import RateLimit
from core.api.shapes import check_shape, conforming
from core.errors import InvalidInput

Answer = TypeVar("Answer")
WRITES = ("post", "put", "patch", "delete")


class ApiView(APIView):
    """A view of the API: JSON in and out, signed-in people only, Muster's errors in the one error shape."""

    # Shapes by method: what a body must be before anything is written, and what answers are encoded as.
    takes: Mapping[str, Any] = {}
    gives: Mapping[str, Any] = {}
    renderer_classes: Sequence[type[BaseRenderer]] = (FastJSONRenderer,)
    throttle_classes = (RateLimit, AtOnce)
    rate_headers: Mapping[str, str] = {}
    claim: idempotency.Claim | None = None
    place: Place | None = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The answer; the request's place among those that run at once is free when it is written, or an error comes
        that nobody foresaw: an answer whose client has left is never closed. A stream's is free when it is closed."""
        streams = False
        try:
            answer = super().dispatch(request, *args, **kwargs)
            if isinstance(answer, Response):
                answer.render()
            streams = answer.streaming
            if self.place is not None and streams:
                answer._resource_closers.append(self.place.release)  # type: ignore[attr-defined]  # called by its close()
            return answer
        finally:
            if self.place is not None and not streams:
                self.place.release()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """After who asks is known: the query is read whole; a POST with a key that was answered is not run again."""
        super().initial(request, *args, **kwargs)
        verb = str(request.method).lower()
        if self.authentication_classes and hasattr(self, verb) and request.method != "OPTIONS":
            check_query(request, self)  # not of those who ask for a token: OAuth 2 has it that they may send anything
            if verb in WRITES:
                is_dry_run(request)  # some only ask, and would not look at it
        if verb in WRITES and hasattr(self, verb):
            self.__dict__[verb] = in_turn(self.__getattribute__(verb))
        if request.method != "POST" or not request.user.is_authenticated or not hasattr(self, "post"):
            return
        found = idempotency.begin(request)
        if isinstance(found, idempotency.Claim):
            self.claim = found
            self.__dict__["post"] = idempotency.once(found, self.__getattribute__("post"))
        elif found is not None:
            self.__dict__["post"] = lambda *args, **kwargs: found

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Adds the headers of every answer, and settles the key of a POST."""
        if self.claim is not None:
            self.claim.settle(response)
        if response.status_code >= 400:
            # An error has its one shape, also where a list was asked for as CSV.
            request.accepted_renderer, request.accepted_media_type = FastJSONRenderer(), FastJSONRenderer.media_type
        elif (shape := self.gives.get(str(request.method).lower())) is not None:
            response.data = conforming(response.data, shape)
        for name, value in self.rate_headers.items():
            response.headers[name] = value
        return super().finalize_response(request, response, *args, **kwargs)

    def write(self, change: Callable[[], Answer]) -> Answer:
        """Run `change` in one transaction; with `?dryRun=true` undo it, so that its answer says what it would do.

        Raises `InvalidInput` where the body is not of its declared shape and its readers did not see that.
        """
        if (shape := self.takes.get(str(self.request.method).lower())) is not None:
            check_shape(self.request.data, shape)
        return write(self.request, change)

    def shown_once(self, secret: str) -> str:
        """A new secret for the answer; "" on a dry run, which makes none."""
        return "" if is_dry_run(self.request) else secret

    def body(self) -> dict[str, Any]:
        """The request's JSON object; raises `InvalidInput` for anything else."""
        if not isinstance(self.request.data, dict):
            raise InvalidInput.of("", "The body is not a JSON object", "a JSON object")
        return self.request.data

    def http_method_not_allowed(self, request: HttpRequest | Request, *args: Any, **kwargs: Any) -> NoReturn:
        """501 for an operation of Run:ai that Muster lacks on a path that it has, 405 for any other."""
        if runai.find(str(request.method), request.path) is not None:
            raise runai.NotServed
        raise MethodNotAllowed(str(request.method))


def is_dry_run(request: Request) -> bool:
    """Whether `?dryRun=true` asks to write nothing. Raises `InvalidInput` for other values than true and false."""
    value = request.query_params.get("dryRun", "false")
    if value not in ("true", "false"):
        raise InvalidInput.of("dryRun", f"{value[:20]!r} is not a flag", "true, false")
    return value == "true"


def write(request: Request, change: Callable[[], Answer]) -> Answer:
    """Run `change` in one transaction and return its answer, which must hold plain values, not lazy queries.

    On a dry run everything is rolled back: rows, audit, hints.
    """
    dry = is_dry_run(request)
    with transaction.atomic():
        answer = change()
        if dry:
            transaction.set_rollback(True)
    return answer
