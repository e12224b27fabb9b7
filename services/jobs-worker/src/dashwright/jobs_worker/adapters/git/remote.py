"""A repository on a git host: its address, the credentials, and the meaning of the host's errors."""

import asyncio
import base64
import re
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol
from urllib.parse import urlsplit

from dashwright.common.errors import (
    BadRequest,
    Cause,
    Conflict,
    DashwrightError,
    Forbidden,
    NotFound,
    SourceFailed,
    TooLarge,
    TooManyRequests,
)
from dashwright.common.host_resolver import HostResolver
from dashwright.common.kinds.branches import is_branch
from dashwright.common.kinds.repository import is_host
from dashwright.jobs_worker.adapters.git import command
from dashwright.jobs_worker.adapters.git.command import GitFailed, GitProgram

MAX_BRANCHES: Final = 10_000

COMMIT_NOT_FOUND: Final = "commit not found"
BRANCH_NOT_FOUND: Final = "branch not found"

_MAX_LISTED_BRANCHES: Final = 3

_BASIC_AUTH_USER: Final = "x-access-token"
"""The user name for a token, which is sent as a password. Most hosts accept any name, and some require this one."""

_GIT_SUFFIX: Final = ".git"
_MAX_KNOWN_URLS: Final = 10_000

_REQUESTS_BY_COMMAND: Final[Mapping[str, int]] = {"fetch": 3}
"""HTTP requests that a git command makes. A command that is missing here makes two."""

_PUSH_SETTINGS: Final = {"http.postBuffer": str(64 * 1024 * 1024)}
"""A push up to this size is one request with a Content-Length: not every host accepts chunked requests."""

_REJECTED_REFERENCE: Final = re.compile(r"^!\t[^\t\n]*\t(.*)$", re.MULTILINE)
_MOVED_MESSAGES: Final = ("[rejected]", "cannot lock ref", "failed to update ref", "incorrect old value", "reference already exists")
_MAX_REMOTE_LINES: Final = 5
_MAX_DETAIL_CHARACTERS: Final = 500
_MAX_GIT_DETAIL_CHARACTERS: Final = 300

_NO_REPOSITORY: Final = "there is no repository at this address"
_STATUS_PATTERN: Final = re.compile(r"The requested URL returned error: (\d{3})")
_CREDENTIALS_IN_URL: Final = re.compile(r"(https?://)[^/@\s]*@")

# The message in git's output, the type of the error and its text. The first match counts, so special cases come before "not found" and
# "certificate".
_ERRORS_BY_MESSAGE: Final[tuple[tuple[str, type[DashwrightError], str], ...]] = (
    ("Authentication failed", Forbidden, "the git host requires a valid token: it is missing, wrong or expired"),
    ("could not read Username", Forbidden, "the git host asks for a token: the repository is private, or there is none at this address"),
    ("couldn't find remote ref", NotFound, BRANCH_NOT_FOUND),
    ("not our ref", NotFound, COMMIT_NOT_FOUND),
    ("unadvertised object", NotFound, COMMIT_NOT_FOUND),
    ("not found", NotFound, _NO_REPOSITORY),
    ("could not determine hash algorithm", NotFound, f"{_NO_REPOSITORY}: the server does not speak the git protocol"),
    ("mismatched algorithms", BadRequest, "the repository uses SHA-256 object names; only SHA-1 is supported"),
    ("No space left on device", SourceFailed, "the disk of the jobs worker is full"),
    ("unable to update url base from redirection", BadRequest, "the git host redirects to another address: give that one as the url"),
    ("SSL CA cert", SourceFailed, "the file of DASHWRIGHT_GIT_AUTHORITIES holds no certificates that can be read"),
    ("error setting certificate", SourceFailed, "the file of DASHWRIGHT_GIT_AUTHORITIES holds no certificates that can be read"),
    (
        "certificate",
        SourceFailed,
        "the git host's certificate is not trusted: name the file of its authority in DASHWRIGHT_GIT_AUTHORITIES",
    ),
    ("Could not resolve host", SourceFailed, "the git host's name is not known"),
    ("Failed to connect", SourceFailed, "the git host cannot be reached"),
    ("Connection refused", SourceFailed, "the git host cannot be reached"),
    ("Operation too slow", SourceFailed, "the git host sends too slowly"),
    ("timed out", SourceFailed, "the git host did not respond in time"),
    ("unexpected disconnect", SourceFailed, "the git host closed the connection"),
    ("Empty reply", SourceFailed, "the git host closed the connection"),
    ("Recv failure", SourceFailed, "the git host closed the connection"),
    ("RPC failed", SourceFailed, "the git host closed the connection"),
    ("early EOF", SourceFailed, "the git host closed the connection"),
)


class RequestBudget(Protocol):
    """A limit on requests of organizations to hosts. A host is ``name:port``, an organization its namespace."""

    async def charge(self, host: str, namespace: str, requests: int) -> None:
        """Count requests that are about to be made. Raises TooManyRequests if they must wait."""
        ...

    async def pause(self, host: str, namespace: str, retry_after: float | None) -> TooManyRequests:
        """Pause requests after a host asked for fewer, for ``retry_after`` seconds if it says so, and return the error to raise."""
        ...


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository on a git host, as one organization's token sees it."""

    #: ``http(s)://host[:port]/path``.
    url: str
    #: Password or ``user:password``; empty without authentication.
    token: str
    resolver: HostResolver
    #: Limit, in seconds, on one run of git.
    timeout_seconds: float = 600
    #: File of certificates to trust instead of the system's.
    authorities: Path | None = None
    #: None if requests are not counted.
    budget: RequestBudget | None = None
    #: Working address by ``url``: some hosts know a repository only with ``.git`` at the end.
    known_urls: MutableMapping[str, str] = field(default_factory=dict)
    program: GitProgram = field(default_factory=GitProgram)
    #: Organization that the requests count for.
    namespace: str = ""

    async def run(self, *arguments: str, directory: Path, settings: Mapping[str, str] | None = None) -> bytes:
        """Run a command that talks to the host and return its output.

        Raises the error that ``error_for`` returns for a failure, and BadRequest for a host that may not be reached.
        """
        try:
            return await self._run(*arguments, directory=directory, settings=settings or {})
        except GitFailed as failed:
            raise error_for(failed.stderr, self._secrets()) from failed

    async def push(self, commit: str, branch: str, expected_head: str, *, directory: Path) -> None:
        """Move a branch to a commit if the branch is at the commit ``expected_head``; if ``expected_head`` is empty, create the branch.

        It sends two requests to the host. Raises Conflict if the branch is at another commit, BadRequest if the host rejects the change,
        and what ``run`` raises: after a SourceFailed the push may have succeeded.
        """
        # The lease rejects the push if the branch has moved since it was read: another writer's commits are never lost.
        lease, change = f"--force-with-lease=refs/heads/{branch}:{expected_head}", f"{commit}:refs/heads/{branch}"
        try:
            await self._run("push", "--porcelain", "--quiet", lease, self.url, change, directory=directory, settings=_PUSH_SETTINGS)
        except GitFailed as failed:
            rejection = _REJECTED_REFERENCE.search(failed.stdout)
            if rejection is None:
                raise error_for(failed.stderr, self._secrets()) from failed
            raise push_rejection(branch, rejection[1], failed.stderr, self._secrets()) from failed

    async def _run(self, *arguments: str, directory: Path, settings: Mapping[str, str]) -> bytes:
        """Run a command. Raises TooManyRequests if the budget is used up or the host limits requests."""
        await self.program.require(directory)
        # Each attempt at an address costs a request, so the address that works is remembered.
        known_url = self.known_urls.get(self.url)
        try:
            return await self._run_at(known_url or self.url, arguments, directory, settings)
        except GitFailed as failed:
            if known_url or self.url.endswith(_GIT_SUFFIX) or not is_repository_missing(failed.stderr):
                raise
            return await self._run_with_suffix(arguments, directory, settings, failed)

    async def _run_with_suffix(
        self, arguments: Sequence[str], directory: Path, settings: Mapping[str, str], first_failure: GitFailed
    ) -> bytes:
        """Run a command with ``.git`` at the end of the address. Raises the failure of the first run if there is no repository either."""
        url = self.url + _GIT_SUFFIX
        try:
            stdout = await self._run_at(url, arguments, directory, settings)
        except GitFailed as failed:
            if is_repository_missing(failed.stderr):
                raise first_failure from failed
            self._remember_url(url)
            raise
        self._remember_url(url)
        return stdout

    def _remember_url(self, working_url: str) -> None:
        # Clearing all entries is simpler than evicting the oldest and costs one request for each repository.
        if len(self.known_urls) >= _MAX_KNOWN_URLS:
            self.known_urls.clear()
        self.known_urls[self.url] = working_url

    async def _run_at(self, url: str, arguments: Sequence[str], directory: Path, settings: Mapping[str, str]) -> bytes:
        # The address is checked before the budget is charged, because no request is sent to a forbidden host.
        host_settings = await self._settings()
        if self.budget is not None:
            await self.budget.charge(self._host(), self.namespace, _REQUESTS_BY_COMMAND.get(arguments[0], 2))
        actual_arguments = [url if argument == self.url else argument for argument in arguments]
        try:
            return await command.run(
                actual_arguments, directory=directory, settings={**host_settings, **settings}, timeout_seconds=self.timeout_seconds
            )
        except GitFailed as failed:
            if not is_throttled(failed):
                raise
            if self.budget is not None:
                error = await self.budget.pause(self._host(), self.namespace, failed.retry_after)
                raise error from failed
            raise TooManyRequests("the git host asks for fewer requests", retry_after=failed.retry_after) from failed

    async def default_branch(self, directory: Path) -> str | None:
        """Return the branch that the host's HEAD names; None for a repository without commits.

        Raises BadRequest for an invalid branch name.
        """
        stdout = await self.run("ls-remote", "--symref", self.url, "HEAD", directory=directory)
        match = re.search(rb"^ref: refs/heads/(\S+)\tHEAD$", stdout, re.MULTILINE)
        return _checked_branch(match[1].decode(errors="replace")) if match else None

    async def missing_branch_error(self, branch: str, directory: Path) -> NotFound | None:
        """Return the error for a branch (empty: the host's default) that was not found; None if there are no branches yet."""
        branches = sorted(await self.branches(directory))
        if not branches:
            return None
        problem = f"branch not found: {branch!r}" if branch else "the host's own branch does not exist: name another one as the branch"
        branch_list = ", ".join(map(repr, branches[:_MAX_LISTED_BRANCHES])) + (
            " and others" if len(branches) > _MAX_LISTED_BRANCHES else ""
        )
        return NotFound(
            f"{problem}; there is {branch_list}",
            causes=[Cause("spec.githost.branch", "FieldValueInvalid", f"{problem}; there is {branch_list}")],
        )

    async def unborn_branch(self, directory: Path) -> str:
        """Return the default branch of a repository without commits. Only a clone reveals it."""
        with TemporaryDirectory(dir=directory) as clone_path:
            await self.run("clone", "--quiet", "--bare", "--depth=1", self.url, clone_path, directory=directory)
            head = await asyncio.to_thread((Path(clone_path) / "HEAD").read_text)
        return _checked_branch(head.strip().removeprefix("ref: refs/heads/"))

    async def branches(self, directory: Path) -> dict[str, str]:
        """Return the commit of each branch, for at most MAX_BRANCHES."""
        stdout = await self.run("ls-remote", "--heads", self.url, directory=directory)
        return await asyncio.to_thread(_branches, stdout)

    async def head(self, branch: str, directory: Path) -> str | None:
        """Return the commit of a branch (empty: the host's HEAD); None if it does not exist."""
        reference = f"refs/heads/{branch}" if branch else "HEAD"
        stdout = await self.run("ls-remote", self.url, reference, directory=directory)
        return await asyncio.to_thread(_commit_of, stdout, reference)

    def _host(self) -> str:
        host, port = _host_and_port(self.url)
        return f"{host}:{port}"

    async def _settings(self) -> dict[str, str]:
        """Return configuration that pins the checked addresses of the host, so that git does not resolve its name again."""
        scheme, (host, port) = urlsplit(self.url).scheme, _host_and_port(self.url)
        if not is_host(host):
            raise BadRequest("the host of the url must be written in plain letters, digits, dots and hyphens, or as an address")
        addresses = await self.resolver.resolve(host, port, encrypted=scheme == "https")
        address_list = ",".join(f"[{address}]" if address.version == 6 else str(address) for address in addresses)
        settings = {f"protocol.{scheme}.allow": "always", "http.curloptResolve": f"{host}:{port}:{address_list}"}
        if self.token:
            settings["http.extraHeader"] = f"Authorization: Basic {self._credentials()}"
        if self.authorities is not None:
            settings["http.sslCAInfo"] = str(self.authorities)
        return settings

    def _credentials(self) -> str:
        pair = self.token if ":" in self.token else f"{_BASIC_AUTH_USER}:{self.token}"
        return base64.b64encode(pair.encode()).decode()

    def _secrets(self) -> Sequence[str]:
        """Return the secrets to hide in messages: a host may echo anything it was sent."""
        return [secret for secret in (self._credentials(), self.token, self.token.partition(":")[2]) if secret] if self.token else []


def _checked_branch(name: str) -> str:
    if not is_branch(name):
        raise BadRequest(f"the host's own branch has a name that git does not accept ({name[:80]!r}): name another one as the branch")
    return name


def _branches(stdout: bytes) -> dict[str, str]:
    lines = (line.partition("\trefs/heads/") for line in stdout.decode(errors="replace").splitlines())
    return dict(islice(((name, sha) for sha, _, name in lines if name), MAX_BRANCHES))


def _commit_of(stdout: bytes, reference: str) -> str | None:
    lines = (line.partition("\t") for line in stdout.decode(errors="replace").splitlines())
    return next((sha for sha, _, name in lines if name == reference), None)


def push_rejection(branch: str, reason: str, stderr: str, secrets: Sequence[str]) -> DashwrightError:
    """Return the error for a rejected push as one sentence. If hooks of the host rejected the push, it quotes their first lines."""
    remote_lines = [line.removeprefix("remote:").strip() for line in stderr.splitlines() if line.startswith("remote:")]
    detail = _redacted("; ".join([line for line in remote_lines if line][:_MAX_REMOTE_LINES]) or reason, secrets)[:_MAX_DETAIL_CHARACTERS]
    if "cannot create" in stderr:
        return BadRequest(f"branch {branch!r} cannot be created: the name of another branch is a prefix of it, or the other way round")
    if any(message in reason for message in _MOVED_MESSAGES):
        return Conflict(f"branch {branch!r} has moved: read it again and repeat the change")
    if "protected branch" in f"{reason} {detail}".lower():
        return BadRequest(f"branch {branch!r} is protected by its host: change another one and ask for a merge ({detail})")
    return BadRequest(f"the git host refuses the change: {detail}")


def _redacted(text: str, secrets: Sequence[str]) -> str:
    """Return the text without control characters and secrets."""
    printable = "".join(character for character in text if character.isprintable())
    return reduce(lambda value, secret: value.replace(secret, "***"), secrets, _CREDENTIALS_IN_URL.sub(r"\1", printable))


def _host_and_port(url: str) -> tuple[str, int]:
    """Return host and port; the host is empty if the address has none."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def is_throttled(failed: GitFailed) -> bool:
    """Return whether the host limits requests, or is unavailable and sends a Retry-After header: the request may succeed later."""
    status = _STATUS_PATTERN.search(failed.stderr)
    status_code = int(status[1]) if status is not None else 0
    return status_code == HTTPStatus.TOO_MANY_REQUESTS or (status_code == HTTPStatus.SERVICE_UNAVAILABLE and failed.retry_after is not None)


def is_repository_missing(stderr: str) -> bool:
    """Return whether the repository does not exist at this address, although it may at another one."""
    status = _STATUS_PATTERN.search(stderr)
    if status is not None and status[1].startswith("3"):
        return True
    return error_for(stderr).message.startswith(_NO_REPOSITORY)


def error_for(stderr: str, secrets: Sequence[str] = ()) -> DashwrightError:
    """Return the error for a failure of git as one sentence without secrets.

    An error with a status below 500 is one that the owner of the repository can correct.
    """
    lines = [line.removeprefix("fatal: ").removeprefix("remote: ").strip() for line in stderr.splitlines() if line.strip()]
    detail = _redacted("; ".join(lines), secrets)[-_MAX_GIT_DETAIL_CHARACTERS:]
    for message, error_type, sentence in _ERRORS_BY_MESSAGE:
        if message.lower() in stderr.lower():
            return error_type(f"{sentence} ({detail})" if error_type is SourceFailed else sentence)
    status = _STATUS_PATTERN.search(stderr)
    if status is None:
        return SourceFailed(f"git failed: {detail or 'without a message'}")
    status_code = int(status[1])
    if status_code in (401, 403):
        return Forbidden(f"the git host refuses access ({status_code}): the token lacks the right, or the host wants another one")
    if status_code in (404, 410):
        return NotFound(_NO_REPOSITORY)
    if status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return TooLarge("the git host does not accept a change of this size: make it in parts")
    return SourceFailed(f"the git host responds with status {status_code}")
