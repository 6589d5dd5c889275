"""How lists and their counts appear in openapi.yaml: what they are filtered, searched, sorted and paged by."""

from collections.abc import Iterable, Sequence

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from core.api.ids import LARGEST_NUMBER
from core.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET
from core.filters import MAX_SEARCH_LENGTH, Filter

Parameters = tuple[OpenApiParameter, ...]

SEARCH = OpenApiParameter(
    "search", {"type": "string", "maxLength": MAX_SEARCH_LENGTH}, description="Words that must all occur."
)
ORDER = OpenApiParameter("sortOrder", OpenApiTypes.STR, enum=["asc", "desc"])


def page_parameters(*, default: int = DEFAULT_LIMIT) -> Parameters:
    """`limit` and `offset`."""
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": default}
    offset = {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0}
    return (
        OpenApiParameter("limit", limit, description="How many rows."),
        OpenApiParameter("offset", offset, description="How many rows to skip."),
    )


def sort_parameters(fields: Iterable[str]) -> Parameters:
    """`sortBy` one of these fields, and `sortOrder`."""
    return (OpenApiParameter("sortBy", OpenApiTypes.STR, enum=sorted(fields)), ORDER)


def filter_parameter(filters: Sequence[Filter]) -> OpenApiParameter:
    """`filterBy`, with its fields and their operators."""
    named = "; ".join(f"`{f.key}` {' '.join(operator for operator, _word in f.operators)}" for f in filters)
    text = f"Conditions, ANDed, separated by commas, as `name==a`. Fields and their operators: {named}."
    return OpenApiParameter("filterBy", OpenApiTypes.STR, description=text)


def count_parameters(filters: Sequence[Filter], *, searched: bool = True) -> Parameters:
    """Those of a count: which rows, not in which order."""
    return (filter_parameter(filters), *((SEARCH,) if searched else ()))


def list_parameters(filters: Sequence[Filter], sorts: Iterable[str], *, searched: bool = True) -> Parameters:
    """Those of a list with all of it."""
    return (*count_parameters(filters, searched=searched), *sort_parameters(sorts), *page_parameters())


def choice_parameter(name: str, choices: Sequence[str]) -> OpenApiParameter:
    """One of a few words; the first is the default."""
    return OpenApiParameter(name, OpenApiTypes.STR, enum=list(choices), default=choices[0])


def read_choice(request: Request, parameter: OpenApiParameter) -> str:
    """The word of a `choice_parameter`, which `queries.check_query` has looked at."""
    return str(request.query_params.get(parameter.name, parameter.default))


def flag_parameter(name: str) -> OpenApiParameter:
    """true or false, the default."""
    return choice_parameter(name, ("false", "true"))


def number_parameters(*names: str) -> Parameters:
    """Ids of rows that are numbers, which narrow a list to what belongs to them."""
    number = {"type": "integer", "minimum": 0, "maximum": LARGEST_NUMBER}
    return tuple(OpenApiParameter(name, number) for name in names)


def text_parameters(*names: str) -> Parameters:
    """Texts that narrow a list to what equals them."""
    return tuple(OpenApiParameter(name, OpenApiTypes.STR) for name in names)
