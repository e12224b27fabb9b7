"""Polls of branches: one request of protocol version 2, or a git process if the host responds with anything else."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from tests.servers.git import Fault, GitServer

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, TooManyRequests
from dashwright.common.host_resolver import HostResolver
from dashwright.jobs_worker.adapters.git.references import ReferenceReader
from dashwright.jobs_worker.adapters.git.remote import Remote

ONE_REQUEST = ["/r.git/git-upload-pack"]
GIT_PROGRAM = ["/r.git/info/refs?service=git-upload-pack", "/r.git/git-upload-pack"]
RESULT = "application/x-git-upload-pack-result"


@pytest.fixture
async def references() -> AsyncIterator[ReferenceReader]:
    """Provide a reader without remembered pauses."""
    reader = ReferenceReader()
    yield reader
    await reader.close()


def remote(server: GitServer, references: ReferenceReader, *, token: str = "", allowed: str = "127.0.0.0/8") -> Remote:
    """Return the repository ``r.git``, whose branches are polled with ``references``."""
    return Remote(server.url("r.git"), token, HostResolver(AllowedHosts.parse([allowed])), references=references)


async def test_a_poll_is_one_request(server: GitServer, references: ReferenceReader, tmp_path: Path) -> None:
    """A poll is one request. It finds a branch only by its complete name; an empty name is the host's HEAD."""
    work_tree = server.create_repository("r.git")
    first = work_tree.commit({"a.json": "{}"})
    work_tree.commit({"b.json": "{}"}, branch="mainline")
    server.requests.clear()
    assert await remote(server, references).head("main", tmp_path) == first
    assert server.requests == ONE_REQUEST
    assert await remote(server, references).head("", tmp_path) == first
    assert await remote(server, references).head("mai", tmp_path) is None
    assert server.requests == ONE_REQUEST * 3


async def test_a_repository_without_commits_has_no_head(server: GitServer, references: ReferenceReader, tmp_path: Path) -> None:
    server.create_repository("r.git")
    assert await remote(server, references).head("main", tmp_path) is None
    assert server.requests == ONE_REQUEST


async def test_a_token_authenticates_a_poll(server: GitServer, references: ReferenceReader, tmp_path: Path) -> None:
    work_tree = server.create_repository("r.git")
    head = work_tree.commit({"a.json": "{}"})
    server.token = "secret"
    server.requests.clear()
    assert await remote(server, references, token="secret").head("main", tmp_path) == head
    assert server.requests == ONE_REQUEST
    with pytest.raises(Forbidden):
        await remote(server, references, token="other").head("main", tmp_path)


async def test_a_forbidden_address_is_not_polled(server: GitServer, references: ReferenceReader, tmp_path: Path) -> None:
    server.create_repository("r.git")
    with pytest.raises(BadRequest):
        await remote(server, references, allowed="10.0.0.0/8").head("main", tmp_path)
    assert not server.requests


def _respond_with_status(status: int) -> Fault:
    """Return a fault that responds to polls with a status, and to the git program as usual."""

    async def fault(request: web.Request) -> web.StreamResponse | None:
        return web.Response(status=status) if request.path.endswith("git-upload-pack") and not _is_from_git(request) else None

    return fault


def _respond_with_body(body: bytes, content_type: str = RESULT) -> Fault:
    """Return a fault that responds to polls with a body, and to the git program as usual."""

    async def fault(request: web.Request) -> web.StreamResponse | None:
        if _is_from_git(request) or not request.path.endswith("git-upload-pack"):
            return None
        return web.Response(body=body, content_type=content_type)

    return fault


def _is_from_git(request: web.Request) -> bool:
    """Return whether the git program sent a request."""
    return request.headers.get("User-Agent", "").startswith("git/")


async def _redirect(request: web.Request) -> web.StreamResponse | None:
    """Redirect polls to another address."""
    return None if _is_from_git(request) else web.Response(status=302, headers={"Location": "http://127.0.0.1:1/stolen"})


async def _close_connection(request: web.Request) -> web.StreamResponse | None:
    """Close the connections of polls."""
    if not _is_from_git(request) and request.transport is not None:
        request.transport.close()
    return None


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(_respond_with_status(404), id="missing"),
        pytest.param(_respond_with_status(500), id="failure"),
        pytest.param(_redirect, id="redirect"),
        pytest.param(_close_connection, id="closed connection"),
        pytest.param(_respond_with_body(b"<html>", "text/html"), id="page"),
        pytest.param(_respond_with_body(b""), id="empty"),
        pytest.param(_respond_with_body(b"0000"[:2]), id="shortened"),
        pytest.param(_respond_with_body(b"zzzz"), id="invalid length"),
        pytest.param(_respond_with_body(b"0001" * 3), id="only delimiters"),
        pytest.param(_respond_with_body(b"ffff" + b"a" * 40 + b" refs/heads/main\n"), id="longer than the body"),
        pytest.param(_respond_with_body(b"003d" + b"x" * 40 + b" refs/heads/main\n0000"), id="invalid commit"),
        pytest.param(_respond_with_body(b"0011ERR not here\n"), id="error packet"),
        pytest.param(_respond_with_body(b"x" * (5 << 20)), id="too large"),
    ],
)
async def test_the_git_program_reads_what_a_poll_cannot(
    server: GitServer, references: ReferenceReader, tmp_path: Path, fault: Fault
) -> None:
    """After a failed poll, the git program is used, also for the next polls, so that a host without version 2 is not polled again."""
    work_tree = server.create_repository("r.git")
    head = work_tree.commit({"a.json": "{}"})
    server.fault = fault
    assert await remote(server, references).head("main", tmp_path) == head
    server.requests.clear()
    assert await remote(server, references).head("main", tmp_path) == head
    assert server.requests == GIT_PROGRAM


async def test_a_limit_on_requests_is_obeyed(server: GitServer, references: ReferenceReader, tmp_path: Path) -> None:
    """After a response 429, the git program is not tried, and the next poll is again one request."""
    work_tree = server.create_repository("r.git")
    head = work_tree.commit({"a.json": "{}"})

    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "7"})

    server.fault = refuse
    server.requests.clear()
    with pytest.raises(TooManyRequests) as raised:
        await remote(server, references).head("main", tmp_path)
    assert raised.value.retry_after == 7
    server.fault = None
    assert await remote(server, references).head("main", tmp_path) == head
    assert server.requests == ONE_REQUEST * 2


async def test_errors_of_a_host_are_those_of_the_git_program(server: GitServer, references: ReferenceReader, tmp_path: Path) -> None:
    with pytest.raises(DashwrightError, match="there is no repository at this address"):
        await remote(server, references).head("main", tmp_path)


async def test_hosts_without_version_2_are_read(server: GitServer, references: ReferenceReader, tmp_path: Path) -> None:
    work_tree = server.create_repository("r.git")
    head = work_tree.commit({"a.json": "{}"})
    server.newest_protocol = 0
    assert await remote(server, references).head("main", tmp_path) == head
