"""Validating webhooks: which kinds they guard, how they refuse, and what their absence makes of a write."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.api.errors import REASONS, ApiError, internal
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server


@dataclass(frozen=True, slots=True)
class Denied(Exception):
    """A webhook's refusal; `code` as the webhook chose it."""

    message: str
    code: int = 403


@dataclass(frozen=True, slots=True)
class Webhook:
    """`validate(server, new, old)` returns warnings; `delete(server, old)` only refuses. Both raise `Denied`.

    `read(object)` is how its service decodes: what no struct of its can hold is refused with 400.
    """

    name: str
    service: str  # host of the service that answers
    path: str
    validate: Callable[["Server", Object, Object | None], list[str]]
    read: Callable[[Object], Object]
    delete: Callable[["Server", Object], None] | None = None

    def check(self, server: "Server", group: str, new: Object, old: Object | None) -> list[str]:
        """Raises the API server's words around a refusal, 500 while the webhook is down."""
        self._require(server, group)
        try:
            return self.validate(server, self.read(new), old if old is None else self.read(old))
        except Denied as denied:
            raise self._refusal(denied) from denied

    def check_delete(self, server: "Server", group: str, old: Object) -> None:
        if self.delete is None:
            return
        self._require(server, group)
        try:
            self.delete(server, self.read(old))
        except Denied as denied:
            raise self._refusal(denied) from denied

    def _refusal(self, denied: Denied) -> ApiError:
        text = f'admission webhook "{self.name}" denied the request: {denied.message}'
        return ApiError(denied.code, REASONS[denied.code], text)

    def _require(self, server: "Server", group: str) -> None:
        if server.faults.active("webhook-down", group=group) is not None:
            url = f"https://{self.service}:443{self.path}?timeout=10s"
            raise internal(
                f'Internal error occurred: failed calling webhook "{self.name}": failed to call webhook: '
                f'Post "{url}": dial tcp 10.96.0.7:443: connect: connection refused'
            )
