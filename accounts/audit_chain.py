"""Makes the audit log tamper-evident: each entry's digest covers the entry and the digest before it.

The digests are keyed (HMAC with a key derived from SECRET_KEY): whoever can write to the database alone cannot make
new ones. Entries are signed when they are written and sealed right after their transaction, in the order in which they
were committed; where retention cut the oldest ones off is signed too. Cutting off the newest entries is found by
comparing with a head that was noted elsewhere (`audit verify --head`).
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
# In place of its sequence and the digest before it, of an entry that has no place yet.
UNSEALED = (0, "")
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


def sign(entry: AuditEntry) -> None:
    """Give an entry that is to be written the digest without which it gets no place in the chain."""
    entry.digest = digest_of(entry, *UNSEALED, settings.SECRET_KEY)


@transaction.atomic
def seal() -> int:
    """Give every entry of ours that has no place in the chain its place; returns how many. One process at a time."""
    chain = _locked_chain()
    waiting = AuditEntry.objects.filter(sequence=None).order_by("pk")[:CHUNK]
    entries = [entry for entry in waiting if _holds(entry, *UNSEALED)]
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
    chain.pruned_seal = seal_of_pruned(chain, settings.SECRET_KEY)
    chain.save(update_fields=("pruned_sequence", "pruned_digest", "pruned_seal"))
    return old.delete()[0]


def verify(head: str = "") -> Verdict:
    """Compute every digest anew. `head` is one noted earlier: it must still be in the chain (or rightly pruned).

    Entries that are sealed meanwhile are checked too; where the oldest ones are pruned meanwhile, all is read again.
    """
    while True:
        start = _chain()
        verdict = _walk(start, head)
        if not verdict.faults or _chain().pruned_sequence == start.pruned_sequence:
            return verdict


def _walk(start: AuditChain, head: str) -> Verdict:
    faults: list[str] = []
    sequence, digest, checked, end = start.pruned_sequence, start.pruned_digest, 0, start
    noted = _noted(head, faults)
    found = noted is None or noted[0] <= sequence
    if sequence and not _was_pruned(start):
        faults.append(f"The entries up to {sequence} are missing, and no retention removed them.")
    for end, entry in _in_order(start):
        if entry is None:
            if (sequence, digest) != (end.sequence, end.digest):
                faults.append(f"The log ends at {sequence}, but was sealed up to {end.sequence}.")
            continue
        checked += 1
        sequence += 1
        place = entry.sequence or 0
        if place != sequence:
            faults.append(f"Entries {sequence} to {place - 1} are missing.")
            sequence = place
        elif not _holds(entry, sequence, digest):
            faults.append(f"Entry {sequence} (id {entry.pk}) or the one before it was changed.")
        digest = entry.digest
        found = found or (noted is not None and noted == (sequence, digest))
    if not found:
        faults.append(f"The head {head} that was noted is not in the log.")
    faults += _unsealed()
    return Verdict(checked, f"{end.sequence}:{end.digest}", tuple(faults))


def digest_of(entry: AuditEntry, sequence: int, before: str, secret: str) -> str:
    """The keyed digest of one entry in its place."""
    content = {name: getattr(entry, name) for name in _COVERED}
    content["at"] = entry.at.astimezone(UTC).isoformat(timespec="microseconds")
    content["cluster_id"] = str(entry.cluster_id or "")
    text = json.dumps([sequence, before, content], sort_keys=True, separators=(",", ":"))
    return salted_hmac("muster.audit", text, secret=secret, algorithm="sha256").hexdigest()


def _holds(entry: AuditEntry, sequence: int, before: str) -> bool:
    return any(hmac.compare_digest(entry.digest, digest_of(entry, sequence, before, secret)) for secret in _secrets())


def _was_pruned(chain: AuditChain) -> bool:
    return any(hmac.compare_digest(chain.pruned_seal, seal_of_pruned(chain, secret)) for secret in _secrets())


def seal_of_pruned(chain: AuditChain, secret: str) -> str:
    """The keyed digest of where the entries that retention removed end."""
    text = f"{chain.pruned_sequence}:{chain.pruned_digest}"
    return salted_hmac("muster.audit.pruned", text, secret=secret, algorithm="sha256").hexdigest()


def _secrets() -> tuple[str, ...]:
    return (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


def _locked_chain() -> AuditChain:
    return AuditChain.objects.select_for_update().get_or_create(pk=1)[0]


def _chain() -> AuditChain:
    return AuditChain.objects.filter(pk=1).first() or AuditChain(pk=1)


def _in_order(end: AuditChain) -> Iterator[tuple[AuditChain, AuditEntry | None]]:
    """Every entry up to the chain's end, then None; again as long as the end has moved meanwhile; and what stands
    behind the end, where nothing may."""
    entries, begin = AuditEntry.objects.order_by("sequence"), 0
    while True:
        found = entries.filter(sequence__gt=begin, sequence__lte=end.sequence)
        yield from ((end, entry) for entry in found.iterator(chunk_size=CHUNK))
        behind = list(entries.filter(sequence__gt=end.sequence)[:CHUNK])
        moved = _chain()
        if moved.sequence == end.sequence:
            yield from ((end, entry) for entry in behind)
            yield end, None
            return
        yield end, None
        begin, end = end.sequence, moved


def _noted(head: str, faults: list[str]) -> tuple[int, str] | None:
    if not head:
        return None
    sequence, _colon, digest = head.partition(":")
    if not sequence.isdigit() or len(digest) != 64:
        faults.append(f"{head!r} is not a head: give <sequence>:<digest> as an earlier verification printed it.")
        return None
    return int(sequence), digest


def _unsealed() -> list[str]:
    since = timezone.now() - SEALED_WITHIN
    waiting = AuditEntry.objects.filter(sequence=None).iterator(chunk_size=CHUNK)
    count = sum(entry.at < since or not _holds(entry, *UNSEALED) for entry in waiting)
    return [f"{count} entries have no place in the chain."] if count else []
