"""Evaluations that are stored in one transaction: an invalid one does not affect the others."""

import asyncio
from collections.abc import Sequence

from dashwright.api.domain.actor import Actor
from dashwright.api.evaluation_submissions import AcceptedConcurrently, EvaluationSubmissions, Idempotency
from dashwright.common.database.pool import Database
from dashwright.common.errors import AlreadyExists, Forbidden
from dashwright.common.stores import jobs
from dashwright.common.stores.job_records import NewJob, StoredJob

ACTOR = Actor(uid="user:1", login="admin", org_id=1, address="", request_id="r", trace_id="0" * 32)


def new_evaluation(name: str, namespace: str = "default") -> NewJob:
    """Return an evaluation to submit."""
    return NewJob(name, namespace, '{"panel":{}}', None, "evaluate", {}, "2026-01-01T00:00:00Z", None, None, "evaluate")


async def submit_during_commit(database: Database, store: EvaluationSubmissions, *submitted: tuple[NewJob, str]) -> Sequence[object]:
    """Submit evaluations with message ids while another transaction has the lock of jobs. Return the outcome of each.

    The first one waits for the lock, and the others are committed together after it.
    """
    async with database.transaction() as connection:
        await jobs.lock(connection, "default", "org-2")
        tasks = []
        for job, message_id in submitted:
            tasks.append(asyncio.create_task(store.submit(ACTOR, job, Idempotency(message_id, b"hash"), dry_run=False)))
            await asyncio.sleep(0)  # The task adds its evaluation to the group, in this order.
    return [_outcome(result) for result in await asyncio.gather(*tasks, return_exceptions=True)]


def _outcome(result: object) -> object:
    """Return the name of the stored evaluation, or the type of the error."""
    if isinstance(result, BaseException):
        return type(result)
    assert isinstance(result, tuple)
    job: StoredJob = result[0]
    return job.name


async def test_each_evaluation_of_a_group_has_its_own_outcome(database: Database) -> None:
    """In a group, names in use, accepted messages and evaluations over the limit are refused, and the others are stored."""
    store = EvaluationSubmissions(database, max_evaluations=4, max_waiting_jobs=1_000)
    outcomes = await submit_during_commit(
        database,
        store,
        (new_evaluation("first"), "1"),
        (new_evaluation("second"), "2"),
        (new_evaluation("first"), "3"),
        (new_evaluation("repeated"), "1"),
        (new_evaluation("third"), "4"),
        (new_evaluation("fourth"), "6"),
        (new_evaluation("fifth"), "7"),
        (new_evaluation("other", "org-2"), "8"),
    )
    # The third repeats a name, the fourth a message id, and the fifth of "default" is over its limit of four.
    expected = ["first", "second", AlreadyExists, AcceptedConcurrently, "third", "fourth", Forbidden, "other"]
    assert outcomes == expected
    async with database.connection() as connection:
        names = [row["name"] for row in await connection.fetch("select name from job order by resource_version")]
        messages = [row["message_id"] for row in await connection.fetch("select message_id from submission order by message_id")]
        audited = [row["object"] for row in await connection.fetch("select object from audit_event order by id")]
    assert names == ["first", "second", "third", "fourth", "other"]
    assert messages == ["1", "2", "4", "6", "8"]
    assert audited == [f"evaluation:{name}" for name in names]


async def test_the_second_of_two_evaluations_with_one_name_is_refused(database: Database) -> None:
    """The first of two evaluations with the same name is stored, and the other ones of the group are not affected."""
    store = EvaluationSubmissions(database, max_evaluations=100, max_waiting_jobs=1_000)
    submitted = [(new_evaluation(name), str(index)) for index, name in enumerate(["first", "same", "same", "last"])]
    assert await submit_during_commit(database, store, *submitted) == ["first", "same", AlreadyExists, "last"]


async def test_a_group_without_faults_is_one_transaction(database: Database) -> None:
    """Valid evaluations that arrive during a commit are stored in the next transaction, all of them in one."""
    store = EvaluationSubmissions(database, max_evaluations=100, max_waiting_jobs=1_000)
    names = [f"e{index}" for index in range(5)]
    assert await submit_during_commit(database, store, *((new_evaluation(name), name) for name in names)) == names
    async with database.connection() as connection:
        rows = await connection.fetch("select count(*) as jobs from change group by xid order by xid")
    assert [row["jobs"] for row in rows] == [1, 4]
