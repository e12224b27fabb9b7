"""One trace id connects a request with the log lines of every service that handles it."""

import aiohttp
import pytest
from tests.acceptance import dashboard_files
from tests.acceptance.client import PROVISIONING, Client
from tests.acceptance.processes import Service, Stack
from tests.acceptance.queries import QUERY

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: The id of the caller's span in the header ``traceparent``.
SPAN = "00f067aa0ba902b7"


def events_of_trace(service: Service, trace_id: str) -> list[str]:
    """Return the names of a service's log events with a trace id."""
    return [str(event["event"]) for event in service.events if event.get("trace_id") == trace_id]


async def test_a_sync_is_one_trace_in_gateway_and_worker(shared_stack: Stack, user: Client) -> None:
    """The trace id of the request is in the gateway's lines, with the request id, and in the worker's lines of the job."""
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    dashboard_files.make_team(shared_stack.repositories / "team")
    await user.create_repository("team", "team")
    headers = {"traceparent": f"00-{trace_id}-{SPAN}-01", "X-Request-Id": "first-sync"}
    job = await user.call("POST", f"{PROVISIONING}/repositories/team/sync", status=202, headers=headers)
    await user.wait_for_job(job)
    name = job["metadata"]["name"]
    submitted = await shared_stack.gateway.event("job_submitted", job=name)
    assert submitted["trace_id"] == trace_id
    assert submitted["request_id"] == "first-sync"
    assert submitted["user"] == "admin"
    assert {"job_submitted", "request_completed"} <= set(events_of_trace(shared_stack.gateway, trace_id))
    await shared_stack.jobs_worker.event("job_ended", job=name)
    for event in ("job_started", "job_ended"):
        (line,) = shared_stack.jobs_worker.logged_events(event, job=name)
        assert line["trace_id"] == trace_id
        assert line["repository"] == "team"
        assert line["action"] == "sync"


async def test_a_query_is_one_trace_in_gateway_and_worker(shared_stack: Stack, user: Client) -> None:
    """The trace id of a query is in the log lines of the gateway and of the expressions worker about the query."""
    trace_id = "5bf92f3577b34da6a3ce929d0e0e4737"
    await user.call("POST", "/api/ds/query", json=QUERY, headers={"traceparent": f"00-{trace_id}-{SPAN}-01"})
    await shared_stack.gateway.event("request_completed", trace_id=trace_id)
    await shared_stack.expressions.event("query_completed", trace_id=trace_id)


async def test_a_failed_login_is_logged_without_the_password(shared_stack: Stack) -> None:
    """The log has the login of a failed attempt, but neither the password nor the credentials of the header."""
    after = len(shared_stack.gateway.events)
    authorization = aiohttp.encode_basic_auth("mallory", "hunter-two-three")
    async with Client(shared_stack.address, authorization=authorization) as client:
        await client.call("GET", f"{PROVISIONING}/repositories", status=401)
    await shared_stack.gateway.event("login_failed", after=after, login="mallory")
    for line in shared_stack.gateway.lines[after:]:
        assert "hunter-two-three" not in line
        assert authorization.removeprefix("Basic ") not in line
