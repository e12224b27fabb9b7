"""``dashwright jobs``: the jobs of a running server, for users and scripts."""

import asyncio
import io
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from rich.console import Console
from tests.acceptance.polling import until
from tests.contract.api.conftest import PASSWORD, Api
from tests.contract.api.repositories import made as with_repository
from tests.contract.api.stored_jobs import made
from tests.contract.api.test_sync_from_git import REPOSITORIES, dashboard, repository
from tests.servers.git import GitServer

from dashwright.common.errors import NotFound
from dashwright.common.identity import Role
from dashwright.standalone.jobs import following
from dashwright.standalone.jobs.client import Job, JobsClient, Login
from dashwright.standalone.jobs.command import ServerOptions, cancel, follow, list_, sync

JOBS = REPOSITORIES.replace("repositories", "jobs")
ADMIN = "admin:admin"


def where(api: Api, **more: str) -> ServerOptions:
    return ServerOptions(**{"url": str(api.address), "user": ADMIN, **more})


@pytest.fixture
async def server(api: Api) -> AsyncIterator[JobsClient]:
    async with JobsClient(Login(str(api.address), "default", user=ADMIN)) as server:
        yield server


async def run(command: Callable[..., int], *arguments: Any, **options: Any) -> int:
    """Run a command with an event loop of its own, like a separate process."""
    return await asyncio.to_thread(command, *arguments, **options)


async def becomes(api: Api, name: str, status: str) -> None:
    await api.sql("update job set status = $2, state = $2::text::json ->> 'state' where name = $1", name, status)


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines of the command, without the log of the gateway in the same process."""
    return [line for line in capsys.readouterr().out.splitlines() if not re.match(r"\d{4}-\d\d-\d\d ", line)]


def json_printed(capsys: pytest.CaptureFixture[str]) -> str:
    return "\n".join(line for line in printed(capsys) if line[:1] in "[]{} ")


async def test_a_sync_is_requested_and_followed_to_its_end(git_api: Api, git_server: GitServer, capsys: pytest.CaptureFixture[str]) -> None:
    work = git_server.make("team.git")
    work.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await repository(git_api, git_server)
    assert await run(sync, "team", options=where(git_api)) == 0
    told = capsys.readouterr().out
    assert "success" in told
    assert [line.split() for line in told.splitlines() if line.startswith("dashboards")] == [["dashboards", "2", "0", "0", "0", "0"]]
    work.commit({"bad.json": "{"})
    assert await run(sync, "team", incremental=True, options=where(git_api)) == 1
    assert "bad.json" in capsys.readouterr().out


async def test_the_progress_of_a_job_is_shown_as_it_happens(api: Api, server: JobsClient) -> None:
    """Each change is one line without repetition; control characters are escaped."""
    await made(api, "j")
    out = io.StringIO()
    shown = asyncio.create_task(following.show(Console(file=out, width=200), server, "j"))
    for status, line in (
        ('{"state": "working", "message": "reading \\u001b[2J", "progress": 10.4}', "j working: reading \\x1b[2J 10 %"),
        ('{"state": "working", "message": "storing", "progress": 60}', "j working: storing 60 %"),
    ):
        await becomes(api, "j", status)
        await until(lambda line=line: has_line(out, line))  # type: ignore[misc]
    await becomes(api, "j", '{"state": "error", "message": "broken", "errors": ["broken", "a.json: bad"]}')
    job = await shown
    assert job.status.state == "error"
    lines = out.getvalue().splitlines()
    assert lines[-2:] == ["j error: broken", "  a.json: bad"]
    assert len(lines) == len(set(lines))


async def has_line(out: io.StringIO, line: str) -> bool:
    return line in out.getvalue().splitlines()


async def test_a_terminal_shows_a_bar_and_then_the_end(api: Api, server: JobsClient) -> None:
    await made(api, "j", '{"state": "success", "message": "done", "progress": 100}')
    out = io.StringIO()
    await following.show(Console(file=out, width=100, force_terminal=True), server, "j")
    assert "j success: done" in out.getvalue()
    assert "\x1b[" in out.getvalue()


async def test_a_break_of_the_connection_is_bridged(api: Api, server: JobsClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a watch ends, the job is read again and followed further."""
    await made(api, "j", '{"state": "working"}')

    async def changes(_: JobsClient, job: Job) -> AsyncIterator[Job]:
        await becomes(api, "j", '{"state": "success"}')
        return
        yield job

    monkeypatch.setattr(JobsClient, "changes", changes)
    assert [job.status.state async for job in following.follow(server, "j")] == ["working", "success"]


async def test_a_job_that_is_removed_is_not_waited_for(api: Api, server: JobsClient) -> None:
    await made(api, "j", '{"state": "working"}')
    followed = following.follow(server, "j")
    assert (await anext(followed)).status.state == "working"
    following_on = asyncio.ensure_future(anext(followed))
    await api.sql("delete from job where name = 'j'")
    with pytest.raises(NotFound):
        await following_on


async def test_jobs_are_listed_newest_first_or_those_of_a_repository(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert await run(list_, options=where(api)) == 0
    assert printed(capsys) == ["no jobs"]
    await made(api, "a", '{"state": "working", "progress": 12.6, "message": "half"}')
    await made(api, "b", repository="other")
    assert await run(list_, options=where(api)) == 0
    assert [line.split() for line in printed(capsys)[1:]] == [
        ["b", "other", "sync", "pending", "2026-01-01T00:00:00Z"],
        ["a", "team", "sync", "working", "13", "%", "2026-01-01T00:00:00Z", "half"],
    ]
    assert await run(list_, repository="other", options=where(api)) == 0
    assert [line.split()[0] for line in printed(capsys)] == ["name", "b"]


async def test_an_unknown_repository_is_reported(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown repository is an error, unless the caller may not read repositories."""
    await with_repository(api, "idle", api.data)
    await api.sql("delete from job")
    assert await run(list_, repository="idle", options=where(api)) == 0
    assert printed(capsys) == ["no jobs"]
    assert await run(list_, repository="typo", options=where(api)) == 1
    assert "repository typo not found" in capsys.readouterr().err
    await api.person("narrow", Role.NONE, ("jobs:read", "*"))
    assert await run(list_, repository="typo", options=where(api, user=f"narrow:{PASSWORD}")) == 0
    assert printed(capsys) == ["no jobs"]


async def test_a_job_is_cancelled_and_one_that_ended_is_left_in_history(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    await made(api, "j", '{"state": "working"}')
    assert await run(cancel, "j", options=where(api)) == 0
    _, job = await api("GET", f"{JOBS}/j")
    assert (job["status"]["state"], job["status"]["message"]) == ("error", "job was cancelled")
    assert await run(cancel, "j", options=where(api)) == 2
    assert "has already ended" in capsys.readouterr().err
    assert (await api("GET", f"{JOBS}/j"))[0] == 200
    assert await run(follow, "j", options=where(api)) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, '"none" not found'),
        ({"user": "admin:wrong"}, "dashwright jobs: "),
        ({"user": "", "token": "t0p-secret"}, "dashwright jobs: "),
        ({"user": ""}, "set DASHWRIGHT_TOKEN, or DASHWRIGHT_USER to name:password"),
        ({"user": "t0p-secret"}, "name:password"),
        ({"url": "ftp://x"}, "http:// or https://"),
        ({"url": "http://u:t0p-secret@127.0.0.1"}, "DASHWRIGHT_USER"),
    ],
)
async def test_failed_requests_are_reported_without_secrets(
    api: Api, capsys: pytest.CaptureFixture[str], options: dict[str, str], words: str
) -> None:
    assert await run(follow, "none", options=where(api, **options)) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert "t0p-secret" not in told.err + told.out


async def test_a_server_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert await run(list_, options=ServerOptions(url="http://127.0.0.1:1")) == 2
    assert "http://127.0.0.1:1" in capsys.readouterr().err


async def test_programs_read_jobs_as_json(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """Objects are printed as the server returns them, for an ended job and in a list."""
    await made(api, "j")
    await becomes(api, "j", '{"state": "success"}')
    assert await run(list_, as_json=True, options=where(api)) == 0
    [listed] = json.loads(json_printed(capsys))
    assert await run(follow, "j", as_json=True, options=where(api)) == 0
    assert json.loads(json_printed(capsys)) == listed
    assert (listed["kind"], listed["metadata"]["name"], listed["status"]["state"]) == ("Job", "j", "success")
