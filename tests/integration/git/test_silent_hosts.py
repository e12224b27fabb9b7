"""Hosts that stop responding, which the worker gives up after a limit, and slow hosts, for which it waits."""

import asyncio
import hashlib
import os
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from tests.integration.git.conftest import OpenRemote
from tests.integration.git.test_ssh import push_change, ssh_remote
from tests.servers import ssh
from tests.servers.git import Fault, GitServer
from tests.servers.ssh import SshServer

from dashwright.common.allowed_hosts import LOOPBACK, Address, AllowedHosts
from dashwright.common.errors import SourceFailed
from dashwright.common.host_resolver import HostResolver
from dashwright.jobs_worker.adapters.git import trace
from dashwright.jobs_worker.adapters.git.commits import commit
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors
from dashwright.jobs_worker.adapters.git.remote import Remote

SILENCE = "the git host sends nothing: sync again later, or raise DASHWRIGHT_GIT_IDLE_SECONDS"
WAIT = "tail -f /dev/null"
"""Shell command that neither ends nor writes anything."""


@asynccontextmanager
async def ssh_host(tmp_path: Path, command: str) -> AsyncIterator[SshServer]:
    """Run a server that runs a shell command, in which ``$git`` is the command that the client requests.

    If the file ``open`` exists in ``tmp_path``, the server runs only the requested command.
    """
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\ngit="$SSH_ORIGINAL_COMMAND"\ntest ! -e {tmp_path}/open || exec sh -c "$git"\n{command}\n')
    program.chmod(0o755)
    async with ssh.serving(tmp_path / "ssh", settings=[f"ForceCommand {program}"]) as server:
        yield server


@pytest.mark.parametrize(
    "command",
    [
        WAIT,
        # The advertised references, or a part of the pack, and then nothing.
        f'sh -c "$git" | (head -c 200; {WAIT})',
        f'sh -c "$git" | (head -c 100000; {WAIT})',
    ],
    ids=["at the start", "in the references", "in the pack"],
)
async def test_a_silent_ssh_host_is_given_up(tmp_path: Path, mirrors: Mirrors, command: str) -> None:
    """A fetch from an SSH server whose git program sends nothing more fails after the idle limit. The next fetch succeeds."""
    async with ssh_host(tmp_path, command) as server:
        sha = server.create_repository("team.git").commit({"a.json": hashlib.shake_256(b"0").digest(400_000)})
        with pytest.raises(SourceFailed, match=SILENCE):
            await mirrors.fetch("uid", replace(ssh_remote(server), idle_seconds=1), "main")
        (tmp_path / "open").touch()
        fetched = await mirrors.fetch("uid", ssh_remote(server), "main")
    assert fetched is not None
    assert fetched.sha == sha


async def test_a_push_to_a_silent_ssh_host_is_given_up(tmp_path: Path, mirrors: Mirrors) -> None:
    """A push to an SSH server that reads nothing of it fails after the idle limit."""
    ignoring_pushes = f'case "$git" in git-receive-pack*) sh -c "$git" < /dev/null | (head -c 200; {WAIT});; *) exec sh -c "$git";; esac'
    async with ssh_host(tmp_path, ignoring_pushes) as server:
        sha = server.create_repository("team.git").commit({"a.json": "1"})
        with pytest.raises(SourceFailed, match=SILENCE):
            await commit(mirrors, "uid", replace(ssh_remote(server), idle_seconds=1), push_change(sha))


def slow_packing(tmp_path: Path, preparation: str) -> str:
    """Return an option of git with which a server runs shell commands before it sends a pack. Their errors are sent as messages."""
    program = tmp_path / "pack-slowly"
    program.write_text(f'#!/bin/sh\n{preparation}\nexec "$@"\n')
    program.chmod(0o755)
    return f"-c uploadpack.packObjectsHook={program}"


async def test_an_ssh_host_that_sends_packets_is_waited_for(tmp_path: Path, mirrors: Mirrors) -> None:
    """An SSH host that needs longer than the idle limit to prepare a pack is waited for if it sends small packets in this time.

    They follow one another much faster than git's keepalive packets, so that a loaded machine does not exceed the limit.
    """
    options = slow_packing(tmp_path, "for _ in $(seq 40); do sleep 0.1; echo . >&2; done")
    async with ssh_host(tmp_path, f'exec sh -c "git {options} ${{git#git-}}"') as server:
        sha = server.create_repository("team.git").commit({"a.json": "1"})
        fetched = await mirrors.fetch("uid", replace(ssh_remote(server), idle_seconds=3), "main")
    assert fetched is not None
    assert fetched.sha == sha


async def test_an_http_host_with_a_packet_each_second_is_waited_for(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, tmp_path: Path
) -> None:
    """A host over HTTP that prepares a pack for longer than the idle limit is waited for if it sends a keepalive packet each second."""
    sha = server.create_repository("r.git").commit({"a.json": "1"})
    options = [*slow_packing(tmp_path, "sleep 4").split(), "-c", "uploadpack.keepAlive=1"]
    server.fault = stream_packs(server.folder("r.git"), options)
    fetched = await mirrors.fetch("uid", replace(open_remote("r.git"), idle_seconds=2), "main")
    assert fetched is not None
    assert fetched.sha == sha


def stream_packs(repository: Path, options: Sequence[str]) -> Fault:
    """Return a fault that responds to requests for packs with the output of git as it is written."""

    async def handle(request: web.Request) -> web.StreamResponse | None:
        body = await request.read()
        if b"command=fetch" not in body:
            return None
        process = await asyncio.create_subprocess_exec(
            *("git", "-c", "safe.directory=*", *options, "upload-pack", "--stateless-rpc", str(repository)),
            env={**os.environ, "GIT_PROTOCOL": "version=2"},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(body)
        process.stdin.close()
        response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-result"})
        await response.prepare(request)
        while chunk := await process.stdout.read(64 * 1024):
            await response.write(chunk)
        await process.wait()
        return response

    return handle


async def test_a_silent_http_host_is_given_up(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """A request to which a host over HTTP does not respond fails after the idle limit."""
    released = asyncio.Event()

    async def wait(_: web.Request) -> None:
        await released.wait()

    server.fault = wait
    with pytest.raises(SourceFailed, match=SILENCE):
        await replace(open_remote("r.git"), idle_seconds=1).head("main", mirrors.ensure_root())
    released.set()


@asynccontextmanager
async def silent_port() -> AsyncIterator[int]:
    """Accept connections on a port and send nothing while the block runs."""
    connections: list[asyncio.StreamWriter] = []
    listener = await asyncio.start_server(lambda _, writer: connections.append(writer), "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        for writer in connections:
            writer.close()
        listener.close()
        await listener.wait_closed()


async def test_a_host_without_a_tls_handshake_is_given_up(mirrors: Mirrors, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that accepts a connection but no TLS handshake cannot be reached."""
    monkeypatch.setattr(trace, "_CONNECT_SECONDS", 1)
    async with silent_port() as port:
        remote = Remote(f"https://127.0.0.1:{port}/r.git", "", HostResolver(AllowedHosts.parse(LOOPBACK), "the repository's"), 20)
        with pytest.raises(SourceFailed, match="the git host cannot be reached"):
            await remote.head("main", mirrors.ensure_root())


class _ThreeAddresses(HostResolver):
    """A resolver that returns two addresses at which nothing responds before the address of the host."""

    async def resolve(self, host: str, port: int, *, encrypted: bool = True) -> list[Address]:
        """Return the two silent addresses, and then the one of the host."""
        (address,) = await super().resolve(host, port, encrypted=encrypted)
        return [address + 2, address + 1, address]


async def test_the_next_address_of_an_http_host_is_tried(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host over HTTP is reached at its last address if the addresses before it do not accept connections."""
    monkeypatch.setattr(trace, "_CONNECT_SECONDS", 1)
    newest = server.create_repository("r.git").commit({"a.json": "1"})
    resolver = _ThreeAddresses(AllowedHosts.parse(LOOPBACK), "the repository's")
    with unreachable_address("127.0.0.3", server.port), unreachable_address("127.0.0.2", server.port):
        assert await replace(open_remote("r.git"), resolver=resolver).head("main", mirrors.ensure_root()) == newest


@contextmanager
def unreachable_address(address: str, port: int) -> Iterator[None]:
    """Make an address and port ignore connections while the block runs, by a listener whose queue is full."""
    with ExitStack() as sockets:
        listener = sockets.enter_context(socket.socket())
        listener.bind((address, port))
        listener.listen(0)
        for _ in range(3):
            client = sockets.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex((address, port))
        yield
