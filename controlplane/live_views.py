"""The stream of live topics, `/live?topic=…`: who may listen to what."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.apps import apps
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.models import User
from accounts.permissions import ScopedQuerySet, reach
from accounts.sessions import is_idle
from clusters.models import Cluster
from clusters.selectors import WatchState, stale_clusters, watch_state
from controlplane.live import Page, stream
from core.errors import NotFound
from core.live import row_topics
from core.templatetags.ui import and_more

MAX_TOPICS = 50

Answer = TypeVar("Answer")


@require_GET
async def live(request: HttpRequest) -> StreamingHttpResponse:
    """Server-sent events: JSON lists of the page's topics; events `state` and `poll` (see static/js/live.js)."""
    topics = request.GET.getlist("topic")[:MAX_TOPICS]
    session_key = request.session.session_key or ""
    user_pk = (await request.auser()).pk
    page = Page(await _away(lambda: _allowed(user_pk, topics)), row_topics(User._meta.label, user_pk)[1])
    await sync_to_async(_close_connection)()  # a stream lasts hours; it holds no connection
    response = StreamingHttpResponse(
        stream(page, lambda: _away(lambda: _state(user_pk, session_key, page.topics))),
        content_type="text/event-stream",
    )
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response


async def _away(question: Callable[[], Answer]) -> Answer:
    """Ask the database in a thread of the pool and give its connection back."""

    def ask() -> Answer:
        try:
            return question()
        finally:
            connection.close()

    return await sync_to_async(ask, thread_sensitive=False)()


def _close_connection() -> None:
    connection.close()


def _allowed(user_pk: Any, topics: list[str]) -> frozenset[str]:
    user = User.objects.filter(pk=user_pk, is_active=True).first()
    return frozenset(topic for topic in topics if user is not None and _may_hear(user, topic))


def _may_hear(user: User, topic: str) -> bool:
    """`<model label>` takes the right to read somewhere, `…@<cluster>` somewhere in that cluster, `<model label>.<pk>`
    sight of the row."""
    name, at, cluster = topic.partition("@")
    app_label, _dot, rest = name.partition(".")
    model_name, _dot, pk = rest.partition(".")
    try:
        model = apps.get_model(app_label, model_name)
    except (LookupError, ValueError):
        return False
    rows = model._default_manager.all()
    where = reach(user, _right_to_hear(app_label, rows))
    if where.is_empty or (at and not where.touches(cluster)):
        return False
    if not pk or not isinstance(rows, ScopedQuerySet):
        return True
    try:
        rows.get_visible(user, pk=pk)
    except NotFound:
        return False
    return True


def _right_to_hear(app_label: str, rows: QuerySet[Any]) -> str:
    if isinstance(rows, ScopedQuerySet):
        return rows.right
    return "users:read" if app_label == User._meta.app_label else "nodes:read"


def _state(user_pk: Any, session_key: str, topics: frozenset[str]) -> dict[str, str] | None:
    """What the live dot says; None when the session ended or a topic may no longer be heard."""
    user = User.objects.filter(pk=user_pk, is_active=True).first()
    if user is None or not _session_holds(user, session_key) or not all(_may_hear(user, t) for t in topics):
        return None
    found = stale_clusters(user)
    if not found:
        return {}
    since = [moment for cluster, state in found if (moment := _stale_since(cluster, state))]
    told = and_more([_stale_words(cluster, state) for cluster, state in found])
    return {"stale": told, "since": min(since).isoformat() if since else ""}


def _stale_since(cluster: Cluster, state: WatchState) -> datetime | None:
    """When the oldest of what is shown of the cluster was heard; None where nothing ever was."""
    if state.failed:
        return watch_state(cluster, *(kind for kind, _why in state.failed)).since
    return state.since or cluster.watcher_until


def _stale_words(cluster: Cluster, state: WatchState) -> str:
    if _stale_since(cluster, state) is None:
        return _("%(cluster)s was never heard") % {"cluster": cluster}
    if state.reason == "NoWatcher":
        return _("watcher of %(cluster)s is down") % {"cluster": cluster}
    if not state.failed:
        return str(cluster)
    return f"{cluster} ({and_more([kind for kind, _why in state.failed])})"


def _session_holds(user: User, session_key: str) -> bool:
    session = SessionStore(session_key).load()
    stored = session.get(HASH_SESSION_KEY, "")
    return constant_time_compare(stored, user.get_session_auth_hash()) and not is_idle(session)
