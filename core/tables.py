"""The one list of the console: search, filters, sort, pages and saved views, all of them in the URL.

A view describes its list once (`TableSpec`), builds it from a queryset (`build_table`) and answers with it
(`table_response`): the page, the list alone for htmx, or everything that matches as CSV. How a page's
template draws it is said at the head of `templates/components/list.html`.

URL: `?q=words&filter=phase==Pending&filter=gpus>=1&sort=-name&show=gpus&page=2&format=csv`.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import and_, or_
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, OrderBy, Q, QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext

from core.csv import CsvColumn, csv_response
from core.errors import InvalidInput
from core.filters import MAX_SEARCH_LENGTH, MAX_SEARCH_WORDS, MAX_TERMS, Filter, Term, Text, parse_term
from core.keys_first import keys_of, rows_of
from core.own_views import query_of, views_of
from core.saved_views import Relief, SavedView, ViewLink, own_links, reliefs, view_links

Rows = QuerySet[Any, Any]
Present = Callable[[Sequence[Any]], Sequence[Any]]
# What a page of ids depends on beside the rows themselves, and the query for them → the ids.
Keep = Callable[[Hashable, Callable[[], list[Any]]], list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column's head. Its cells are drawn by the page's row template.

    `sort` lists the ORM paths to order by, empty where the column cannot be sorted. `csv` gives the value of
    a row for the export (default: the attribute `key`, dots walk). `unit` stands in the head, never in cells.
    `grow` takes the space that is left and truncates; `spare` is dropped where a row becomes a card.
    """

    key: str
    label: Text
    sort: tuple[str, ...] = ()
    numeric: bool = False
    unit: Text = ""
    hint: Text = ""
    grow: bool = False
    spare: bool = False
    csv: Callable[[Any], object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """What a list is, independent of any request.

    `name` ends up in the CSV's file name. `row_template` draws a row's cells. `search` holds ORM paths.
    `default_sort` is a column's key, `-` before it reverses; it must put what needs a person first.
    With a `bulk_template` (the buttons of the bulk bar) rows can be selected. `empty_template` says what one
    of the things is and how to make the first. When one of the live `topics` changes, the list refreshes.
    """

    name: str
    row_template: str
    columns: tuple[Column, ...]
    default_sort: str
    search: tuple[str, ...] = ()
    search_label: Text = ""
    filters: tuple[Filter, ...] = ()
    page_size: int = 50
    bulk_template: str = ""
    topics: tuple[str, ...] = ()
    empty_template: str = ""

    @property
    def operators(self) -> dict[str, Text]:
        """Every operator that one of the filters knows, with its word."""
        return dict(pair for item in self.filters for pair in item.operators)


@dataclass(frozen=True, slots=True)
class Head:
    """A column as one request sees it. `order` is "ascending", "descending" or "" (`aria-sort`)."""

    column: Column
    order: str
    next_sort: str
    shown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A list as one request sees it. `total` match, `total_all` exist; `matching` is every match in order.

    `own` are the viewer's own views, `query` is what one would keep of what is shown now; empty for the whole list.
    """

    spec: TableSpec
    heads: tuple[Head, ...]
    page: Page[Any]
    rows: Sequence[Any]
    matching: Rows
    total: int
    total_all: int
    sort: str
    q: str
    terms: tuple[Term, ...]
    views: tuple[ViewLink, ...] = ()
    own: tuple[ViewLink, ...] = ()
    query: str = ""
    reliefs: tuple[Relief, ...] = ()
    problems: tuple[str, ...] = ()
    present: Present | None = field(default=None, repr=False)

    @property
    def state(self) -> str:
        """`ready`, `empty` (nothing exists) or `filtered` (something exists, nothing matches)."""
        if self.total:
            return "ready"
        return "filtered" if self.total_all else "empty"

    @property
    def hidden_classes(self) -> str:
        """Classes of the table that hide the columns that are not to be shown, by their place in the row."""
        first = 2 if self.spec.bulk_template else 1
        return " ".join(f"without-{first + i}" for i, head in enumerate(self.heads) if not head.shown)

    @property
    def narrowed(self) -> bool:
        return bool(self.q or self.terms)

    @property
    def own_current(self) -> ViewLink | None:
        """The viewer's own view that is shown, if it is one."""
        return next((view for view in self.own if view.current), None)


def build_table(
    request: HttpRequest,
    queryset: Rows,
    spec: TableSpec,
    *,
    present: Present | None = None,
    views: Sequence[SavedView] = (),
    keep: Keep | None = None,
) -> Table:
    """Apply what the URL asks for to `queryset` (already scoped to what the viewer may see).

    What the URL gets wrong becomes a sentence in `problems` and is left out; it never fails. `present` turns
    the objects of one page (or of one chunk of the CSV) into what the row template draws, so that figures are
    fetched for what is shown only. With `keep` the ids of a page are found before its rows (`core.keys_first`), and it
    may know them from before. Queries: 2 counts when narrowed (else 1), 1 for the rows, 1 for the ids, 1 for the views.
    """
    problems: list[str] = []
    q = _search_text(request, problems)
    terms = _terms(request, spec, problems)
    sort, ordering = _ordering(request, spec, problems)

    search = _search_q(q, spec.search)
    narrowed = queryset.filter(search, *(term.q for term in terms))
    paginator = Paginator(narrowed.order_by(*ordering), spec.page_size)
    page = paginator.get_page(request.GET.get("page", "1"))
    total_all = queryset.count() if q or terms else paginator.count
    wanted = (sort, q, tuple(str(term) for term in terms), page.number)
    shown = rows_of(queryset, keep(wanted, lambda: keys_of(page.object_list))) if keep else list(page.object_list)  # type: ignore[arg-type]  # a page of a queryset is one
    return Table(
        spec=spec,
        heads=_heads(request, spec, sort),
        page=page,
        rows=present(shown) if present else shown,
        matching=narrowed.order_by(*ordering),
        total=paginator.count,
        total_all=total_all,
        sort=sort,
        q=q,
        terms=terms,
        views=view_links(queryset, spec.filters, views, None if q else terms),
        own=_own(request, queryset, spec),
        query=query_of(request.GET),
        reliefs=reliefs(queryset, search, terms) if total_all and not paginator.count else (),
        problems=tuple(problems),
        present=present,
    )


def table_response(
    request: HttpRequest, template: str, table: Table, context: Mapping[str, object] | None = None
) -> HttpResponseBase:
    """The page; or the list alone when htmx asks for it (`HX-Target: list`); or CSV when `?format=csv`."""
    if request.GET.get("format") == "csv":
        columns = [CsvColumn(str(c.label), c.csv or c.key, str(c.unit)) for c in table.spec.columns if c.label]
        return csv_response(request, table.spec.name, columns, table.matching, table.present)
    # A boosted link or form, a live refresh: only the list is exchanged.
    alone = request.headers.get("HX-Target") == "list" and "HX-Request" in request.headers
    response = render(
        request, "components/list.html" if alone else template, {**(context or {}), "table": table, "alone": alone}
    )
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


def _own(request: HttpRequest, queryset: Rows, spec: TableSpec) -> tuple[ViewLink, ...]:
    views = views_of(getattr(request, "user", None), spec.name)
    searched = partial(_search_q, paths=spec.search)
    return own_links(queryset, spec.filters, views, query_of(request.GET), searched) if views else ()


def _search_text(request: HttpRequest, problems: list[str]) -> str:
    q = request.GET.get("q", "").strip()
    if "\x00" in q:
        problems.append(gettext("The search holds a NUL character, which is left out."))
        q = q.replace("\x00", "")
    if len(q) > MAX_SEARCH_LENGTH:
        problems.append(gettext("The search is cut to its first %(limit)d characters.") % {"limit": MAX_SEARCH_LENGTH})
        q = q[:MAX_SEARCH_LENGTH]
    return q


def _search_q(q: str, paths: Sequence[str]) -> Q:
    """Every word must occur in one of the searched fields."""
    if not paths:
        return Q()
    words = q.split()[:MAX_SEARCH_WORDS]
    return reduce(and_, (reduce(or_, (Q(**{f"{path}__icontains": w}) for path in paths)) for w in words), Q())


def _terms(request: HttpRequest, spec: TableSpec, problems: list[str]) -> tuple[Term, ...]:
    terms: list[Term] = []
    # The form that adds a condition sends its parts apart: field, op, value.
    added = "".join(request.GET.get(part, "") for part in ("field", "op", "value"))
    for text in [*request.GET.getlist("filter"), *filter(None, [added])][:MAX_TERMS]:
        try:
            term = parse_term(text, spec.filters)
        except InvalidInput as error:
            fault = error.faults[0]
            problems.append(
                gettext("A filter was left out: %(message)s Allowed: %(allowed)s.")
                % {"message": fault.message, "allowed": fault.allowed or gettext("nothing")}
            )
            continue
        if term not in terms:
            terms.append(term)
    return tuple(terms)


def _ordering(request: HttpRequest, spec: TableSpec, problems: list[str]) -> tuple[str, list[OrderBy]]:
    """The sort in force and its ORM form: empty values last, ties by id, so that pages never overlap."""
    sortable = {column.key: column.sort for column in spec.columns if column.sort}
    sort = request.GET.get("sort") or spec.default_sort
    if sort.removeprefix("-") not in sortable:
        problems.append(
            gettext("This list cannot be sorted by “%(field)s”. Allowed: %(allowed)s.")
            % {"field": sort.removeprefix("-")[:60], "allowed": ", ".join(sortable)}
        )
        sort = spec.default_sort
    orders = [_order(path, sort.startswith("-") != path.startswith("-")) for path in sortable[sort.removeprefix("-")]]
    return sort, [*orders, F("pk").asc()]


def _order(path: str, descending: bool) -> OrderBy:
    expression = F(path.removeprefix("-"))
    return expression.desc(nulls_last=True) if descending else expression.asc(nulls_last=True)


def _heads(request: HttpRequest, spec: TableSpec, sort: str) -> tuple[Head, ...]:
    """`?show=key` (repeated) leaves only those columns; the first one, which opens the row, always stays."""
    chosen = set(request.GET.getlist("show")) & {column.key for column in spec.columns}
    return tuple(
        _head(column, sort, shown=not chosen or column.key in chosen or i == 0) for i, column in enumerate(spec.columns)
    )


def _head(column: Column, sort: str, *, shown: bool) -> Head:
    order = ""
    if sort.removeprefix("-") == column.key:
        order = "descending" if sort.startswith("-") else "ascending"
    first, second = (f"-{column.key}", column.key) if column.numeric else (column.key, f"-{column.key}")
    return Head(column, order, second if sort == first else first, shown)
