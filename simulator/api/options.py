"""Query parameters and headers of a request as the options of the verbs."""

import re
from collections.abc import Mapping

from starlette.requests import Request

from simulator.api import option_rules
from simulator.api.errors import bad_request
from simulator.api.reading import ListOptions
from simulator.api.requests import DeleteOptions, User, WriteOptions
from simulator.client import Object

Query = Mapping[str, str]


def list_options(query: Query) -> ListOptions:
    """Query parameters of lists and watches; raises 400 for a number that is none, 422 for what does not fit."""
    option_rules.check_list(query)
    return ListOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        limit=max(0, number(query, "limit")),
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
    apply = request.headers.get("content-type", "").startswith("application/apply-patch")
    option_rules.check_write(request.method, query, apply=apply)
    agent = request.headers.get("user-agent", "unknown").partition("/")[0]
    return WriteOptions(
        user=request.scope["user"],
        field_manager=query.get("fieldManager") or agent or "unknown",
        dry_run=query.get("dryRun") == "All",
        force=is_true(query, "force"),
        field_validation=query.get("fieldValidation") or "Warn",
    )


def delete_options(query: Query, user: User, body: Object | None) -> DeleteOptions:
    """From the body where there is one, else from the query; raises 422 for what does not fit."""
    given = _delete_query(query) if body is None else body
    option_rules.check_delete(given)
    preconditions = given.get("preconditions") or {}
    grace = given.get("gracePeriodSeconds")
    propagation = "Orphan" if given.get("orphanDependents") is True else given.get("propagationPolicy")
    return DeleteOptions(
        user,
        propagation or "Background",
        preconditions.get("uid") or "",
        preconditions.get("resourceVersion") or "",
        None if grace is None else int(grace),
        bool(given.get("dryRun")),
    )


def _delete_query(query: Query) -> Object:
    found: Object = {}
    if query.get("gracePeriodSeconds"):
        found["gracePeriodSeconds"] = number(query, "gracePeriodSeconds")
    if query.get("propagationPolicy"):
        found["propagationPolicy"] = query["propagationPolicy"]
    if query.get("dryRun"):
        found["dryRun"] = [query["dryRun"]]
    return found


def number(query: Query, name: str) -> int:
    """A whole number, 0 when absent."""
    text = query.get(name, "")
    if not text:
        return 0
    if not re.fullmatch(r"[+-]?\d+", text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def is_true(query: Query, name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1")
