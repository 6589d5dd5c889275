"""The case that is kept of a wrong prediction: under pseudonyms, compressed, of bounded size and number."""

import gzip
from uuid import UUID

import msgspec
from django.conf import settings

from scheduling.field import FAMILY, VIA, Question, Seen, answer, misses, plain
from scheduling.redaction import redact
from workloads.models import Prediction

KEPT = "kept"
TOO_LARGE = "tooLarge"
NOT_REPLAYABLE = "notReplayable"
DROPPED = "dropped"


def case_of(row: Prediction, question: Question, seen: Seen) -> tuple[bytes | None, str]:
    """A line for ``scheduling.replay``, gzipped, and `KEPT`; without one, why. It is replayed before it is kept: under
    pseudonyms it must still miss."""
    told, told_seen = redact(question, seen)
    if not misses(answer(told).expected, told_seen):
        return None, NOT_REPLAYABLE
    line = {
        "id": f"field-{row.pk.hex[:12]}",
        "family": FAMILY,
        "via": VIA,
        "engine": row.engine_version,
        "scheduler": row.scheduler_version or "unknown",
        "input": plain(told),
        "result": plain(told_seen),
    }
    data = gzip.compress(msgspec.json.encode(line) + b"\n", mtime=0)
    if len(data) > settings.PREDICTION_CASE_KIB * 1024:
        return None, TOO_LARGE
    return data, KEPT


def forget_old_cases(cluster_id: UUID) -> int:
    """Keep the newest cases of a cluster, as many as the setting says; the predictions themselves stay."""
    rows = Prediction.objects.filter(cluster=cluster_id, case_state=KEPT).order_by("-predicted_at", "-pk")
    old = list(rows.values_list("pk", flat=True)[settings.PREDICTION_CASES :])
    return Prediction.objects.filter(pk__in=old).update(case=None, case_state=DROPPED)
