"""The audit log is a chain: whatever is changed, removed, added or cut off behind Muster's back is found."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from accounts import audit_chain
from accounts.audit import record
from accounts.models import AuditChain, AuditEntry


@pytest.fixture
def log(admin, actor, default_pool):
    """Five entries, sealed."""
    for i in range(5):
        record(actor(admin), "update", default_pool, before={"label_value": str(i)}, after={"label_value": str(i + 1)})
    audit_chain.seal()
    return default_pool


def entry(sequence):
    return AuditEntry.objects.filter(sequence=sequence)


def write_anew(moments):
    """The log as it were if those entries had been written then."""
    AuditChain.objects.all().delete()
    for each in AuditEntry.objects.all():
        each.at, each.sequence = moments.get(each.sequence, each.at), None
        audit_chain.sign(each)
        each.save()
    audit_chain.seal()


def test_an_untouched_log_holds(log):
    verdict = audit_chain.verify()

    assert (verdict.checked, verdict.faults) == (5, ())
    assert verdict.head == f"5:{entry(5).get().digest}"


@pytest.mark.parametrize(
    "change",
    [
        {"subject": "somebody@example.org"},
        {"address": "192.0.2.1"},
        {"after": {"label_value": "x"}},
        {"outcome": "Failed"},
        {"at": timezone.now() - timedelta(days=1)},
        {"object_id": "another"},
        {"project_id": 4},
        {"digest": "0" * 64},
    ],
)
def test_a_changed_entry_is_found(log, change):
    entry(3).update(**change)

    assert any("Entry 3 " in fault for fault in audit_chain.verify().faults)


def test_a_removed_entry_is_found(log):
    entry(3).delete()

    assert "Entries 3 to 3 are missing." in audit_chain.verify().faults


def test_entries_that_changed_places_are_found(log):
    entry(2).update(sequence=99)
    entry(3).update(sequence=2)
    entry(99).update(sequence=3)

    assert audit_chain.verify().faults


def test_an_entry_that_was_added_is_found(log):
    AuditEntry.objects.create(subject="x", source="page", action="update", sequence=6, digest="0" * 64)

    assert audit_chain.verify().faults


def test_an_entry_that_hides_from_the_chain_is_found(log):
    AuditEntry.objects.create(
        subject="x", source="page", action="update", at=timezone.now() - audit_chain.SEALED_WITHIN * 2
    )

    assert audit_chain.verify().faults == ("1 entries have no place in the chain.",)


@pytest.mark.parametrize("at", [timezone.now(), timezone.now() + timedelta(days=36500)], ids=["now", "to come"])
def test_an_entry_that_waits_for_its_place_and_is_not_ours_gets_none_and_is_found(log, at):
    forged = AuditEntry.objects.create(subject="x", source="page", action="update", at=at)

    assert audit_chain.seal() == 0
    assert audit_chain.verify().faults == ("1 entries have no place in the chain.",)
    forged.refresh_from_db()
    assert forged.sequence is None


def test_oldest_entries_that_were_cut_off_as_if_their_time_was_over_are_found(log):
    cut_off = "The entries up to 2 are missing, and no retention removed them."
    head = audit_chain.verify().head
    AuditChain.objects.update(pruned_sequence=2, pruned_digest=entry(2).get().digest)
    AuditEntry.objects.filter(sequence__lte=2).delete()

    assert audit_chain.verify().faults == audit_chain.verify(head).faults == (cut_off,)

    # Nor does the seal of an earlier retention hold for more than that removed.
    write_anew({3: timezone.now() - timedelta(days=91)})
    assert audit_chain.prune(timezone.now() - timedelta(days=90)) == 1
    assert audit_chain.verify().faults == ()
    AuditChain.objects.update(pruned_sequence=2, pruned_digest=entry(2).get().digest)
    AuditEntry.objects.filter(sequence=2).delete()
    assert audit_chain.verify().faults == (cut_off,)


def test_numbers_that_databases_write_otherwise_hold(log, admin, actor):
    told = {"whole": 8.0, "huge": 1e300, "small": 1e-7, "part": 0.5}
    written = record(actor(admin), "update", log, after=told)
    audit_chain.seal()
    written.refresh_from_db()

    assert written.after == {**told, "huge": 10**300}
    assert audit_chain.verify().faults == ()


def test_newest_entries_that_were_cut_off_are_found(log):
    head = audit_chain.verify().head
    entry(5).delete()

    assert audit_chain.verify().faults == ("The log ends at 4, but was sealed up to 5.",)

    # Whoever also sets the end back is found by the head that was noted elsewhere.
    AuditChain.objects.update(sequence=4, digest=entry(4).get().digest)
    assert audit_chain.verify().faults == ()
    assert audit_chain.verify(head).faults == (f"The head {head} that was noted is not in the log.",)


def test_a_chain_made_anew_without_the_key_is_found(log, settings):
    with_another_key = "another key that whoever has the database alone may think of"
    digest = ""
    for each in AuditEntry.objects.order_by("sequence"):
        each.subject = "nobody@example.org"
        digest = audit_chain.digest_of(each, each.sequence, digest, with_another_key)
        entry(each.sequence).update(subject=each.subject, digest=digest)
    AuditChain.objects.update(digest=digest)

    assert len(audit_chain.verify().faults) == 5


def test_the_chain_goes_on_when_the_key_is_exchanged(log, settings, admin, actor):
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "the new key " * 6
    record(actor(admin), "update", log)
    audit_chain.seal()

    assert (audit_chain.verify().checked, audit_chain.verify().faults) == (6, ())

    settings.SECRET_KEY_FALLBACKS = []
    assert len(audit_chain.verify().faults) == 5


def test_what_has_outlived_its_time_goes_and_the_rest_still_holds(log):
    now = timezone.now()
    write_anew({i: now - timedelta(days=93 - i) for i in range(1, 6)})

    gone = audit_chain.prune(now - timedelta(days=90, hours=1))

    assert gone == 2
    assert (audit_chain.verify().checked, audit_chain.verify().faults) == (3, ())
    entry(3).delete()
    assert audit_chain.verify().faults[0] == "Entries 3 to 3 are missing."


@pytest.mark.django_db(transaction=True)
def test_entries_are_sealed_when_their_transaction_commits_and_not_when_it_fails(admin, actor, default_pool):
    with transaction.atomic():
        record(actor(admin), "update", default_pool)
        assert AuditEntry.objects.get().sequence is None
    assert AuditEntry.objects.get().sequence == 1

    with transaction.atomic():
        record(actor(admin), "update", default_pool)
        transaction.set_rollback(True)
    assert (AuditEntry.objects.count(), audit_chain.verify().faults) == (1, ())


@pytest.mark.django_db(transaction=True)
def test_writers_side_by_side_make_one_chain(admin, actor, default_pool):
    from concurrent.futures import ThreadPoolExecutor

    if connection.vendor == "sqlite":
        pytest.skip("only on PostgreSQL: SQLite's database of tests is in memory and takes one writer")

    def write(_number):
        try:
            for _ in range(5):
                with transaction.atomic():
                    record(actor(admin), "update", default_pool)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))

    assert (audit_chain.verify().checked, audit_chain.verify().faults) == (20, ())


def test_the_command_says_that_the_log_holds_or_what_is_wrong(log, capsys):
    call_command("audit", "verify")
    said = capsys.readouterr().out
    assert said.startswith("5 entries hold. Head: 5:")
    call_command("audit", "verify", head=said.rpartition(" ")[2].strip())

    entry(2).delete()
    with pytest.raises(CommandError, match="Entries 2 to 2 are missing"):
        call_command("audit", "verify")
    with pytest.raises(CommandError, match="is not a head"):
        call_command("audit", "verify", head="x")


def test_entries_that_are_sealed_while_the_log_is_verified_are_no_fault(log, admin, actor):
    """On a working installation somebody always writes: here after the chain's end was read, before the entries are."""
    written = []

    def write(execute, sql, params, many, context):
        if "accounts_auditentry" in sql and sql.startswith("SELECT") and len(written) < 2:
            written.append(sql)
            record(actor(admin), "update", log)
            audit_chain.seal()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(write):
        verdict = audit_chain.verify()

    assert (verdict.checked, verdict.faults) == (7, ())
    assert verdict.head.startswith("7:")


def test_entries_that_are_pruned_while_the_log_is_verified_are_no_fault(log):
    write_anew(dict.fromkeys((1, 2), timezone.now() - timedelta(days=91)))
    pruned = []

    def prune(execute, sql, params, many, context):
        if "accounts_auditentry" in sql and sql.startswith("SELECT") and not pruned:
            pruned.append(0)
            pruned[0] = audit_chain.prune(timezone.now() - timedelta(days=90))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(prune):
        verdict = audit_chain.verify()

    assert (pruned, verdict.checked, verdict.faults) == ([2], 3, ())
