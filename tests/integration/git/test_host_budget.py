"""Requests to a git host are counted before they are made, and a host that asks for fewer is paused."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp import web
from tests.integration.git.conftest import OpenRemote
from tests.servers.git import GitServer

from dashwright.common.database.pool import Database
from dashwright.common.errors import SourceFailed, TooManyRequests
from dashwright.jobs_worker.adapters.git import trace
from dashwright.jobs_worker.adapters.git.budget import HostBudget
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors
from dashwright.jobs_worker.adapters.git.remote import Remote

TOKEN = "a-token-of-the-host"


@dataclass
class CountingBudget:
    """A budget that is never used up."""

    charged: int = 0

    async def charge(self, host: str, namespace: str, requests: int) -> None:
        """Count the requests."""
        self.charged += requests

    async def pause(self, host: str, namespace: str, retry_after: float | None) -> TooManyRequests:
        """Fail: no host requests a pause in these tests."""
        raise NotImplementedError


@pytest.fixture
def remote(open_remote: OpenRemote, database: Database, server: GitServer) -> Remote:
    """Return a repository with one commit, and a budget of 600 requests per minute."""
    server.create_repository("r.git").commit({"a.json": "{}"})
    return replace(open_remote("r.git", TOKEN), budget=HostBudget(database, 600))


async def set_remaining(database: Database, remaining: float) -> None:
    """Set the number of requests that every host still accepts now."""
    async with database.connection() as connection:
        await connection.execute("update git_host set remaining = $1, counted_at = now()", remaining)


def refuse_requests(server: GitServer, status: int, **headers: str) -> None:
    """Let the server respond to all further requests with a status and headers."""

    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers=headers)

    server.fault = refuse
    server.requests.clear()


async def test_every_request_is_counted(remote: Remote, mirrors: Mirrors, server: GitServer) -> None:
    """A probe, a clone and a push cost as many requests as the host receives."""
    budget = CountingBudget()
    counted_remote = replace(remote, budget=budget)
    await counted_remote.head("main", mirrors.ensure_root())
    assert budget.charged == len(server.requests) == 2
    commit = await mirrors.fetch("uid", counted_remote, "main")
    assert commit is not None
    assert budget.charged == len(server.requests) == 5
    await counted_remote.push(commit.sha, "other", "", directory=commit.mirror_path)
    # Two requests for the probe, three for the fetch, and two for the push.
    assert budget.charged == len(server.requests) == 7


async def test_a_host_without_budget_is_not_contacted(remote: Remote, tmp_path: Path, database: Database, server: GitServer) -> None:
    """Background work may not use the last quarter of a budget, and no work an empty one. A budget of 0 per minute limits nothing.

    All organizations share the budget of a host.
    """
    foreground = replace(remote, budget=HostBudget(database, 20))
    background = replace(remote, budget=HostBudget(database, 20, leaves_reserve=True))
    await background.head("main", tmp_path)
    await set_remaining(database, 3)  # of 20: less than a quarter
    with pytest.raises(TooManyRequests, match="DASHWRIGHT_HOST_REQUESTS"):
        await background.head("main", tmp_path)
    await foreground.head("main", tmp_path)
    await set_remaining(database, 0)
    with pytest.raises(TooManyRequests) as refused:
        await replace(foreground, namespace="org-2").head("main", tmp_path)
    assert refused.value.retry_after == pytest.approx(6, abs=1)  # until two requests are available again, of 20 per minute
    # Two requests for each of the two calls that were permitted.
    assert len(server.requests) == 4
    await replace(remote, budget=HostBudget(database, 0)).head("main", tmp_path)


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"Retry-After": "17"}, 17),
        (429, {"Retry-After": "date"}, 90),
        (429, {}, 30),
        (429, {"Retry-After": "soon"}, 30),
        (503, {"Retry-After": "40"}, 40),
    ],
    ids=["seconds", "date", "no time", "invalid time", "unavailable"],
)
async def test_a_host_is_paused_as_long_as_it_requests(
    remote: Remote, tmp_path: Path, server: GitServer, status: int, headers: dict[str, str], seconds: int
) -> None:
    """A host is paused for all repositories of the organization, and for no other one. The message has no secret."""
    if headers.get("Retry-After") == "date":
        headers = {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)}
    refuse_requests(server, status, **headers)
    for url in (remote.url, server.url("other.git")):
        with pytest.raises(TooManyRequests, match="requests a pause") as refused:
            await replace(remote, url=url).head("main", tmp_path)
        assert refused.value.retry_after == pytest.approx(seconds, abs=2)
        assert TOKEN not in repr(refused.value) + repr(refused.value.__cause__)
    assert len(server.requests) == 1
    server.fault = None
    assert await replace(remote, namespace="org-2").head("main", tmp_path)


async def test_an_unavailable_host_is_not_paused(remote: Remote, tmp_path: Path, server: GitServer) -> None:
    """An error without a Retry-After header does not pause the host."""
    refuse_requests(server, 503)
    for _ in range(2):
        with pytest.raises(SourceFailed, match="503"):
            await remote.head("main", tmp_path)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("-1", None), ("\u0665", None), ("", None)],
    ids=["seconds", "past date", "negative", "digit that is not ASCII", "empty"],
)
def test_retry_after_is_parsed(text: str, seconds: float | None) -> None:
    """The header Retry-After is a number of seconds or a date; any other value is ignored."""
    assert trace.retry_after_seconds(text) == seconds


@pytest.mark.parametrize("retry_after", ["9" * 60, "Fri, 31 Dec 9999 23:59:59 GMT"], ids=["digits", "date"])
async def test_a_pause_is_at_most_an_hour(remote: Remote, mirrors: Mirrors, server: GitServer, retry_after: str) -> None:
    """A longer pause is reduced to an hour, also if the number of seconds is too large for an interval of PostgreSQL."""
    refuse_requests(server, 429, **{"Retry-After": retry_after})
    with pytest.raises(TooManyRequests) as refused:
        await remote.head("main", mirrors.ensure_root())
    assert refused.value.retry_after == pytest.approx(3600, abs=10)
