"""Leases on jobs: two beats, repeated tasks, holders that died."""

import uuid
from datetime import timedelta

import time_machine
from django.utils import timezone

from controlplane import jobs
from controlplane.models import Job

MINUTE = timedelta(minutes=1)


def test_a_second_process_does_not_get_a_job_that_is_being_done(db):
    with jobs.lease("j", at_most=MINUTE) as first, jobs.lease("j", at_most=MINUTE) as second:
        assert (first, second) == (True, False)


def test_the_loser_does_not_free_the_winners_lease(db):
    with jobs.lease("j", at_most=MINUTE):
        with jobs.lease("j", at_most=MINUTE):
            pass
        assert jobs.taken("j") == {"j"}
    assert jobs.taken("j") == frozenset()


def test_a_job_can_be_done_again_at_once_unless_an_interval_was_given(db):
    with jobs.lease("j", at_most=MINUTE):
        pass
    with jobs.lease("j", at_most=MINUTE) as again:
        assert again
    with jobs.lease("j", at_most=MINUTE, not_sooner_than=timedelta(seconds=4)) as too_soon:
        assert not too_soon


def test_two_beats_run_a_job_once_per_interval(db):
    runs = 0
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for _ in range(20):
            for _beat in range(2):
                with jobs.lease("j", at_most=MINUTE, not_sooner_than=timedelta(seconds=4)) as ours:
                    runs += ours
            clock.shift(1)

    assert runs == 5


def test_the_lease_of_a_process_that_died_ends_by_itself(db):
    past = timezone.now() - MINUTE
    Job.objects.create(name="j", started_at=past, until=past)

    with jobs.lease("j", at_most=MINUTE) as ours:
        assert ours


def test_a_failing_job_frees_its_lease(db):
    try:
        with jobs.lease("j", at_most=MINUTE):
            raise KeyError("x")
    except KeyError:
        pass

    assert jobs.taken("j") == frozenset()


def test_breaking_all_frees_what_a_killed_worker_held_and_keeps_intervals(db):
    hour = timedelta(hours=1)
    Job.objects.create(name="held", token=uuid.uuid4(), started_at=timezone.now(), until=timezone.now() + hour)

    assert jobs.break_all() == 1

    assert jobs.taken("") == frozenset()
    with jobs.lease("held", at_most=MINUTE, not_sooner_than=MINUTE) as too_soon:
        assert not too_soon
    with jobs.lease("held", at_most=MINUTE) as ours:
        assert ours
