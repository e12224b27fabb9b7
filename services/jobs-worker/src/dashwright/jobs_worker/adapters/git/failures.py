"""The meaning of the messages of git and ssh, as errors for users."""

import re
from collections.abc import Sequence
from functools import reduce
from http import HTTPStatus
from typing import Final

from dashwright.common.errors import (
    BadRequest,
    Cause,
    Conflict,
    DashwrightError,
    Forbidden,
    NotFound,
    SourceFailed,
    TooLarge,
)
from dashwright.common.tls_failures import NOT_TLS_ADVICE
from dashwright.jobs_worker.adapters.git.command import KILLED, NOT_CONNECTED, NOT_GIT, GitFailed
from dashwright.jobs_worker.adapters.git.damage import HostFailed
from dashwright.jobs_worker.adapters.git.idle_limit import SILENT

COMMIT_NOT_FOUND: Final = "commit not found"
COMMIT_NOT_SENT: Final = "the git host sends only the commits of branches and tags"
BRANCH_NOT_FOUND: Final = "branch not found"

_MOVED_MESSAGES: Final = ("[rejected]", "cannot lock ref", "failed to update ref", "incorrect old value", "reference already exists")
_MAX_REMOTE_LINES: Final = 5
_MAX_REMOTE_CHARACTERS: Final = 500
"""Limit on the characters of the first lines that hooks of a host print, which have the reason of a rejection."""

_MAX_GIT_CHARACTERS: Final = 300
"""Limit on the last characters that git prints, which have the reason of a failure."""

_NO_REPOSITORY: Final = "there is no repository at this address"
_DENIED: Final = "the git host denies access: the repository does not exist, or the deploy key or token lacks the right to read or write it"
_SILENT: Final = (
    "the git host sends nothing: sync again later, or raise DASHWRIGHT_GIT_IDLE_SECONDS if it needs more time to prepare a large repository"
)
_STATUS_PATTERN: Final = re.compile(r"The requested URL returned error: (\d{3})")
_ADVICE: Final = frozenset(
    {"Could not read from remote repository.", "Please make sure you have the correct access rights", "and the repository exists."}
)
"""Lines that git adds to every failure of an SSH server."""

_CREDENTIALS_IN_URL: Final = re.compile(r"(https?://)[^/@\s]*@")

_NOT_TLS_MESSAGES: Final = ("wrong version number", "record layer failure", "packet length too long", "unexpected TLS packet")

# The message in git's output, the type of the error and its text. The first match counts, so special cases come before "not found" and
# "certificate".
_ERRORS_BY_MESSAGE: Final[tuple[tuple[str, type[DashwrightError], str], ...]] = (
    ("No user exists for uid", SourceFailed, "ssh needs an entry in /etc/passwd for the user of the jobs worker"),
    ("marked as read only", Forbidden, "the deploy key may only read: allow it to write at the git host"),
    ("does not have write access", Forbidden, "the deploy key may only read: allow it to write at the git host"),
    # The first message is that of gitolite, the second one that of Gitea and Forgejo over SSH.
    ("DENIED by", Forbidden, _DENIED),
    ("is not authorized to", Forbidden, _DENIED),
    ("Authentication failed", Forbidden, "the git host requires a valid token: it is missing, wrong or expired"),
    ("could not read Username", Forbidden, "the git host asks for a token: the repository is private, or does not exist at this address"),
    ("couldn't find remote ref", NotFound, BRANCH_NOT_FOUND),
    ("not our ref", NotFound, COMMIT_NOT_FOUND),
    ("unadvertised object", NotFound, COMMIT_NOT_SENT),
    ("does not appear to be a git repository", NotFound, _NO_REPOSITORY),
    ("not found", NotFound, _NO_REPOSITORY),
    # GitLab over SSH.
    ("could not be found", NotFound, _NO_REPOSITORY),
    ("could not determine hash algorithm", NotFound, f"{_NO_REPOSITORY}: {NOT_GIT}"),
    ("info/refs not valid", NotFound, f"{_NO_REPOSITORY}: {NOT_GIT}"),
    (NOT_GIT, NotFound, f"{_NO_REPOSITORY}: {NOT_GIT}"),
    (
        "bad line length character",
        BadRequest,
        "the git host sends text before the data of git: over SSH, the profile of the user's login shell must print nothing",
    ),
    ("mismatched algorithms", BadRequest, "the repository uses SHA-256 object names; only SHA-1 is supported"),
    ("Out of memory", TooLarge, "the git host sends more branches or larger files than git can hold in memory: split the repository"),
    (KILLED, TooLarge, "git needs more memory than the jobs worker has: split the repository, or give the worker more memory"),
    ("No space left on device", SourceFailed, "the disk of the jobs worker is full"),
    ("unable to update url base from redirection", BadRequest, "the git host redirects to another address: give that one as the url"),
    # Messages of OpenSSL and GnuTLS, with which curl may be built.
    *((message, SourceFailed, f"the git host {NOT_TLS_ADVICE}") for message in _NOT_TLS_MESSAGES),
    ("SSL CA cert", SourceFailed, "the file of DASHWRIGHT_GIT_AUTHORITIES holds no certificates that can be read"),
    ("error setting certificate", SourceFailed, "the file of DASHWRIGHT_GIT_AUTHORITIES holds no certificates that can be read"),
    (
        "certificate",
        SourceFailed,
        "the git host's certificate is not trusted: name the file of its authority in DASHWRIGHT_GIT_AUTHORITIES",
    ),
    ("Could not resolve host", HostFailed, "the git host's name is not known"),
    (NOT_CONNECTED, HostFailed, "the git host cannot be reached"),
    ("Failed to connect", HostFailed, "the git host cannot be reached"),
    ("Connection refused", HostFailed, "the git host cannot be reached"),
    ("Operation too slow", HostFailed, _SILENT),
    (SILENT, HostFailed, _SILENT),
    ("timed out", HostFailed, "the git host did not respond in time"),
    ("unexpected disconnect", HostFailed, "the git host closed the connection"),
    ("Empty reply", HostFailed, "the git host closed the connection"),
    ("Recv failure", HostFailed, "the git host closed the connection"),
    ("RPC failed", HostFailed, "the git host closed the connection"),
    ("early EOF", HostFailed, "the git host closed the connection"),
    ("No route to host", HostFailed, "the git host cannot be reached"),
    ("Network is unreachable", HostFailed, "the git host cannot be reached"),
    ("kex_exchange_identification", HostFailed, "the server closed the connection before it identified itself as an SSH server"),
    ("Connection closed by", HostFailed, "the git host closed the connection"),
    ("Connection reset by", HostFailed, "the git host closed the connection"),
    ("hung up unexpectedly", HostFailed, "the git host closed the connection"),
)


_UNREACHABLE: Final = "ssh: connect to host"
_CHANGED_HOST_KEY: Final = re.compile(r"Host key for (\S+) has changed")
_REVOKED_HOST_KEY: Final = re.compile(r"host key for (\S+) was revoked")
_UNKNOWN_HOST_KEY: Final = re.compile(r"No (\S+) host key is known for (\S+) and")
_FINGERPRINT: Final = re.compile(r"sent by the remote host is\s+(SHA256:[A-Za-z0-9+/]+)")
_REFUSED_KEY: Final = re.compile(r"^\S*: Permission denied \(", re.MULTILINE)
_KNOWN_HOSTS_FIELD: Final = "spec.githost.knownHosts"
_SSH_KEY_FIELD: Final = "secure.sshKey"


def push_rejection(branch: str, reason: str, stderr: str, secrets: Sequence[str]) -> DashwrightError:
    """Return the error for a rejected push as one sentence. If hooks of the host rejected the push, it quotes their first lines."""
    remote_lines = [line.removeprefix("remote:").strip() for line in stderr.splitlines() if line.startswith("remote:")]
    detail = _redacted("; ".join([line for line in remote_lines if line][:_MAX_REMOTE_LINES]) or reason, secrets)[:_MAX_REMOTE_CHARACTERS]
    if "cannot create" in stderr:
        return BadRequest(f"branch {branch!r} cannot be created: the name of another branch is a prefix of it, or the other way round")
    if any(message in reason for message in _MOVED_MESSAGES):
        return Conflict(f"branch {branch!r} has moved: read it again and repeat the change")
    if "protected branch" in f"{reason} {detail}".lower():
        return BadRequest(f"branch {branch!r} is protected by its host: change another branch, and open a pull request ({detail})")
    return BadRequest(f"the git host refuses the change: {detail}")


def _redacted(text: str, secrets: Sequence[str]) -> str:
    """Return the text without control characters and secrets. A control character inside a secret would hide it, so it is removed first."""
    printable = "".join(character for character in text if character.isprintable())
    return reduce(lambda value, secret: value.replace(secret, "***"), secrets, _CREDENTIALS_IN_URL.sub(r"\1", printable))


def is_throttled(failed: GitFailed) -> bool:
    """Return whether the host limits requests, or is unavailable and sends a Retry-After header: the request may succeed later."""
    status = _STATUS_PATTERN.search(failed.stderr)
    status_code = int(status[1]) if status is not None else 0
    return status_code == HTTPStatus.TOO_MANY_REQUESTS or (status_code == HTTPStatus.SERVICE_UNAVAILABLE and failed.retry_after is not None)


def is_repository_missing(stderr: str) -> bool:
    """Return whether the repository does not exist at this address, although it may at another one."""
    status = _STATUS_PATTERN.search(stderr)
    # A redirect, which git does not follow.
    if status is not None and status[1].startswith("3"):
        return True
    return error_for(stderr).message.startswith(_NO_REPOSITORY)


def is_unreachable(stderr: str) -> bool:
    """Return whether there was no connection to an IP address, but another address of the host may accept one."""
    return _UNREACHABLE in stderr or NOT_CONNECTED in stderr


def _ssh_error(stderr: str) -> DashwrightError | None:
    """Return the error for a host key or a deploy key that was refused; None for any other failure."""
    if changed := _CHANGED_HOST_KEY.search(stderr):
        fingerprint = _FINGERPRINT.search(stderr)
        message = (
            f"the host key of {changed[1]} is not the known one: its fingerprint is now {fingerprint[1] if fingerprint else '?'}. "
            "Another server may have its place. If the owner of the host confirms this fingerprint, replace the key in knownHosts, or "
            "let an operator replace it in the file of DASHWRIGHT_SSH_KNOWN_HOSTS"
        )
        return BadRequest(message, causes=[Cause(_KNOWN_HOSTS_FIELD, "FieldValueInvalid", message)])
    if revoked := _REVOKED_HOST_KEY.search(stderr):
        message = f"the host key of {revoked[1]} is marked as @revoked in the known hosts: ask the owner of the host for the present key"
        return BadRequest(message, causes=[Cause(_KNOWN_HOSTS_FIELD, "FieldValueInvalid", message)])
    if unknown := _UNKNOWN_HOST_KEY.search(stderr):
        message = (
            f"no {unknown[1]} host key is known for {unknown[2]}: add the line that the host publishes, or that ssh-keyscan prints and "
            "whose fingerprint the owner of the host confirms, to knownHosts or the file of DASHWRIGHT_SSH_KNOWN_HOSTS"
        )
        return BadRequest(message, causes=[Cause(_KNOWN_HOSTS_FIELD, "FieldValueRequired", message)])
    if _REFUSED_KEY.search(stderr):
        message = "the git host refuses the deploy key: add its public key there, with the right to read this repository"
        return Forbidden(message, causes=[Cause(_SSH_KEY_FIELD, "FieldValueInvalid", message)])
    return None


def error_for(stderr: str, secrets: Sequence[str] = ()) -> DashwrightError:
    """Return the error for a failure of git as one sentence without secrets.

    The owner of the repository can correct an error with a status below 500.
    """
    ssh_error = _ssh_error(stderr)
    if ssh_error is not None:
        return ssh_error
    lines = [line.removeprefix("fatal: ").removeprefix("remote: ").strip() for line in stderr.splitlines()]
    detail = _redacted("; ".join(line for line in lines if line and line not in _ADVICE), secrets)[-_MAX_GIT_CHARACTERS:]
    for message, error_type, sentence in _ERRORS_BY_MESSAGE:
        if message.lower() in stderr.lower():
            # An error of the server is for operators, who need the words of git, too.
            return error_type(f"{sentence} ({detail})" if issubclass(error_type, SourceFailed) else sentence)
    status = _STATUS_PATTERN.search(stderr)
    if status is None:
        return SourceFailed(f"git failed: {detail or 'without a message'}")
    status_code = int(status[1])
    if status_code in (401, 403):
        return Forbidden(f"the git host refuses access ({status_code}): the token lacks the permission, or the host requires another token")
    if status_code in (404, 410):
        return NotFound(_NO_REPOSITORY)
    if status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return TooLarge("the git host does not accept a change of this size: make it in parts")
    return SourceFailed(f"the git host responds with status {status_code}")
