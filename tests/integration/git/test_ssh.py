"""Repositories with an SSH address: read and written with a deploy key, from servers whose host key is known."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.servers import ssh
from tests.servers.git import git
from tests.servers.ssh import SshServer

from dashwright.common.allowed_hosts import LOOPBACK, Address, AllowedHosts
from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, NotFound, SourceFailed
from dashwright.common.host_resolver import HostResolver
from dashwright.jobs_worker.adapters.git import private_files
from dashwright.jobs_worker.adapters.git.commits import BranchChange, commit
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors
from dashwright.jobs_worker.adapters.git.remote import Remote
from dashwright.jobs_worker.adapters.git.ssh import SshAccess
from dashwright.jobs_worker.domain.objects import CommitDraft, Edit, GitIdentity

EVE = GitIdentity("Eve", "eve@example.org")


@pytest.fixture(params=[True, False], ids=["v2", "v0"])
async def ssh_server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SshServer]:
    """Yield an SSH server that accepts version 2 of git's protocol, and one that does not."""
    async with ssh.serving(tmp_path / "ssh", accepts_protocol_2=request.param) as server:
        yield server


def ssh_remote(server: SshServer, name: str = "team.git", *, allowed: tuple[str, ...] = LOOPBACK) -> Remote:
    """Return a repository of the server, with the deploy key and the host key that are valid now."""
    resolver = HostResolver(AllowedHosts.parse(allowed), "the repository's")
    return Remote(server.url(name), "", resolver, 20, ssh=SshAccess(server.key, server.known_hosts))


def push_change(base: str, branch: str = "", name: str = "b.json") -> BranchChange:
    """Return a change that adds a file on top of ``base``."""
    return BranchChange("main", branch, base, [CommitDraft([Edit(name, b"2", None)], EVE, "second", None)])


async def head_error(remote: Remote, mirrors: Mirrors) -> DashwrightError:
    """Return the error of a request for the newest commit."""
    with pytest.raises(DashwrightError) as raised:
        await remote.head("main", mirrors.ensure_root())
    return raised.value


async def test_a_repository_is_read_and_written(ssh_server: SshServer, mirrors: Mirrors) -> None:
    """A commit is fetched, and another one pushed, over both versions of git's protocol."""
    first = ssh_server.create_repository("team.git").commit({"a.json": "1"})
    remote = ssh_remote(ssh_server)
    fetched = await mirrors.fetch("uid", remote, "")
    assert fetched is not None
    assert fetched.sha == first
    pushed = await commit(mirrors, "uid", remote, push_change(first))
    assert await remote.head("main", mirrors.ensure_root()) == pushed.sha
    await commit(mirrors, "uid", remote, push_change(pushed.sha, "side", "c.json"))
    assert sorted(await remote.branches(mirrors.ensure_root())) == ["main", "side"]
    assert await remote.default_branch(mirrors.ensure_root()) == "main"


async def test_an_address_in_scp_form_is_checked(tmp_path: Path, mirrors: Mirrors, monkeypatch: pytest.MonkeyPatch) -> None:
    """For an address ``user@host:path``, ssh connects to the checked IP address, and verifies the host key by the name.

    No argument or environment variable contains the private key.
    """
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{tmp_path}/arguments'\nenv > '{tmp_path}/environment'\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    resolver = HostResolver(AllowedHosts.parse(LOOPBACK), "the repository's")
    remote = Remote("git@LOCALHOST:team/boards", "", resolver, 20, ssh=SshAccess("a-secret-key", ""))
    await head_error(remote, mirrors)
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert {"-F", "/dev/null", "StrictHostKeyChecking=yes", "BatchMode=yes", "ForwardAgent=no", "IdentityAgent=none"} <= set(arguments)
    assert {"HostKeyAlias=localhost", "git@LOCALHOST"} <= set(arguments)
    assert {"HostName=127.0.0.1", "HostName=::1"} & set(arguments)
    assert "git-upload-pack 'team/boards'" in arguments
    assert "a-secret-key" not in "".join(arguments) + (tmp_path / "environment").read_text()


async def test_a_changed_host_key_is_refused(ssh_server: SshServer, mirrors: Mirrors) -> None:
    """The error of a changed host key names the host, the new fingerprint and the setting. The deploy key is not offered to the host."""
    ssh_server.create_repository("team.git").commit({"a.json": "1"})
    remote = ssh_remote(ssh_server)
    assert await remote.head("main", mirrors.ensure_root())
    fingerprint = await ssh_server.change_host_key()
    accepted = ssh_server.log().count("Accepted publickey")
    error = await head_error(remote, mirrors)
    assert isinstance(error, BadRequest)
    assert f"[127.0.0.1]:{ssh_server.port} is not the known one: its fingerprint is now {fingerprint}" in error.message
    assert [cause.field for cause in error.causes] == ["spec.githost.knownHosts"]
    assert ssh_server.log().count("Accepted publickey") == accepted
    with_new_key = ssh_remote(ssh_server)
    assert await with_new_key.head("main", mirrors.ensure_root())


async def test_an_unknown_host_is_refused(ssh_server: SshServer, mirrors: Mirrors, tmp_path: Path) -> None:
    """A host is refused unless the repository or the installation has its host key."""
    ssh_server.create_repository("team.git").commit({"a.json": "1"})
    remote = replace(ssh_remote(ssh_server), ssh=SshAccess(ssh_server.key))
    error = await head_error(remote, mirrors)
    assert error.message.startswith(f"no ED25519 host key is known for [127.0.0.1]:{ssh_server.port}: add the line")
    shared_hosts = tmp_path / "all hosts"
    shared_hosts.write_text(ssh_server.known_hosts)
    assert await replace(remote, ssh=SshAccess(ssh_server.key, "", shared_hosts)).head("main", mirrors.ensure_root())
    without_file = replace(remote, ssh=SshAccess(ssh_server.key, "", tmp_path / "none"))
    assert "DASHWRIGHT_SSH_KNOWN_HOSTS cannot be read" in (await head_error(without_file, mirrors)).message


async def test_a_revoked_host_key_is_refused(tmp_path: Path, mirrors: Mirrors) -> None:
    """A host key that the known hosts mark as revoked is a fault of ``knownHosts``, and the message names the host."""
    async with ssh.serving(tmp_path / "ssh") as server:
        revoked = SshAccess(server.key, f"{server.known_hosts}@revoked {server.known_hosts}")
        error = await head_error(replace(ssh_remote(server), ssh=revoked), mirrors)
    assert error.message.startswith(f"the host key of [127.0.0.1]:{server.port} is marked as @revoked")
    assert [cause.field for cause in error.causes] == ["spec.githost.knownHosts"]


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
async def test_another_key_is_refused(tmp_path: Path, mirrors: Mirrors, kind: str) -> None:
    """A key that the host refuses is a fault of ``secure.sshKey``, and the message does not contain the key."""
    async with ssh.serving(tmp_path / "ssh") as server:
        server.create_repository("team.git").commit({"a.json": "1"})
        ssh.make_key(tmp_path / "other", kind)
        remote = replace(ssh_remote(server), ssh=SshAccess((tmp_path / "other").read_text(), server.known_hosts))
        error = await head_error(remote, mirrors)
        assert isinstance(error, Forbidden)
        assert error.message.startswith("the git host refuses the deploy key")
        assert [cause.field for cause in error.causes] == ["secure.sshKey"]
        (server.folder / "key.pub").write_text((tmp_path / "other.pub").read_text())
        assert await remote.head("main", mirrors.ensure_root())


@pytest.mark.parametrize("lines", [1, 1000], ids=["short", "long"])
async def test_a_banner_hides_no_error(tmp_path: Path, mirrors: Mirrors, lines: int) -> None:
    """The text that a server sends before the login is not taken for an error, and does not displace one."""
    banner = tmp_path / "banner"
    banner.write_text("All logins are recorded. Authentication failed too often? Call us.\n" * lines)
    async with ssh.serving(tmp_path / "ssh", settings=[f"Banner {banner}"]) as server:
        assert isinstance(await head_error(ssh_remote(server, "none"), mirrors), NotFound)
        ssh.make_key(tmp_path / "other")
        with_other_key = replace(ssh_remote(server), ssh=SshAccess((tmp_path / "other").read_text(), server.known_hosts))
        assert (await head_error(with_other_key, mirrors)).message.startswith("the git host refuses the deploy key")


@asynccontextmanager
async def server_with_command(tmp_path: Path, shell_command: str) -> AsyncIterator[SshServer]:
    """Run a server that runs a shell command before each program of git."""
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\n{shell_command}\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n')
    program.chmod(0o755)
    async with ssh.serving(tmp_path / "ssh", settings=[f"ForceCommand {program}"]) as server:
        yield server


async def test_a_failure_of_the_server_keeps_the_mirror(tmp_path: Path, mirrors: Mirrors) -> None:
    """A failure or stop of the server does not count as damage of the mirror, which would be fetched again."""
    async with server_with_command(tmp_path, f"test ! -e {tmp_path}/closed || {{ echo in maintenance >&2; exit 1; }}") as server:
        sha = server.create_repository("team.git").commit({"a.json": "1"})
        fetched = await mirrors.fetch("uid", ssh_remote(server), "main")
        assert fetched is not None
        (tmp_path / "closed").touch()
        with pytest.raises(SourceFailed, match=r"^git failed: in maintenance$"):
            await mirrors.fetch("uid", ssh_remote(server), "main")
        assert git(fetched.mirror_path, "cat-file", "-t", sha) == "commit"
        unreachable = ssh_remote(server)
    with pytest.raises(SourceFailed, match="cannot be reached"):
        await mirrors.fetch("uid", unreachable, "main")
    assert git(fetched.mirror_path, "cat-file", "-t", sha) == "commit"


@pytest.mark.parametrize(
    ("message", "error_type"),
    [
        ("FATAL: W any team/boards reader DENIED by fallthru", Forbidden),
        ("Deploy Key: 3:reader is not authorized to write team/boards.", Forbidden),
        ("ERROR: The project you were looking for could not be found or you don't have permission to view it.", NotFound),
    ],
    ids=["gitolite", "Gitea", "GitLab"],
)
async def test_a_key_without_a_right_is_reported(tmp_path: Path, mirrors: Mirrors, message: str, error_type: type[DashwrightError]) -> None:
    """The refusals of gitolite, Gitea and GitLab are faults of the key or the address, not of the host."""
    async with server_with_command(tmp_path, f'echo "{message}" >&2; exit 1') as server:
        assert isinstance(await head_error(ssh_remote(server), mirrors), error_type)


async def test_a_program_with_much_output_hides_no_error(tmp_path: Path, mirrors: Mirrors) -> None:
    """The error of git is found at the end of any amount of text that the server writes before it."""
    async with server_with_command(tmp_path, "yes 'Welcome to this server' | head -n 5000 >&2") as server:
        assert isinstance(await head_error(ssh_remote(server, "none"), mirrors), NotFound)


async def test_a_login_shell_that_prints_is_reported(tmp_path: Path, mirrors: Mirrors) -> None:
    """Text of a login shell among the data of git is an error that names the cause."""
    async with server_with_command(tmp_path, "echo Welcome to this server") as server:
        server.create_repository("team.git").commit({"a.json": "1"})
        error = await head_error(ssh_remote(server), mirrors)
    assert isinstance(error, BadRequest)
    assert "the profile of the user's login shell must print nothing" in error.message


async def test_a_missing_repository_is_named(ssh_server: SshServer, mirrors: Mirrors) -> None:
    """A repository at a wrong path is not found. The suffix ``.git`` of a path may be omitted."""
    assert isinstance(await head_error(ssh_remote(ssh_server, "none"), mirrors), NotFound)
    newest = ssh_server.create_repository("team.git").commit({"a.json": "1"})
    assert await ssh_remote(ssh_server, "team").head("main", mirrors.ensure_root()) == newest


async def test_a_forbidden_host_is_not_contacted(mirrors: Mirrors) -> None:
    """Private addresses need ``ALLOWED_HOSTS``, as with https."""
    connections: list[asyncio.StreamWriter] = []
    listener = await asyncio.start_server(lambda _, writer: connections.append(writer), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    remote = Remote(f"ssh://git@127.0.0.1:{port}/team", "", HostResolver(AllowedHosts.parse(()), "the repository's"), 20)
    assert "127.0.0.1, which is not public" in (await head_error(remote, mirrors)).message
    assert connections == []
    listener.close()
    await listener.wait_closed()


async def test_the_key_is_private_and_removed(tmp_path: Path, mirrors: Mirrors, monkeypatch: pytest.MonkeyPatch) -> None:
    """While ssh runs, only its user can read the key. Afterwards the key is removed, even after an interruption."""
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.setattr(private_files, "_MEMORY_DIRECTORY", folder)
    old_folder = folder / "dashwright-ssh-old"
    old_folder.mkdir()
    os.utime(old_folder, (0, 0))

    connected, closed = asyncio.Event(), asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        closed.set()

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    resolver = HostResolver(AllowedHosts.parse(LOOPBACK), "the repository's")
    remote = Remote(f"ssh://git@127.0.0.1:{port}/team", "", resolver, 20, ssh=SshAccess("a-secret-key\n", ""))
    task = asyncio.create_task(remote.head("main", mirrors.ensure_root()))
    await connected.wait()
    (directory,) = folder.iterdir()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    assert (directory / "key").read_text() == "a-secret-key\n"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(folder.iterdir()) == []
    await closed.wait()
    listener.close()
    await listener.wait_closed()


async def test_a_port_without_an_ssh_server_is_reported(mirrors: Mirrors) -> None:
    """A port without a server, and one that closes the connection, are faults of the host."""

    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    listener = await asyncio.start_server(close, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    resolver = HostResolver(AllowedHosts.parse(LOOPBACK), "the repository's")
    remote = Remote(f"ssh://git@127.0.0.1:{port}/team", "", resolver, 20, ssh=SshAccess("key\n", ""))
    assert "closed the connection before it identified itself" in (await head_error(remote, mirrors)).message
    listener.close()
    await listener.wait_closed()
    error = await head_error(remote, mirrors)
    assert isinstance(error, SourceFailed)
    assert "the git host cannot be reached" in error.message


class _TwoAddressResolver(HostResolver):
    """A resolver that returns an address at which nothing listens before the address of the host."""

    async def resolve(self, host: str, port: int, *, encrypted: bool = True) -> list[Address]:
        """Return the silent address, and then the one of the host."""
        (address,) = await super().resolve(host, port, encrypted=encrypted)
        return [address + 1, address]


async def test_the_next_address_is_tried(ssh_server: SshServer, mirrors: Mirrors) -> None:
    """A host is reached at its second address if its first one cannot be reached."""
    newest = ssh_server.create_repository("team.git").commit({"a.json": "1"})
    resolver = _TwoAddressResolver(AllowedHosts.parse(LOOPBACK), "the repository's")
    assert await replace(ssh_remote(ssh_server), resolver=resolver).head("main", mirrors.ensure_root()) == newest


async def test_a_missing_ssh_is_reported(tmp_path: Path, mirrors: Mirrors, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a missing ssh program names the package to install on the worker."""
    async with ssh.serving(tmp_path / "ssh") as server:
        monkeypatch.setattr("shutil.which", lambda _: None)
        assert "install openssh-client where the jobs worker runs" in (await head_error(ssh_remote(server), mirrors)).message
