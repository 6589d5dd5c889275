"""A case that somebody takes away for a bug report."""

from django.http import HttpResponse

from accounts import audit
from accounts.audit import Actor
from clusters.models import Cluster
from core.errors import NotFound
from workloads.models import Prediction


def download_case(actor: Actor, cluster: Cluster, pk: str) -> tuple[str, bytes]:
    """File name and content of a kept case; the audit notes who took it. Call inside a transaction. Raises `NotFound`
    alike for an absent prediction, one of another cluster, and one without a case."""
    row = Prediction.objects.filter(cluster=cluster).get_visible(actor.user, pk=pk)
    if row.case is None:
        raise NotFound
    audit.record(actor, "download", row)
    return f"muster-case-{row.pk.hex[:12]}.jsonl.gz", bytes(row.case)


def file_response(name: str, content: bytes) -> HttpResponse:
    """A gzipped file to keep."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(content, content_type="application/gzip", headers=headers)
