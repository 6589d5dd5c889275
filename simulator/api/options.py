"""Query parameters and headers of a request as the options of the verbs."""

from collections.abc import Mapping

from starlette.requests import Request

from simulator.api.errors import bad_request
from simulator.api.reading import ListOptions
from simulator.api.requests import DeleteOptions, User, WriteOptions
from simulator.client import Object

Query = Mapping[str, str]


def list_options(query: Query) -> ListOptions:
    """Query parameters of lists and watches; raises 400 for a number that is none."""
    return ListOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        limit=number(query, "limit"),
        continue_token=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        resource_version_match=query.get("resourceVersionMatch", ""),
        timeout_seconds=number(query, "timeoutSeconds") or None,
        bookmarks=is_true(query, "allowWatchBookmarks"),
        send_initial_events=is_true(query, "sendInitialEvents"),
    )


def write_options(request: Request) -> WriteOptions:
    """Without `fieldManager` the manager is the first word of the user agent, as at a real API server."""
    query = request.query_params
    agent = request.headers.get("user-agent", "unknown").partition("/")[0]
    return WriteOptions(
        user=request.scope["user"],
        field_manager=query.get("fieldManager") or agent or "unknown",
        dry_run=dry_run(query),
        force=is_true(query, "force"),
        field_validation=query.get("fieldValidation") or "Warn",
    )


def delete_options(query: Query, user: User, body: Object | None) -> DeleteOptions:
    """From the body where it says something, else from the query; raises 400 for an unknown propagation."""
    given = body or {}
    preconditions = given.get("preconditions") or {}
    grace = given.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    propagation = given.get("propagationPolicy") or query.get("propagationPolicy") or "Background"
    if given.get("orphanDependents") is True:
        propagation = "Orphan"
    if propagation not in ("Background", "Foreground", "Orphan"):
        raise bad_request(f'invalid propagationPolicy: "{propagation}"')
    return DeleteOptions(
        user,
        propagation,
        preconditions.get("uid") or "",
        preconditions.get("resourceVersion") or "",
        None if grace is None else int(grace),
        dry_run(query) or bool(given.get("dryRun")),
    )


def number(query: Query, name: str) -> int:
    """A whole number, 0 when absent."""
    text = query.get(name, "")
    if not text:
        return 0
    if not text.isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def is_true(query: Query, name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1")


def dry_run(query: Query) -> bool:
    value = query.get("dryRun", "")
    if value not in ("", "All"):
        raise bad_request(f'Invalid value: "{value}": supported values: "All"')
    return value == "All"
