"""Makes the audit log tamper-evident: each entry's digest covers the entry and the digest before it.

The digests are keyed (HMAC with a key derived from SECRET_KEY): whoever can write to the database alone cannot make
new ones. Entries are sealed right after the transaction that wrote them, in the order in which they were committed.
Cutting off the newest entries is found by comparing with a head that was noted elsewhere (`audit verify --head`).
"""

import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import AuditChain, AuditEntry

# Longer than any transaction that writes an entry: what is unsealed after that was not sealed for a reason.
SEALED_WITHIN = timedelta(minutes=10)
CHUNK = 500
_COVERED = (
    "at", "subject", "subject_type", "source", "address", "request_id", "method", "path", "action", "outcome",
    "reason", "object_type", "object_id", "object_name", "cluster_id", "department_id", "project_id", "before", "after",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verification found. `faults` are sentences; `head` is `<sequence>:<digest>` of the newest entry."""

    checked: int
    head: str
    faults: tuple[str, ...]


@transaction.atomic
def seal() -> int:
    """Give every entry that has no place in the chain its place; returns how many. One process at a time."""
    chain = _locked_chain()
    entries = list(AuditEntry.objects.filter(sequence=None).order_by("pk")[:CHUNK])
    for entry in entries:
        chain.sequence += 1
        chain.digest = digest_of(entry, chain.sequence, chain.digest, settings.SECRET_KEY)
        AuditEntry.objects.filter(pk=entry.pk).update(sequence=chain.sequence, digest=chain.digest)
    if entries:
        chain.save(update_fields=("sequence", "digest"))
    return len(entries)


@transaction.atomic
def prune(before: datetime) -> int:
    """Delete the oldest entries up to the first one that is not older than `before`; returns how many went."""
    chain = _locked_chain()
    kept = AuditEntry.objects.filter(sequence__isnull=False, at__gte=before).order_by("sequence").first()
    old = AuditEntry.objects.filter(sequence__isnull=False, at__lt=before)
    if kept is not None:
        old = old.filter(sequence__lt=kept.sequence)
    last = old.order_by("-sequence").first()
    if last is None or last.sequence is None:
        return 0
    chain.pruned_sequence, chain.pruned_digest = last.sequence, last.digest
    chain.save(update_fields=("pruned_sequence", "pruned_digest"))
    return old.delete()[0]


def verify(head: str = "") -> Verdict:
    """Compute every digest anew. `head` is one noted earlier: it must still be in the chain (or rightly pruned)."""
    chain = AuditChain.objects.filter(pk=1).first() or AuditChain(pk=1)
    faults: list[str] = []
    sequence, digest, checked = chain.pruned_sequence, chain.pruned_digest, 0
    noted = _noted(head, faults)
    found = noted is None or noted[0] <= chain.pruned_sequence
    for place, entry in _in_order():
        checked += 1
        sequence += 1
        if place != sequence:
            faults.append(f"Entries {sequence} to {place - 1} are missing.")
            sequence = place
        elif not _holds(entry, sequence, digest):
            faults.append(f"Entry {sequence} (id {entry.pk}) or the one before it was changed.")
        digest = entry.digest
        found = found or (noted is not None and noted == (sequence, digest))
    if (sequence, digest) != (chain.sequence, chain.digest):
        faults.append(f"The log ends at {sequence}, but was sealed up to {chain.sequence}.")
    if not found:
        faults.append(f"The head {head} that was noted is not in the log.")
    faults += _unsealed()
    return Verdict(checked, f"{chain.sequence}:{chain.digest}", tuple(faults))


def digest_of(entry: AuditEntry, sequence: int, before: str, secret: str) -> str:
    """The keyed digest of one entry in its place."""
    content = {name: getattr(entry, name) for name in _COVERED}
    content["at"] = entry.at.astimezone(UTC).isoformat(timespec="microseconds")
    content["cluster_id"] = str(entry.cluster_id or "")
    text = json.dumps([sequence, before, content], sort_keys=True, separators=(",", ":"))
    return salted_hmac("muster.audit", text, secret=secret, algorithm="sha256").hexdigest()


def _holds(entry: AuditEntry, sequence: int, before: str) -> bool:
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return any(hmac.compare_digest(entry.digest, digest_of(entry, sequence, before, secret)) for secret in secrets)


def _locked_chain() -> AuditChain:
    return AuditChain.objects.select_for_update().get_or_create(pk=1)[0]


def _in_order() -> Iterator[tuple[int, AuditEntry]]:
    entries = AuditEntry.objects.filter(sequence__isnull=False).order_by("sequence")
    return ((entry.sequence or 0, entry) for entry in entries.iterator(chunk_size=CHUNK))


def _noted(head: str, faults: list[str]) -> tuple[int, str] | None:
    if not head:
        return None
    sequence, _colon, digest = head.partition(":")
    if not sequence.isdigit() or len(digest) != 64:
        faults.append(f"{head!r} is not a head: give <sequence>:<digest> as an earlier verification printed it.")
        return None
    return int(sequence), digest


def _unsealed() -> list[str]:
    count = AuditEntry.objects.filter(sequence=None, at__lt=timezone.now() - SEALED_WITHIN).count()
    return [f"{count} entries have no place in the chain."] if count else []
