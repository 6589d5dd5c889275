"""Refuses query parameters that nobody would read: what is asked is obeyed or answered, never dropped.

A view says what it takes: `parameters` for GET, `write_parameters` by method for the others, and openapi.yaml says the
same. What Run:ai documents and Muster has no use for is an `unused_parameter`. How Run:ai answers others is not said.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from core.errors import Fault, InvalidInput
from core.stored_text import unstorable

DRY_RUN = OpenApiParameter(
    "dryRun", OpenApiTypes.BOOL, description="Write nothing; the answer says what would be written.", default=False
)
# Whose values are separated by commas or given one by one.
LISTS = frozenset({"filterBy", "filterByPhases", "groupBy", "metricType"})


def unused_parameter(name: str, reason: str) -> OpenApiParameter:
    """One of Run:ai's that is taken and changes nothing, and why."""
    return OpenApiParameter(name, OpenApiTypes.STR, description=f"Without effect: {reason}.")


def query_parameters(view: Any, method: str) -> tuple[OpenApiParameter, ...]:
    """What a view takes in the query of a method, in capitals."""
    if method in ("GET", "HEAD"):
        return tuple(getattr(view, "parameters", ()))
    written: Mapping[str, Iterable[OpenApiParameter]] = getattr(view, "write_parameters", {})
    return (DRY_RUN, *written.get(method.lower(), ()))


def check_query(request: Request, view: Any) -> None:
    """Raise `InvalidInput` that names each parameter of the query that the view does not take, and those that it does;
    or each whose value cannot be stored, so that none need be looked for, is none of its choices, or is one of several
    where one is read. What is required the view asks for itself, with all else that is wrong.

    A declared name like `weight.{queue}` takes every parameter that begins like it.
    """
    parameters = query_parameters(view, str(request.method))
    known = [parameter.name for parameter in parameters]
    begun = tuple(name.partition("{")[0] for name in known if "{" in name)
    unknown = [name for name in request.query_params if name not in known and not (begun and name.startswith(begun))]
    if unknown:
        allowed = ", ".join(known) or "no parameters"
        raise InvalidInput([Fault(name[:60], "There is no such parameter", allowed) for name in unknown])
    choices = {parameter.name: parameter.enum for parameter in parameters if parameter.enum and not parameter.required}
    values = [(name, text) for name, texts in request.query_params.lists() for text in texts]
    faults = [fault for name, text in values for fault in unstorable(name[:60], text)]
    faults += [
        Fault(name[:60], "It is given more than once", "one value")
        for name, texts in request.query_params.lists()
        if len(texts) > 1 and name not in LISTS
    ]
    faults += [
        Fault(name, f"{text[:20]!r} is none of its values", ", ".join(map(str, choices[name])))
        for name, text in values
        if name in choices and text not in choices[name]
    ]
    if faults:
        raise InvalidInput(faults)
