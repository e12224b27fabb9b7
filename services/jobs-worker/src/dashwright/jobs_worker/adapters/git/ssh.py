"""The ssh program as git runs it: with the deploy key and the known hosts of one repository, and no other configuration."""

import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dashwright.common.allowed_hosts import Address
from dashwright.common.errors import SourceFailed
from dashwright.common.kinds.git_addresses import GitAddress

_DIRECTORY_PREFIX: Final = "dashwright-ssh-"
_LEFTOVER_SECONDS: Final = 24 * 3600
"""Age of a directory that a killed worker left: no run of git takes that long."""

_MEMORY_DIRECTORY: Final = Path("/dev/shm")  # noqa: S108 - every file in it is in a private directory
_SSH_PORT: Final = 22
_CONNECT_SECONDS: Final = 15

_OPTIONS: Final[Mapping[str, str]] = {
    "AddKeysToAgent": "no",
    "BatchMode": "yes",
    "CanonicalizeHostname": "no",
    "CheckHostIP": "no",
    "ClearAllForwardings": "yes",
    "ConnectTimeout": str(_CONNECT_SECONDS),
    "ControlMaster": "no",
    "ControlPath": "none",
    "FingerprintHash": "sha256",
    "ForwardAgent": "no",
    "IdentitiesOnly": "yes",
    "IdentityAgent": "none",
    "KbdInteractiveAuthentication": "no",
    "PasswordAuthentication": "no",
    "PermitLocalCommand": "no",
    "PreferredAuthentications": "publickey",
    "ProxyCommand": "none",
    # A host that sends nothing for a minute is given up.
    "ServerAliveInterval": "20",
    "ServerAliveCountMax": "3",
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
    "VerifyHostKeyDNS": "no",
}


@dataclass(frozen=True, slots=True)
class SshAccess:
    """The access of one repository to SSH servers."""

    #: Private key in OpenSSH form; empty if there is none.
    private_key: str = field(default="", repr=False)
    #: Host keys that the repository accepts, in the form of OpenSSH.
    known_hosts: str = ""
    #: File of host keys that all repositories accept.
    shared_known_hosts: Path | None = None


@contextmanager
def ssh_settings(access: SshAccess, address: GitAddress, ip_address: Address) -> Iterator[Mapping[str, str]]:
    """Yield configuration of git, with which it connects to ``ip_address`` with the key; the files with the key exist during the block.

    Raises SourceFailed if there is no ssh program, or the installation's file of known hosts cannot be read.
    """
    if shutil.which("ssh") is None:
        raise SourceFailed("there is no ssh program here; install openssh-client where the jobs worker runs")
    shared = access.shared_known_hosts
    if shared is not None and not os.access(shared, os.R_OK):
        raise SourceFailed(f"the file {shared} of DASHWRIGHT_SSH_KNOWN_HOSTS cannot be read by the jobs worker")
    try:
        _remove_leftovers()
        directory = tempfile.TemporaryDirectory(prefix=_DIRECTORY_PREFIX, dir=_parent_directory())
    except OSError as error:
        raise SourceFailed(f"the jobs worker cannot write a temporary file for ssh: {error.strerror}") from error
    with directory as path:
        key_path, hosts_path = Path(path) / "key", Path(path) / "known_hosts"
        _write_private(key_path, access.private_key)
        _write_private(hosts_path, access.known_hosts)
        options = {
            **_OPTIONS,
            "GlobalKnownHostsFile": f'"{shared}"' if shared is not None else "/dev/null",
            "UserKnownHostsFile": f'"{hosts_path}"',
            "IdentityFile": f'"{key_path}"',
            # ssh connects to the checked address, and looks the host key up by the name in the repository's address.
            "HostName": str(ip_address),
            "HostKeyAlias": known_hosts_name(address),
        }
        arguments = ["ssh", "-F", "/dev/null", *(argument for name, value in options.items() for argument in ("-o", f"{name}={value}"))]
        yield {"protocol.ssh.allow": "always", "core.sshCommand": shlex.join(arguments), "ssh.variant": "ssh"}


def known_hosts_name(address: GitAddress) -> str:
    """Return the name of a host in files of known hosts, which contains the port unless it is 22."""
    return address.host if address.port == _SSH_PORT else f"[{address.host}]:{address.port}"


def _parent_directory() -> Path:
    """Return the directory for files with keys, which is in memory where the system has one."""
    return _MEMORY_DIRECTORY if os.access(_MEMORY_DIRECTORY, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _remove_leftovers() -> None:
    """Delete the directories with keys that killed workers of the same user left."""
    oldest = time.time() - _LEFTOVER_SECONDS
    for path in _parent_directory().glob(f"{_DIRECTORY_PREFIX}*"):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if status.st_uid == os.getuid() and status.st_mtime < oldest:
            shutil.rmtree(path, ignore_errors=True)
