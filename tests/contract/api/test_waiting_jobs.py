"""The limit of waiting jobs of an organization. At the limit, jobs are 429 over HTTP, and messages in the queue are delayed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import orjson
import pytest
from tests.contract.api import repositories
from tests.contract.api.conftest import ADMIN, Api, StartApi
from tests.contract.api.watching import watching

from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.message import Message
from dashwright.common.messaging.topology import topology

LIMIT: Final = 2
JOBS: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/jobs"
EVALUATIONS: Final = "/apis/expressions.dashwright.io/v0alpha1/namespaces/default/evaluations"
EVALUATION: Final = {"spec": {"panel": {"type": "timeseries", "targets": [{"refId": "A", "type": "math", "expression": "1"}]}}}
SYNC: Final = {"action": "sync", "sync": {}}


@pytest.fixture
async def broker() -> AsyncIterator[MemoryBroker]:
    """Start a broker with a short retry delay."""
    broker = MemoryBroker(topology(delays=(0.05,)))
    await broker.start()
    yield broker
    await broker.close()


@pytest.fixture
async def api(start_api: StartApi, unvalidated_panels: None) -> Api:
    """Return a gateway with the limit, four repositories and no worker."""
    api = await start_api(waiting_jobs=LIMIT)
    for name in ("a", "b", "c", "d"):
        await repositories.make_local_repository(api, name, api.data / name, "write")
    return api


async def submit_job(api: Api, repository: str, body: Any = SYNC) -> tuple[int, Any, str | None]:
    """Return status, body and ``Retry-After`` of a submission over HTTP."""
    path = f"{repositories.REPOSITORIES}/{repository}/jobs"
    async with api.session.post(path, json=body, headers={"Authorization": ADMIN}) as response:
        return response.status, await response.json(), response.headers.get("Retry-After")


async def fill_limit(api: Api) -> str:
    """Submit as many jobs as may wait, and return the name of one of them."""
    responses = [await submit_job(api, name) for name in ("a", "b")]
    assert [status for status, _, _ in responses] == [202, 202]
    return str(responses[0][1]["metadata"]["name"])


async def count_waiting_jobs(api: Api, namespace: str = "default") -> int:
    """Return the number of pending jobs of an organization."""
    count: int = await api.sql("select count(*) from job where namespace = $1 and state = 'pending'", namespace)
    return count


async def test_further_jobs_are_refused_until_a_job_ends(api: Api) -> None:
    """At the limit a job is refused with 429, Retry-After and the numbers; after the end of a waiting job it is accepted."""
    name = await fill_limit(api)
    status, error, retry_after = await submit_job(api, "c")
    assert (status, error["reason"], retry_after) == (429, "TooManyRequests", "5")
    assert "would have 3 waiting jobs, more than 2 (DASHWRIGHT_WAITING_JOBS)" in error["message"]
    assert await count_waiting_jobs(api) == LIMIT
    assert (await api("DELETE", f"{JOBS}/{name}"))[0] == 200
    assert (await submit_job(api, "c"))[0] == 202


async def test_a_list_is_accepted_or_refused_as_a_whole(api: Api) -> None:
    """A list that exceeds the limit stores no job."""
    assert (await submit_job(api, "a"))[0] == 202
    assert (await submit_job(api, "b", [SYNC, {"action": "export", "export": {}}]))[0] == 429
    assert await count_waiting_jobs(api) == 1


async def test_a_job_that_is_merged_is_accepted_at_the_limit(api: Api) -> None:
    """A job that equals a waiting one is accepted at the limit, because it adds no job."""
    name = await fill_limit(api)
    status, job, _ = await submit_job(api, "a")
    assert (status, job["metadata"]["name"]) == (202, name)


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
async def test_evaluations_share_the_limit(api: Api, query: str) -> None:
    """At the limit an evaluation is refused like a job, and so is its dry run."""
    await fill_limit(api)
    status, error = await api("POST", f"{EVALUATIONS}{query}", EVALUATION)
    assert (status, error["details"]["causes"][0]["field"]) == (429, "quota.waitingJobs")


async def test_concurrent_evaluations_never_exceed_the_limit_of_a_gateway(api: Api) -> None:
    """Evaluations that are stored in groups are accepted up to the limit, and those of another organization are not delayed."""
    other_org_id = await api.organization("Other")
    in_other_organization = {"X-Grafana-Org-Id": str(other_org_id)}
    await api.sql("insert into org_user (org_id, user_id, role) values ($1, 1, 'Admin')", other_org_id)
    path = EVALUATIONS.replace("default", f"org-{other_org_id}")
    responses, responses_of_other_organization = await asyncio.gather(
        asyncio.gather(*(api("POST", EVALUATIONS, EVALUATION) for _ in range(10))),
        asyncio.gather(*(api("POST", path, EVALUATION, headers=in_other_organization) for _ in range(2))),
    )
    assert [status for status, _ in responses_of_other_organization] == [202, 202]
    statuses = [status for status, _ in responses]
    accepted_count, refused_count = statuses.count(202), statuses.count(429)
    assert await count_waiting_jobs(api) == accepted_count
    # Of the ten evaluations, at most LIMIT are accepted.
    assert refused_count >= 10 - LIMIT


async def test_messages_wait_until_there_is_room(api: Api, broker: MemoryBroker) -> None:
    """A message of an organization at its limit waits until a job ends, and does not delay a message of a second organization."""
    other_org_id = await api.organization("Other")
    await api.sql("insert into org_user (org_id, user_id, role) values ($1, 1, 'Admin')", other_org_id)
    name = await fill_limit(api)
    body = orjson.dumps(EVALUATION | {"kind": "Evaluation"})
    messages = [Message(body=body, headers={"authorization": ADMIN}, message_id=str(number)) for number in range(2)]
    path = EVALUATIONS.replace("default", f"org-{other_org_id}")
    in_other_organization = {"X-Grafana-Org-Id": str(other_org_id)}
    async with watching(api, EVALUATIONS) as evaluations, watching(api, path, headers=in_other_organization) as other_evaluations:
        await broker.publish(broker.topology.jobs, "submit.default", messages[0])
        await broker.publish(broker.topology.jobs, f"submit.org-{other_org_id}", messages[1])
        assert (await other_evaluations.next_type_and_name())[0] == "ADDED"
        assert await count_waiting_jobs(api) == LIMIT
        await api("DELETE", f"{JOBS}/{name}")
        assert (await evaluations.next_type_and_name())[0] == "ADDED"
    assert await api.sql("select count(*) from dead_letter") == 0


@pytest.mark.parametrize(("message_priority", "job_priority"), [(0, 3), (1, 1), (4, 4), (5, 5), (9, 5), (255, 5)])
async def test_the_priority_of_a_message_is_that_of_its_jobs(
    api: Api, broker: MemoryBroker, message_priority: int, job_priority: int
) -> None:
    """The AMQP property ``priority`` applies to jobs and evaluations. Without it, or with 0, their priority is 3; above 5, it is 5."""
    for path, submission in ((JOBS, {**SYNC, "repository": "a"}), (EVALUATIONS, EVALUATION | {"kind": "Evaluation"})):
        async with watching(api, path) as events:
            message = Message(body=orjson.dumps(submission), headers={"authorization": ADMIN}, priority=message_priority)
            await broker.publish(broker.topology.jobs, "submit.default", message)
            assert (await events.next_type_and_name())[0] == "ADDED"
    assert await api.sql("select array_agg(priority) from job") == [job_priority, job_priority]


async def test_a_merged_job_has_the_higher_priority(api: Api, broker: MemoryBroker) -> None:
    """A message with a higher priority raises the priority of the equal pending job and of its queue. A lower one does not."""
    assert (await submit_job(api, "a"))[0] == 202
    async with watching(api, JOBS) as events:
        assert (await events.next_type_and_name())[0] == "ADDED"  # a watch begins with the present jobs
        for priority in (5, 1):
            body = orjson.dumps({**SYNC, "repository": "a"})
            await broker.publish(broker.topology.jobs, "submit.default", Message(body=body, priority=priority))
            assert (await events.next_type_and_name())[0] == "MODIFIED"
    assert await api.sql("select array_agg(priority) from job") == [5]
    assert await api.sql("select array_agg(priority) from job_queue where ready = 1") == [5]
