"""A child process: from a click to the start of its reconcile in a worker, beside a bare Celery round trip.

A click is the service behind a page (rights, audit, row, hint), here a cluster that is renamed. A B A B.
`python -m tests.bench.clicks COUNT`
"""

import json
import sys
import time

from tests.bench import product  # the first of all: it sets Django up

from django.conf import settings  # isort: skip
from redis import Redis  # isort: skip

from accounts.audit import Actor  # isort: skip
from accounts.models import User  # isort: skip
from clusters.services import rename_cluster  # isort: skip
from tests.bench import bare, stamping  # isort: skip

SECONDS = 30
WARM_UP = 10


def main(count: int) -> None:
    redis = Redis.from_url(settings.REDIS_URL, socket_timeout=2 * SECONDS)
    stamping.app.set_current()
    cluster, actor = product.the_cluster(), Actor(User.objects.order_by("pk")[0], "page")
    trips: list[float] = []
    starts: list[float] = []
    for number in range(count + WARM_UP):
        began = time.monotonic()
        bare.answer.delay()
        assert redis.blpop([bare.ANSWERED], SECONDS), "no bare answer"
        trips.append(time.monotonic() - began)
        began = time.monotonic()
        stamping.app.set_current()
        cluster = rename_cluster(actor, cluster, name=f"simulated-{number}")
        started = redis.blpop([stamping.STARTED], SECONDS)
        assert started, "no task started"
        starts.append(float(started[1]) - began)
        assert redis.blpop([stamping.ENDED], SECONDS), "the task did not end"
    print(json.dumps({"trips": trips[WARM_UP:], "starts": starts[WARM_UP:]}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
