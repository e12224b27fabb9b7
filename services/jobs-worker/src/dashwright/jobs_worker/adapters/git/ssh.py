"""The ssh program as git runs it: with the deploy key and the known hosts of one repository, and no other configuration."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dashwright.common.allowed_hosts import Address
from dashwright.common.errors import SourceFailed
from dashwright.common.kinds.git_addresses import GitAddress
from dashwright.jobs_worker.adapters.git import idle_limit
from dashwright.jobs_worker.adapters.git.private_files import private_files

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
    # This level hides the banner of a host, whose words could be taken for an error.
    "LogLevel": "ERROR",
    "PasswordAuthentication": "no",
    "PermitLocalCommand": "no",
    "PreferredAuthentications": "publickey",
    "ProxyCommand": "none",
    # A dead connection is given up after a minute.
    "ServerAliveInterval": "20",
    "ServerAliveCountMax": "3",
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
    "VerifyHostKeyDNS": "no",
}


@dataclass(frozen=True, slots=True)
class SshAccess:
    """The access of one repository to SSH servers."""

    #: Private key in OpenSSH form; empty if the repository has no key.
    private_key: str = field(default="", repr=False)
    #: Host keys that the repository accepts, in the form of OpenSSH.
    known_hosts: str = ""
    #: File of host keys that all repositories accept.
    shared_known_hosts: Path | None = None


@contextmanager
def ssh_settings(access: SshAccess, address: GitAddress, ip_address: Address, idle_seconds: float) -> Iterator[Mapping[str, str]]:
    """Yield configuration by which git connects to ``ip_address`` and uses the key. The files with the key exist during the block.

    A connection over which the host sends nothing for ``idle_seconds`` is given up.

    Raises SourceFailed if there is no ssh program, or the installation's file of known hosts cannot be read.
    """
    if shutil.which("ssh") is None:
        raise SourceFailed("the ssh program is missing; install openssh-client where the jobs worker runs")
    shared = access.shared_known_hosts
    if shared is not None and not os.access(shared, os.R_OK):
        raise SourceFailed(f"the file {shared} of DASHWRIGHT_SSH_KNOWN_HOSTS cannot be read by the jobs worker")
    with private_files({"key": access.private_key, "known_hosts": access.known_hosts}) as directory:
        options = {
            **_OPTIONS,
            "GlobalKnownHostsFile": f'"{shared}"' if shared is not None else "/dev/null",
            "UserKnownHostsFile": f'"{directory / "known_hosts"}"',
            "IdentityFile": f'"{directory / "key"}"',
            # ssh connects to the checked address, and looks the host key up by the name in the repository's address.
            "HostName": str(ip_address),
            "HostKeyAlias": known_hosts_name(address),
        }
        # ``idle_limit`` runs as a script of its own between git and ssh.
        limited_ssh = [sys.executable, "-I", "-S", idle_limit.__file__, str(idle_seconds), "ssh"]
        arguments = [
            *limited_ssh,
            "-F",
            "/dev/null",
            *(argument for name, value in options.items() for argument in ("-o", f"{name}={value}")),
        ]
        yield {"protocol.ssh.allow": "always", "core.sshCommand": shlex.join(arguments), "ssh.variant": "ssh"}


def known_hosts_name(address: GitAddress) -> str:
    """Return the name of a host in files of known hosts, which contains the port unless it is 22."""
    return address.host if address.port == _SSH_PORT else f"[{address.host}]:{address.port}"
