"""The command ``dashwright jobs``: the jobs of a running server, for users and scripts."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.polling import wait_until
from tests.contract.api.conftest import PASSWORD, Api
from tests.contract.api.repositories import make_local_repository
from tests.contract.api.stored_jobs import insert_job
from tests.contract.api.test_sync_from_git import REPOSITORIES, create_repository, dashboard
from tests.servers.git import GitServer

from dashwright.common.errors import NotFound
from dashwright.common.identity import Role
from dashwright.common.models.provisioning import State
from dashwright.standalone.jobs.client import JobsClient
from dashwright.standalone.jobs.command import cancel, get, list_, submit, sync, wait
from dashwright.standalone.jobs.following import show_until_end
from dashwright.standalone.remote.client import ServerClient
from dashwright.standalone.remote.collection import Collection, Document
from dashwright.standalone.remote.login import Login, ServerOptions
from dashwright.standalone.remote.output import Output

pytestmark = pytest.mark.usefixtures("silent_log")

JOBS = REPOSITORIES.replace("repositories", "jobs")
ADMIN = "admin:admin"


def server_options(api: Api, **fields: Any) -> ServerOptions:
    """Return the options of a command that connects to a gateway, by default as the server admin."""
    return ServerOptions(**{"url": str(api.address), "user": ADMIN, **fields})


@pytest.fixture
async def server(api: Api) -> AsyncIterator[JobsClient]:
    """Yield a client of jobs that is logged in as the server admin."""
    async with ServerClient(Login(str(api.address), "default", user=ADMIN)) as client:
        yield JobsClient(client)


async def run_command(command: Callable[..., int], *arguments: Any, **options: Any) -> int:
    """Run a command with an event loop of its own, like a separate process."""
    return await asyncio.to_thread(command, *arguments, **options)


async def set_status(api: Api, name: str, status: str) -> None:
    """Replace the status of a job, which is JSON."""
    await api.sql("update job set status = $2, state = $2::text::json ->> 'state' where name = $1", name, status)


def printed_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that the command has printed."""
    return capsys.readouterr().out.splitlines()


def json_printed(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the printed lines that are part of a JSON document, without lines of the log."""
    return "\n".join(line for line in printed_lines(capsys) if line[:1] in "[]{} ")


async def test_a_sync_is_requested_and_followed_to_its_end(git_api: Api, git_server: GitServer, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints the counts of changed objects and ends with 0. If a file is invalid, it names the file and ends with 1."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await create_repository(git_api, git_server)
    assert await run_command(sync, "team", options=server_options(git_api)) == 0
    result = capsys.readouterr().out
    assert "success" in result
    assert [line.split() for line in result.splitlines() if line.startswith("dashboards")] == [["dashboards", "2", "0", "0", "0", "0"]]
    work_tree.commit({"bad.json": "{"})
    assert await run_command(sync, "team", incremental=True, options=server_options(git_api)) == 1
    assert "bad.json" in capsys.readouterr().out


async def test_the_progress_of_a_job_is_printed(api: Api, server: JobsClient) -> None:
    """Each change of the progress is printed as one line, once. Control characters are escaped."""
    await insert_job(api, "j")
    output = io.StringIO()
    command = asyncio.create_task(show_until_end(output_to(output), server, ["j"]))
    for status, line in (
        ('{"state": "working", "message": "reading \\u001b[2J", "progress": 10.4}', "j working: reading \\x1b[2J 10 %"),
        ('{"state": "working", "message": "storing", "progress": 60}', "j working: storing 60 %"),
    ):
        await set_status(api, "j", status)
        await wait_until(lambda line=line: has_line(output, line))  # type: ignore[misc]
    await set_status(api, "j", '{"state": "error", "message": "broken", "errors": ["broken", "a.json: bad"]}')
    [job] = await command
    assert job.status.state == "error"
    lines = output.getvalue().splitlines()
    assert lines[-2:] == ["j error: broken", "  a.json: bad"]
    assert len(lines) == len(set(lines))


class TerminalStream(io.StringIO):
    """Stream that records what is printed, and counts as a terminal."""

    def isatty(self) -> bool:
        return True


def output_to(stream: io.StringIO) -> Output:
    """Return an output whose lines are written to a stream."""
    with redirect_stdout(stream):
        return Output(as_json=False)


async def has_line(output: io.StringIO, line: str) -> bool:
    """Return whether a line has been printed. It is a coroutine because ``wait_until`` awaits its conditions."""
    return line in output.getvalue().splitlines()


async def test_a_terminal_shows_a_bar_and_then_the_end(api: Api, server: JobsClient) -> None:
    """A terminal receives control sequences, for the progress bar, and the last line of the job."""
    await insert_job(api, "j", '{"state": "success", "message": "done", "progress": 100}')
    output = TerminalStream()
    await show_until_end(output_to(output), server, ["j"])
    assert "j success: done" in output.getvalue()
    assert "\x1b[" in output.getvalue()


async def test_a_watch_that_ends_is_resumed(api: Api, server: JobsClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a watch ends, the command reads the job again and continues to watch it."""
    await insert_job(api, "j", '{"state": "working"}')

    async def end_watch(_: Collection, document: Document) -> AsyncIterator[Document]:
        """End a watch without an event, and the job while no watch is open."""
        await set_status(api, "j", '{"state": "success"}')
        return
        yield document  # makes this function a generator

    monkeypatch.setattr(Collection, "_changes", end_watch)
    assert [job.status.state async for job in server.follow("j")] == ["working", "success"]


async def test_a_job_that_is_removed_is_not_waited_for(api: Api, server: JobsClient) -> None:
    """If the followed job is deleted, following it raises NotFound instead of waiting."""
    await insert_job(api, "j", '{"state": "working"}')
    followed = server.follow("j")
    assert (await anext(followed)).status.state == "working"
    next_state = asyncio.ensure_future(anext(followed))
    await api.sql("delete from job where name = 'j'")
    with pytest.raises(NotFound):
        await next_state


async def test_jobs_are_listed(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """The jobs of all repositories, or of one repository, are listed in columns, the newest job first."""
    assert await run_command(list_, options=server_options(api)) == 0
    assert printed_lines(capsys) == ["no jobs"]
    await insert_job(api, "a", '{"state": "working", "progress": 12.6, "message": "half"}')
    await insert_job(api, "b", repository="other")
    assert await run_command(list_, options=server_options(api)) == 0
    assert [line.split() for line in printed_lines(capsys)[1:]] == [
        ["b", "other", "sync", "pending", "2026-01-01T00:00:00Z"],
        ["a", "team", "sync", "working", "13", "%", "2026-01-01T00:00:00Z", "half"],
    ]
    assert await run_command(list_, repository="other", options=server_options(api)) == 0
    assert [line.split()[0] for line in printed_lines(capsys)] == ["name", "b"]


async def test_an_unknown_repository_is_reported(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown repository is an error, unless the caller may not read repositories."""
    await make_local_repository(api, "idle", api.data)
    await api.sql("delete from job")
    assert await run_command(list_, repository="idle", options=server_options(api)) == 0
    assert printed_lines(capsys) == ["no jobs"]
    assert await run_command(list_, repository="typo", options=server_options(api)) == 2
    assert "repository typo not found" in capsys.readouterr().err
    await api.person("narrow", Role.NONE, ("jobs:read", "*"))
    assert await run_command(list_, repository="typo", options=server_options(api, user=f"narrow:{PASSWORD}")) == 0
    assert printed_lines(capsys) == ["no jobs"]


async def test_an_unfinished_job_is_cancelled(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """A cancelled job ends with an error and remains in the history. An ended job cannot be cancelled."""
    await insert_job(api, "j", '{"state": "working"}')
    assert await run_command(cancel, ["j"], options=server_options(api)) == 0
    _, job = await api("GET", f"{JOBS}/j")
    assert (job["status"]["state"], job["status"]["message"]) == ("error", "job was cancelled")
    assert await run_command(cancel, ["j"], options=server_options(api)) == 2
    assert "has already ended" in capsys.readouterr().err
    assert (await api("GET", f"{JOBS}/j"))[0] == 200
    assert await run_command(wait, ["j"], options=server_options(api)) == 1


@pytest.mark.parametrize(
    ("options", "message"),
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
    api: Api, capsys: pytest.CaptureFixture[str], options: dict[str, str], message: str
) -> None:
    """An unknown job, invalid credentials or an invalid URL are reported with exit status 2, and without the password or token."""
    assert await run_command(wait, ["none"], options=server_options(api, **options)) == 2
    result = capsys.readouterr()
    assert message in result.err
    assert "t0p-secret" not in result.err + result.out


async def test_an_unreachable_server_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """If the server cannot be reached, the error names its URL, and the exit status is 2."""
    assert await run_command(list_, options=ServerOptions(url="http://127.0.0.1:1")) == 2
    assert "http://127.0.0.1:1" in capsys.readouterr().err


async def test_programs_read_jobs_as_json(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """Objects are printed as the server returns them, for an ended job and in a list."""
    await insert_job(api, "j")
    await set_status(api, "j", '{"state": "success"}')
    assert await run_command(list_, as_json=True, options=server_options(api)) == 0
    [listed] = json.loads(json_printed(capsys))
    assert await run_command(wait, ["j"], as_json=True, options=server_options(api)) == 0
    assert json.loads(json_printed(capsys)) == listed
    assert (listed["kind"], listed["metadata"]["name"], listed["status"]["state"]) == ("Job", "j", "success")


async def test_a_job_is_shown_with_its_errors(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """The errors of a job are printed, and the exit status is that of a successful read."""
    await insert_job(api, "j")
    await set_status(api, "j", '{"state": "error", "message": "broken", "errors": ["a.json: bad"]}')
    assert await run_command(get, "j", options=server_options(api)) == 0
    assert printed_lines(capsys) == ["j error: broken", "  a.json: bad"]
    assert await run_command(get, "none", options=server_options(api)) == 2


async def test_jobs_are_listed_by_state(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """A list may be limited to jobs in some states."""
    for name, state in (("a", "working"), ("b", "error"), ("c", "success")):
        await insert_job(api, name, f'{{"state": "{state}"}}')
    assert await run_command(list_, states=[State.WORKING, State.ERROR], as_json=True, options=server_options(api)) == 0
    assert [job["metadata"]["name"] for job in json.loads(json_printed(capsys))] == ["b", "a"]


@pytest.mark.parametrize(
    ("name", "text", "is_list"),
    [
        ("job.json", '{"action": "sync", "sync": {}}', False),
        ("job.yaml", "kind: Job\nspec:\n  action: sync\n  sync: {}\n", False),
        ("jobs.json", '[{"action": "sync", "sync": {}}]', True),
    ],
)
async def test_submitted_jobs_are_printed(
    api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, is_list: bool
) -> None:
    """A job that is submitted alone is printed as an object, and jobs that are submitted as a list are printed as a list."""
    await make_local_repository(api, "team", api.data / "team")
    file = tmp_path / name
    file.write_text(text)
    status = await run_command(submit, "team", str(file), as_json=True, options=server_options(api))
    document = json.loads(json_printed(capsys))
    jobs = document if is_list else [document]
    assert status == 0
    assert [job["spec"]["repository"] for job in jobs] == ["team"]
    assert (await api("GET", f"{JOBS}/{jobs[0]['metadata']['name']}"))[0] == 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"{", "dashwright jobs: "),
        (b"[]", "the list of jobs is empty"),
        (b'{"action": "dance"}', "action"),
        (b"\xff", "utf-8"),
        (b'{"kind": "Evaluation"}', "kind"),
    ],
)
async def test_an_invalid_submission_is_reported(
    api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, message: str
) -> None:
    """A submission that is missing, empty or invalid is reported with the cause, and no job is created."""
    await make_local_repository(api, "team", api.data / "team")
    await api.sql("delete from job")
    file = tmp_path / "job.json"
    if content is not None:
        file.write_bytes(content)
    assert await run_command(submit, "team", str(file), options=server_options(api)) == 2
    assert message in capsys.readouterr().err
    assert await api.sql("select count(*) from job") == 0


async def test_several_jobs_are_waited_for(api: Api, server: JobsClient, capsys: pytest.CaptureFixture[str]) -> None:
    """A wait for several jobs ends when all jobs have ended, and fails if a job failed."""
    await insert_job(api, "a", '{"state": "working"}')
    await insert_job(api, "b", '{"state": "error"}')
    waiting = asyncio.create_task(run_command(wait, ["a", "b"], as_json=True, options=server_options(api)))
    follower = server.follow("a")
    assert (await anext(follower)).status.state == "working"
    await set_status(api, "a", '{"state": "success"}')
    assert await waiting == 1
    assert [job["status"]["state"] for job in json.loads(json_printed(capsys))] == ["success", "error"]
    assert await run_command(wait, ["a"], options=server_options(api)) == 0


async def test_waiting_ends_after_its_timeout(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """After a timeout the job continues, and the exit status is not that of a failed job."""
    await insert_job(api, "j", '{"state": "working"}')
    assert await run_command(wait, ["j"], timeout_seconds=0.1, options=server_options(api)) == 2
    assert "within 0.1 seconds" in capsys.readouterr().err
    assert (await api("GET", f"{JOBS}/j"))[1]["status"]["state"] == "working"


async def test_the_unfinished_jobs_of_a_repository_are_cancelled(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """All unfinished jobs of a repository, or its jobs in some states, are cancelled. A command needs either names or a repository."""
    for name, state, repository in (
        ("a", "working", "team"),
        ("b", "success", "team"),
        ("c", "pending", "team"),
        ("d", "working", "other"),
    ):
        await insert_job(api, name, f'{{"state": "{state}"}}', repository)
    assert await run_command(cancel, repository="team", states=[State.PENDING], options=server_options(api)) == 0
    assert printed_lines(capsys) == ["c cancelled"]
    assert await run_command(cancel, repository="team", options=server_options(api)) == 0
    assert printed_lines(capsys) == ["a cancelled"]
    assert await run_command(cancel, repository="team", options=server_options(api)) == 0
    assert printed_lines(capsys) == ["no jobs"]
    states = await api.sql("select string_agg(name || ' ' || state, ', ' order by name) from job")
    assert states == "a error, b success, c error, d working"
    for names, repository in ((["a"], "team"), (None, "")):  # both or neither
        assert await run_command(cancel, names, repository=repository, options=server_options(api)) == 2


async def test_a_job_that_ends_while_it_is_cancelled_remains(api: Api, server: JobsClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a job ends while it is being cancelled, it is not deleted from the history."""
    await insert_job(api, "j", '{"state": "working"}')
    read_job = server.job

    async def read_then_end(name: str) -> Any:
        """Read a job and then end it, before the command cancels it."""
        job = await read_job(name)
        await set_status(api, "j", '{"state": "success"}')
        return job

    monkeypatch.setattr(server, "job", read_then_end)
    assert (await server.cancel("j")).status.state == "success"
    assert (await api("GET", f"{JOBS}/j"))[1]["status"]["state"] == "success"


async def test_a_token_is_read_from_a_file(api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Space around the token is ignored. A file without a token, or with an invalid token, is an error that does not show the content."""
    _, token = await api.token(await api.account("ci", Role.EDITOR), "ci")
    file = tmp_path / "token"
    file.write_text(f"{token}\n")
    assert await run_command(list_, options=server_options(api, user="", token_file=file)) == 0
    assert token not in repr(server_options(api, token=token))
    for content in ("", "t0p\nsecret", "t0p-s\xe9cret"):
        file.write_text(content)
        assert await run_command(list_, options=server_options(api, user="", token_file=file)) == 2
        error = capsys.readouterr().err
        assert str(file) in error
        assert "t0p" not in error
    assert await run_command(list_, options=server_options(api, user="", token_file=tmp_path / "none")) == 2
    assert "No such file" in capsys.readouterr().err
