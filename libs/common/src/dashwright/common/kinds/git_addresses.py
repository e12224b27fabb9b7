"""Addresses of repositories on git hosts: ``https://host/path``, ``ssh://git@host/path`` and ``git@host:path``."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

SSH: Final = "ssh"

_HOST: Final = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,252}", re.IGNORECASE)
_SSH_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_SCP_FORM: Final = re.compile(r"(?P<user>[^@/:]+)@(?P<host>\[[^\]/]+\]|[^:/\[\]]+):(?P<path>.*)", re.DOTALL)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443, SSH: 22}


@dataclass(frozen=True, slots=True)
class GitAddress:
    """The parts of a valid address."""

    #: ``https``, ``http`` or ``ssh``.
    scheme: str
    #: Name of the host in lower case, or its IP address without brackets.
    host: str
    port: int
    #: User of an SSH server; empty for the other schemes, which have their credentials elsewhere.
    user: str
    #: Path without slashes at its ends. In the form ``git@host:path`` it starts at the home directory of the user.
    path: str
    #: Whether the path starts at the home directory of the user.
    is_scp_form: bool = False

    @property
    def is_ssh(self) -> bool:
        """True if the repository is reached over SSH."""
        return self.scheme == SSH

    @property
    def origin(self) -> str:
        """The scheme, user, host and port, which credentials are bound to."""
        literal = f"[{self.host}]" if ":" in self.host else self.host
        user = f"{self.user}@" if self.user else ""
        return f"{self.scheme}://{user}{literal}:{self.port}"


def is_host(host: str) -> bool:
    """Return whether ``host`` is an IP address or a name in ASCII, which all programs interpret alike."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return _HOST.fullmatch(host) is not None
    # The zone of an IPv6 address, such as ``fe80::1%eth0``, is valid on one machine only.
    return "%" not in host


def is_ssh_form(url: str) -> bool:
    """Return whether a text has the form of an SSH address, even if its parts are invalid."""
    return url.startswith("ssh://") or ("://" not in url and _SCP_FORM.fullmatch(url) is not None)


def parse_git_address(url: str) -> GitAddress | None:
    """Return the parts of an address; None if it is invalid, and for an SSH address without a user."""
    if "://" not in url:
        return _parse_scp_form(url)
    try:
        parts = urlsplit(url)
        # urlsplit raises ValueError for an invalid port only when the port is read.
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not is_host(host) or port == 0 or not url.isprintable():
        return None
    user = ""
    if parts.scheme == SSH:
        user = parts.username or ""
        if not _SSH_USER.fullmatch(user) or parts.password is not None or parts.query or parts.fragment:
            return None
    return GitAddress(parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme], user, parts.path.strip("/"))


def _parse_scp_form(url: str) -> GitAddress | None:
    """Return the parts of an address such as ``git@host:path``, or None if it is invalid."""
    match = _SCP_FORM.fullmatch(url)
    if match is None or not url.isprintable():
        return None
    host = match["host"].removeprefix("[").removesuffix("]").lower()
    if not _SSH_USER.fullmatch(match["user"]) or not is_host(host):
        return None
    return GitAddress(SSH, host, _DEFAULT_PORTS[SSH], match["user"], match["path"].strip("/"), is_scp_form=True)


def split_url(url: str) -> SplitResult | None:
    """Return the parts of an http or https URL, or None if it is invalid."""
    try:
        parts = urlsplit(url)
        # urlsplit raises ValueError for an invalid port only when the port is read.
        is_usable = parts.scheme in ("https", "http") and is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        return None
    return parts if is_usable else None
