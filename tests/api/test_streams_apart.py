"""Streams that their readers leave: what was meant for one request never reaches another one, and nothing is left.

The application is asked as a server asks it: scope, receive, send, and `http.disconnect` when the reader is gone.
"""

import asyncio
import json
from dataclasses import dataclass, field

import pytest
from redis import Redis

from accounts import tokens
from accounts.permissions import RESEARCHER
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
        scope = {
            "type": "http", "method": "GET", "path": self.path, "query_string": b"", "headers": [
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
    counted = Redis.from_url(broker_url)
    assert [key for key in counted.keys("muster:running:*") if counted.zcard(key)] == []
