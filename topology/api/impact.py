"""`dryRun` of a write that moves work: its answer says whom it would hit, as the pages do before they save."""

from collections.abc import Callable

import msgspec
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.views import is_dry_run
from topology.impact_names import Shown


def dry_impact(request: Request, work: Callable[[], Shown]) -> Shown | None:
    """The effects, worked out only where `?dryRun=true` asks for them."""
    return work() if is_dry_run(request) else None


def with_impact(response: Response, impact: Shown | None) -> Response:
    """The answer with a field `impact` on a dry run; a list becomes the field `resources`, an empty answer 200."""
    if impact is None:
        return response
    shown = msgspec.to_builtins(response.data)
    data = {"resources": shown} if isinstance(shown, list) else shown or {}
    response.data = {**data, "impact": impact}
    if response.status_code == 204:
        response.status_code = 200
    return response
