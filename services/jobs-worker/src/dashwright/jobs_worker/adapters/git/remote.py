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
from dashwright.common.kinds.branches import is_branch
from dashwright.common.kinds.repository import is_host
from dashwright.common.reach import Reach
from dashwright.jobs_worker.adapters.git import command
from dashwright.jobs_worker.adapters.git.command import GitFailed, Program

MOST_BRANCHES: Final = 10_000

COMMIT_NOT_FOUND: Final = "commit not found"

_SHOWN_BRANCHES: Final = 3

_USER: Final = "x-access-token"
"""A user name for a token that serves as password: most hosts accept any name, and some require this one."""

_SUFFIX: Final = ".git"
_MOST_SPELLINGS: Final = 10_000

_REQUESTS: Final[Mapping[str, int]] = {"fetch": 3}
"""HTTP requests that a command makes, if more than two."""

_PUSHING: Final = {"http.postBuffer": str(64 * 1024 * 1024)}
"""A push up to this size is one request with a Content-Length: not every host accepts chunked requests."""

_REFUSED: Final = re.compile(r"^!\t[^\t\n]*\t(.*)$", re.MULTILINE)
_MOVED: Final = ("[rejected]", "cannot lock ref", "failed to update ref", "incorrect old value", "reference already exists")
_SHOWN_LINES: Final = 5
_LONGEST_SHOWN: Final = 500

_NOWHERE: Final = "there is no repository at this address"
_STATUS: Final = re.compile(r"The requested URL returned error: (\d{3})")
_SECRET: Final = re.compile(r"(https?://)[^/@\s]*@")
#: Signs in git's output with their errors. The first match counts, so special cases come before "not found" and "certificate".
_SIGNS: Final[tuple[tuple[str, type[DashwrightError], str], ...]] = (
    ("Authentication failed", Forbidden, "the git host refuses the token: it is wrong, has expired, or the host wants one"),
    ("could not read Username", Forbidden, "the git host asks for a token: the repository is private, or there is none at this address"),
    ("couldn't find remote ref", NotFound, "branch not found"),
    ("not our ref", NotFound, COMMIT_NOT_FOUND),
    ("unadvertised object", NotFound, COMMIT_NOT_FOUND),
    ("not found", NotFound, _NOWHERE),
    ("could not determine hash algorithm", NotFound, f"{_NOWHERE}: the server does not speak the git protocol"),
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


class Budget(Protocol):
    """A limit on requests of organizations to hosts. A host is ``name:port``, an organization its namespace."""

    async def take(self, host: str, namespace: str, requests: int) -> None:
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
    reach: Reach
    #: Limit for one run of the program.
    seconds: float = 600
    #: File of certificates to trust instead of the system's.
    authorities: Path | None = None
    #: Without it requests are not counted.
    budget: Budget | None = None
    #: Working address by ``url``: some hosts know a repository only with ``.git`` at the end.
    known_urls: MutableMapping[str, str] = field(default_factory=dict)
    program: Program = field(default_factory=Program)
    #: Organization that the requests count for.
    namespace: str = ""

    async def run(self, *arguments: str, folder: Path, settings: Mapping[str, str] | None = None) -> bytes:
        """Run a command that talks to the host and return its output.

        Raises the error that ``error_for`` returns for a failure, and BadRequest for a host that may not be reached.
        """
        try:
            return await self._run(*arguments, folder=folder, settings=settings or {})
        except GitFailed as failed:
            raise error_for(failed.stderr, self._secrets()) from failed

    async def push(self, commit: str, branch: str, expected: str, *, folder: Path) -> None:
        """Move a branch to a commit if it is at the ``expected`` one; if that is empty, create the branch.

        Two requests to the host. Raises Conflict if the branch is elsewhere, BadRequest if the host rejects the change, and what ``run``
        raises: after a SourceFailed the push may have succeeded.
        """
        # The lease rejects the push if the branch has moved since it was read: another writer's commits are never lost.
        lease, change = f"--force-with-lease=refs/heads/{branch}:{expected}", f"{commit}:refs/heads/{branch}"
        try:
            await self._run("push", "--porcelain", "--quiet", lease, self.url, change, folder=folder, settings=_PUSHING)
        except GitFailed as failed:
            refused = _REFUSED.search(failed.stdout)
            if refused is None:
                raise error_for(failed.stderr, self._secrets()) from failed
            raise push_rejection(branch, refused[1], failed.stderr, self._secrets()) from failed

    async def _run(self, *arguments: str, folder: Path, settings: Mapping[str, str]) -> bytes:
        """Run a command. Raises TooManyRequests if the budget is used up or the host says so."""
        await self.program.require(folder)
        # The second name costs another request each time, so the one that works is remembered.
        known = self.known_urls.get(self.url)
        try:
            return await self._run_at(known or self.url, arguments, folder, settings)
        except GitFailed as failed:
            if known or self.url.endswith(_SUFFIX) or not is_missing(failed.stderr):
                raise
            return await self._run_with_suffix(arguments, folder, settings, failed)

    async def _run_with_suffix(self, arguments: Sequence[str], folder: Path, settings: Mapping[str, str], before: GitFailed) -> bytes:
        """Run a command with ``.git`` at the end of the address. If there is nothing either, the error of the first run is raised."""
        spelled = self.url + _SUFFIX
        try:
            stdout = await self._run_at(spelled, arguments, folder, settings)
        except GitFailed as failed:
            if is_missing(failed.stderr):
                raise before from failed
            self._remember_url(spelled)
            raise
        self._remember_url(spelled)
        return stdout

    def _remember_url(self, spelled: str) -> None:
        # Starting over is simpler than tracking the oldest entry and costs one request per repository.
        if len(self.known_urls) >= _MOST_SPELLINGS:
            self.known_urls.clear()
        self.known_urls[self.url] = spelled

    async def _run_at(self, url: str, arguments: Sequence[str], folder: Path, settings: Mapping[str, str]) -> bytes:
        # The address is checked before the budget is charged: a forbidden host costs no request.
        own = await self._settings()
        if self.budget is not None:
            await self.budget.take(self._host(), self.namespace, _REQUESTS.get(arguments[0], 2))
        spelled = [url if argument == self.url else argument for argument in arguments]
        try:
            return await command.run(spelled, folder=folder, settings={**own, **settings}, seconds=self.seconds)
        except GitFailed as failed:
            if not is_throttled(failed):
                raise
            if self.budget is not None:
                raise await self.budget.pause(self._host(), self.namespace, failed.retry_after) from failed
            raise TooManyRequests("the git host asks for fewer requests", retry_after=failed.retry_after) from failed

    async def default_branch(self, folder: Path) -> str | None:
        """Return the branch that the host's HEAD names; None for a repository without commits.

        Raises BadRequest for an invalid branch name.
        """
        stdout = await self.run("ls-remote", "--symref", self.url, "HEAD", folder=folder)
        match = re.search(rb"^ref: refs/heads/(\S+)\tHEAD$", stdout, re.MULTILINE)
        return _own_branch(match[1].decode(errors="replace")) if match else None

    async def missing(self, branch: str, folder: Path) -> NotFound | None:
        """Return the error for a branch (empty: the host's default) that was not found; None if there are no branches yet."""
        others = sorted(await self.branches(folder))
        if not others:
            return None
        text = f"branch not found: {branch!r}" if branch else "the host's own branch does not exist: name another one as the branch"
        shown = ", ".join(map(repr, others[:_SHOWN_BRANCHES])) + (" and others" if len(others) > _SHOWN_BRANCHES else "")
        return NotFound(
            f"{text}; there is {shown}", causes=[Cause("spec.githost.branch", "FieldValueInvalid", f"{text}; there is {shown}")]
        )

    async def unborn_branch(self, folder: Path) -> str:
        """Return the default branch of a repository without commits. Only a clone reveals it."""
        with TemporaryDirectory(dir=folder) as place:
            await self.run("clone", "--quiet", "--bare", "--depth=1", self.url, place, folder=folder)
            head = await asyncio.to_thread((Path(place) / "HEAD").read_text)
        return _own_branch(head.strip().removeprefix("ref: refs/heads/"))

    async def branches(self, folder: Path) -> dict[str, str]:
        """Return the commit of each branch, for at most MOST_BRANCHES."""
        stdout = await self.run("ls-remote", "--heads", self.url, folder=folder)
        return await asyncio.to_thread(_branches, stdout)

    async def head(self, branch: str, folder: Path) -> str | None:
        """Return the commit of a branch (empty: the host's HEAD); None if it does not exist."""
        reference = f"refs/heads/{branch}" if branch else "HEAD"
        stdout = await self.run("ls-remote", self.url, reference, folder=folder)
        return await asyncio.to_thread(_commit_of, stdout, reference)

    def _host(self) -> str:
        host, port = _place(self.url)
        return f"{host}:{port}"

    async def _settings(self) -> dict[str, str]:
        """Return configuration with the checked address pinned: the program must not resolve the name itself and connect elsewhere."""
        scheme, (host, port) = urlsplit(self.url).scheme, _place(self.url)
        if not is_host(host):
            raise BadRequest("the host of the url must be written in plain letters, digits, dots and hyphens, or as an address")
        addresses = await self.reach.resolve(host, port, encrypted=scheme == "https")
        listed = ",".join(f"[{address}]" if address.version == 6 else str(address) for address in addresses)
        found = {f"protocol.{scheme}.allow": "always", "http.curloptResolve": f"{host}:{port}:{listed}"}
        if self.token:
            found["http.extraHeader"] = f"Authorization: Basic {self._credentials()}"
        if self.authorities is not None:
            found["http.sslCAInfo"] = str(self.authorities)
        return found

    def _credentials(self) -> str:
        pair = self.token if ":" in self.token else f"{_USER}:{self.token}"
        return base64.b64encode(pair.encode()).decode()

    def _secrets(self) -> Sequence[str]:
        """Return the secrets to hide in messages: a host may echo anything it was sent."""
        return [secret for secret in (self._credentials(), self.token, self.token.partition(":")[2]) if secret] if self.token else []


def _own_branch(name: str) -> str:
    if not is_branch(name):
        raise BadRequest(f"the host's own branch has a name that git does not take ({name[:80]!r}): name another one as the branch")
    return name


def _branches(stdout: bytes) -> dict[str, str]:
    lines = (line.partition("\trefs/heads/") for line in stdout.decode(errors="replace").splitlines())
    return dict(islice(((name, sha) for sha, _, name in lines if name), MOST_BRANCHES))


def _commit_of(stdout: bytes, reference: str) -> str | None:
    lines = (line.partition("\t") for line in stdout.decode(errors="replace").splitlines())
    return next((sha for sha, _, name in lines if name == reference), None)


def push_rejection(branch: str, reason: str, stderr: str, secrets: Sequence[str]) -> DashwrightError:
    """Return the error for a rejected push as one sentence, with the first lines of the host's own hooks if those rejected it."""
    remote_lines = [line.removeprefix("remote:").strip() for line in stderr.splitlines() if line.startswith("remote:")]
    detail = _plain("; ".join([line for line in remote_lines if line][:_SHOWN_LINES]) or reason, secrets)[:_LONGEST_SHOWN]
    if "cannot create" in stderr:
        return BadRequest(f"branch {branch!r} cannot be created: the name of another branch is a prefix of it, or the other way round")
    if any(sign in reason for sign in _MOVED):
        return Conflict(f"branch {branch!r} has moved: read it again and repeat the change")
    if "protected branch" in f"{reason} {detail}".lower():
        return BadRequest(f"branch {branch!r} is protected by its host: change another one and ask for a merge ({detail})")
    return BadRequest(f"the git host refuses the change: {detail}")


def _plain(text: str, secrets: Sequence[str]) -> str:
    """Return the text without control characters and secrets."""
    shown = "".join(character for character in text if character.isprintable())
    return reduce(lambda stderr, secret: stderr.replace(secret, "***"), secrets, _SECRET.sub(r"\1", shown))


def _place(url: str) -> tuple[str, int]:
    """Return host and port; the host is empty if the address has none."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def is_throttled(failed: GitFailed) -> bool:
    """Return whether the same request may succeed later: the host limits requests, or is away and says for how long."""
    status = _STATUS.search(failed.stderr)
    number = int(status[1]) if status is not None else 0
    return number == HTTPStatus.TOO_MANY_REQUESTS or (number == HTTPStatus.SERVICE_UNAVAILABLE and failed.retry_after is not None)


def is_missing(stderr: str) -> bool:
    """Return whether the repository does not exist at this address, although it may at another one."""
    status = _STATUS.search(stderr)
    if status is not None and status[1].startswith("3"):
        return True
    return error_for(stderr).message.startswith(_NOWHERE)


def error_for(stderr: str, secrets: Sequence[str] = ()) -> DashwrightError:
    """Return the error for a failure of the program as one sentence without secrets. Below 500 the owner of the repository can fix it."""
    lines = [line.removeprefix("fatal: ").removeprefix("remote: ").strip() for line in stderr.splitlines() if line.strip()]
    detail = _plain("; ".join(lines), secrets)[-300:]
    for sign, kind, sentence in _SIGNS:
        if sign.lower() in stderr.lower():
            return kind(f"{sentence} ({detail})" if kind is SourceFailed else sentence)
    status = _STATUS.search(stderr)
    if status is None:
        return SourceFailed(f"git failed: {detail or 'without a message'}")
    number = int(status[1])
    if number in (401, 403):
        return Forbidden(f"the git host refuses access ({number}): the token lacks the right, or the host wants another one")
    if number in (404, 410):
        return NotFound(_NOWHERE)
    if number == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return TooLarge("the git host does not accept a change of this size: make it in parts")
    return SourceFailed(f"the git host responds with status {number}")
