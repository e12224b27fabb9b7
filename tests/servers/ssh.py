"""An SSH server on the loopback, run by the user of the tests with its own host key: OpenSSH, found here or installed."""

import asyncio
import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.servers.git import WorkTree, git
from tests.servers.packages import install
from tests.servers.process import CannotProvide, Process, free_port

from dashwright.standalone import child

_PROGRAM = "/usr/sbin/sshd"
_PRIVILEGE_SEPARATION = Path("/run/sshd")


@dataclass
class SshServer:
    """A running server and the repositories in ``folder / 'repositories'``. The user may log in with ``key`` only."""

    folder: Path
    port: int
    process: Process

    @property
    def key(self) -> str:
        """The private key with the right to log in."""
        return (self.folder / "key").read_text()

    @property
    def known_hosts(self) -> str:
        """The line of the host key."""
        return host_line(self.folder / "host_key.pub", self.port)

    @property
    def user(self) -> str:
        """The name of the user who runs the tests."""
        return getpass.getuser()

    def url(self, name: str) -> str:
        """Return the URL of a repository."""
        return f"ssh://{self.user}@127.0.0.1:{self.port}{self.folder}/repositories/{name}"

    def create_repository(self, name: str) -> WorkTree:
        """Create a bare repository and return a work tree to change it."""
        repository = self.folder / "repositories" / name
        git(self.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(repository))
        work_tree = self.folder / f"{name}.work"
        git(self.folder, "clone", "--quiet", str(repository), str(work_tree))
        git(work_tree, "checkout", "--quiet", "-B", "main")
        return WorkTree(work_tree)

    async def change_host_key(self) -> str:
        """Restart the server with another host key and return its fingerprint."""
        await self.process.stop()
        for name in ("host_key", "host_key.pub"):
            (self.folder / name).unlink()
        make_key(self.folder / "host_key")
        await self.process.start(lambda: _listens(self.port))
        return fingerprint(self.folder / "host_key.pub")

    def log(self) -> str:
        """Return the log of the server."""
        return (self.folder / "server.log").read_text()


def make_key(path: Path, kind: str = "ed25519", passphrase: str = "", *options: str) -> None:
    """Create a private key and the public one next to it."""
    command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", str(path), *options]
    subprocess.run(command, check=True, capture_output=True)


def fingerprint(public_key: Path) -> str:
    """Return the fingerprint of a public key as OpenSSH shows it."""
    process = subprocess.run(["ssh-keygen", "-l", "-f", str(public_key)], check=True, capture_output=True, text=True)
    return process.stdout.split()[1]


def host_line(public_key: Path, port: int) -> str:
    """Return the line of known hosts for a server on the loopback."""
    return f"[127.0.0.1]:{port} {' '.join(public_key.read_text().split()[:2])}\n"


@asynccontextmanager
async def serving(
    folder: Path, *, accepts_protocol_2: bool = True, port: int = 0, settings: Sequence[str] = ()
) -> AsyncIterator[SshServer]:
    """Run a server with further ``settings`` while the block runs.

    Without ``accepts_protocol_2`` git speaks its protocol v0, as with servers by default.
    """
    _require_program()
    (folder / "repositories").mkdir(parents=True)
    make_key(folder / "host_key")
    make_key(folder / "key")
    port = port or free_port()
    all_settings = [
        f"ListenAddress 127.0.0.1:{port}",
        f"HostKey {folder}/host_key",
        f"AuthorizedKeysFile {folder}/key.pub",
        f"PidFile {folder}/pid",
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin prohibit-password",
        "LogLevel VERBOSE",
        *(["AcceptEnv GIT_PROTOCOL"] if accepts_protocol_2 else []),
        *settings,
    ]
    (folder / "sshd_config").write_text("\n".join(all_settings) + "\n")
    process = Process(
        [_PROGRAM, "-D", "-e", "-f", folder / "sshd_config"],
        account=child.current_account(),
        output=folder / "server.log",
        end_signal=signal.SIGTERM,
    )
    try:
        await process.start(lambda: _listens(port))
        yield SshServer(folder, port, process)
    finally:
        await process.stop()


def _require_program() -> None:
    """Install the server if it is missing, and create the folder that it needs under root. Raises CannotProvide."""
    if shutil.which("ssh-keygen") is None or not Path(_PROGRAM).exists():
        try:
            install("openssh-server")
        except CannotProvide as error:
            raise CannotProvide(f"Tests need an SSH server, which could not be provided: {error}") from error
    if os.getuid() == 0:
        _PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)


async def _listens(port: int) -> bool:
    """Return True if a process listens at a port of the loopback."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
    return True
