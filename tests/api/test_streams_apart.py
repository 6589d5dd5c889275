"""Streams and waits that are left: what was meant for one request never reaches another one, and nothing is left.

The application is asked as a server asks it: scope, receive, send, and `http.disconnect` when the reader is gone.
"""

import asyncio
import json
import time
from dataclasses import dataclass, field

import pytest
from redis import Redis

from accounts import tokens
from accounts.permissions import RESEARCHER
from controlplane.api_waiting import LONGEST_WAIT, MOST_WAITING, _places
from controlplane.asgi import application
from controlplane.live import hub
from tests.api.test_waiting import run
from tests.conftest import make_user

ROUNDS = 4


@dataclass
class Exchange:
    """One request and all that was sent for it; the reader of a stream leaves after its first event."""

    path: str
    token: str
    request_id: str
    leaves: bool = False
    asked: bool = False
    sent: list = field(default_factory=list)
    late: list = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self):
        if not self.asked:
            self.asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        (self.late if self.gone.is_set() else self.sent).append(message)
        if self.leaves and message.get("body", b"").startswith(b"data:"):
            self.gone.set()

    async def whole(self):
        headers = {"authorization": f"Bearer {self.token}", "x-request-id": self.request_id, "host": "testserver"}
        path, _mark, query = self.path.partition("?")
        scope = {
            "type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": [
                (name.encode(), value.encode()) for name, value in headers.items()
            ], "client": ("127.0.0.1", 1), "server": ("testserver", 80), "scheme": "http", "http_version": "1.1",
        }  # fmt: skip
        await application(scope, self.receive, self.send)

    @property
    def told(self):
        """The object in the answer, or in the first event of the stream."""
        body = b"".join(message.get("body", b"") for message in self.sent).decode()
        return json.loads(body.partition("\n\n")[0].removeprefix("data: "))

    @property
    def answered_id(self):
        return dict(self.sent[0]["headers"])[b"X-Request-ID"].decode()


@pytest.mark.django_db(transaction=True)
def test_what_a_stream_that_was_left_still_had_to_say_reaches_nobody(broker_url, admin, world):
    other = make_user("other", RESEARCHER, "project", world.project.pk, world.cluster)
    people = [tokens.issue(user).access for user in (admin, other)]
    paths = [f"/api/v1/workloads/{row.pk}" for row in (world.running, world.waiting)]

    async def ask():
        asked = []
        for number in range(ROUNDS):
            for path in paths:
                for token in people:
                    name = f"{number}-{len(asked)}"
                    asked.append(Exchange(f"{path}/watch", token, f"stream-{name}", leaves=True))
                    asked.append(Exchange(path, token, f"get-{name}"))
        await asyncio.gather(*(one.whole() for one in asked))
        return asked, len(hub())

    asked, open_pages = run(ask)

    assert open_pages == 0
    for one in asked:
        assert one.sent[0]["status"] == 200, one
        assert one.answered_id == one.request_id
        assert one.told["id"] in one.path
        assert not any(message.get("body") for message in one.late)
    assert running(broker_url) == []


@pytest.mark.django_db(transaction=True)
def test_a_wait_that_is_left_frees_its_places_at_once(broker_url, admin, world):
    """Those of the process and of the person: not when the time is over that was asked for."""
    path = f"/api/v1/workloads/{world.waiting.pk}/wait?for=phase=Completed&timeout={LONGEST_WAIT}"
    one = Exchange(path, tokens.issue(admin).access, "wait-that-is-left")

    async def leave():
        waiting = asyncio.create_task(one.whole())
        while _places._value == MOST_WAITING and not waiting.done():
            await asyncio.sleep(0.01)
        held = running(broker_url)
        one.gone.set()
        await waiting
        return held

    held, end = run(leave), time.monotonic() + 20
    while (_places._value < MOST_WAITING or running(broker_url)) and time.monotonic() < end:
        time.sleep(0.01)

    assert len(held) == 1
    assert (_places._value, running(broker_url), one.sent, one.late) == (MOST_WAITING, [], [], [])


def running(url):
    """Whose places are taken in the broker."""
    broker = Redis.from_url(url)
    return [key for key in broker.keys("muster:running:*") if broker.zcard(key)]
