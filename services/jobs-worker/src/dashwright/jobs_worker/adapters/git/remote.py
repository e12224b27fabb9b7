"""A repository on a git host: where it is, who asks, and what its refusals mean."""

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
"""Hosts that take a token as a password take any name with it; this is the one that some of them ask for."""

_SUFFIX: Final = ".git"
_MOST_SPELLINGS: Final = 10_000

_REQUESTS: Final[Mapping[str, int]] = {"fetch": 3}
"""How many http requests a command makes, where there are more than two."""

_PUSHING: Final = {"http.postBuffer": str(64 * 1024 * 1024)}
"""A push up to this size is one request, of a length that is told beforehand: not every host takes another."""

_REFUSED: Final = re.compile(r"^!\t[^\t\n]*\t(.*)$", re.MULTILINE)
_MOVED: Final = ("[rejected]", "cannot lock ref", "failed to update ref", "incorrect old value", "reference already exists")
_SHOWN_LINES: Final = 5
_LONGEST_SHOWN: Final = 500

_NOWHERE: Final = "there is no repository at this address"
_STATUS: Final = re.compile(r"The requested URL returned error: (\d{3})")
_SECRET: Final = re.compile(r"(https?://)[^/@\s]*@")
_SIGNS: Final[tuple[tuple[str, type[DashwrightError], str], ...]] = (
    ("Authentication failed", Forbidden, "the git host refuses the token: it is wrong, has expired, or the host wants one"),
    ("could not read Username", Forbidden, "the git host asks for a token: the repository is private, or there is none at this address"),
    ("couldn't find remote ref", NotFound, "branch not found"),
    ("not our ref", NotFound, COMMIT_NOT_FOUND),
    ("unadvertised object", NotFound, COMMIT_NOT_FOUND),
    ("not found", NotFound, _NOWHERE),
    ("could not determine hash algorithm", NotFound, f"{_NOWHERE}: what answers there is no git server"),
    ("mismatched algorithms", BadRequest, "the repository names its objects by SHA-256; only those with SHA-1 are read"),
    ("No space left on device", SourceFailed, "the disk of the jobs worker is full"),
    ("unable to update url base from redirection", BadRequest, "the git host answers with another address: give that one as the url"),
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
    ("timed out", SourceFailed, "the git host did not answer in time"),
    ("unexpected disconnect", SourceFailed, "the git host broke the connection off"),
    ("Empty reply", SourceFailed, "the git host broke the connection off"),
    ("Recv failure", SourceFailed, "the git host broke the connection off"),
    ("RPC failed", SourceFailed, "the git host broke the connection off"),
    ("early EOF", SourceFailed, "the git host broke the connection off"),
)


class Budget(Protocol):
    """How often organizations may ask hosts; a host is ``name:port``, an organization its namespace."""

    async def take(self, host: str, namespace: str, requests: int) -> None:
        """Counts requests that are about to be made. Raises TooManyRequests where they must not be made now."""
        ...

    async def pause(self, host: str, namespace: str, retry_after: float | None) -> TooManyRequests:
        """A host wants to be left alone, for so many seconds where it says so; the error to raise for what was asked of it."""
        ...


@dataclass(frozen=True, slots=True)
class Remote:
    """``url`` is ``http(s)://host[:port]/path``, ``token`` a password or ``user:password``, empty where nobody asks by name.

    ``seconds`` bounds one run of the program. ``authorities`` is a file of certificates to trust in place of the system's. Without a
    ``budget`` nobody counts the requests, which are the organization's of ``namespace``. Some hosts know a repository only with ``.git``
    at the end: ``known_urls`` keeps which.
    """

    url: str
    token: str
    reach: Reach
    seconds: float = 600
    authorities: Path | None = None
    budget: Budget | None = None
    known_urls: MutableMapping[str, str] = field(default_factory=dict)
    program: Program = field(default_factory=Program)
    namespace: str = ""

    async def run(self, *arguments: str, folder: Path, settings: Mapping[str, str] | None = None) -> bytes:
        """A command that talks to the host. Raises what ``error_for`` makes of a failure, BadRequest for a host that may not be reached."""
        try:
            return await self._run(*arguments, folder=folder, settings=settings or {})
        except GitFailed as failed:
            raise error_for(failed.stderr, self._secrets()) from failed

    async def push(self, commit: str, branch: str, expected: str, *, folder: Path) -> None:
        """Lets a branch go to a commit, if it is at the ``expected`` one; empty: if there is no such branch, which is made then.

        Two requests to the host. Raises Conflict where the branch is elsewhere, BadRequest where the host refuses the change, and what
        ``run`` raises: after a SourceFailed nobody knows whether it has arrived.
        """
        lease, change = f"--force-with-lease=refs/heads/{branch}:{expected}", f"{commit}:refs/heads/{branch}"
        try:
            await self._run("push", "--porcelain", "--quiet", lease, self.url, change, folder=folder, settings=_PUSHING)
        except GitFailed as failed:
            refused = _REFUSED.search(failed.stdout)
            if refused is None:
                raise error_for(failed.stderr, self._secrets()) from failed
            raise push_rejection(branch, refused[1], failed.stderr, self._secrets()) from failed

    async def _run(self, *arguments: str, folder: Path, settings: Mapping[str, str]) -> bytes:
        """Raises TooManyRequests where the host was asked too often, by our own count or by what it says."""
        await self.program.require(folder)
        known = self.known_urls.get(self.url)
        try:
            return await self._run_at(known or self.url, arguments, folder, settings)
        except GitFailed as failed:
            if known or self.url.endswith(_SUFFIX) or not is_missing(failed.stderr):
                raise
            return await self._run_with_suffix(arguments, folder, settings, failed)

    async def _run_with_suffix(self, arguments: Sequence[str], folder: Path, settings: Mapping[str, str], before: GitFailed) -> bytes:
        """Where there is nothing either, what was said ``before`` stands."""
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
        if len(self.known_urls) >= _MOST_SPELLINGS:
            self.known_urls.clear()
        self.known_urls[self.url] = spelled

    async def _run_at(self, url: str, arguments: Sequence[str], folder: Path, settings: Mapping[str, str]) -> bytes:
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
        """The branch that the host's HEAD names; None of a repository without commits.

        Raises BadRequest where that is no name of a branch.
        """
        stdout = await self.run("ls-remote", "--symref", self.url, "HEAD", folder=folder)
        match = re.search(rb"^ref: refs/heads/(\S+)\tHEAD$", stdout, re.MULTILINE)
        return _own_branch(match[1].decode(errors="replace")) if match else None

    async def missing(self, branch: str, folder: Path) -> NotFound | None:
        """What to say of a branch (empty: the host's own) that was not found; None where there are no branches yet."""
        others = sorted(await self.branches(folder))
        if not others:
            return None
        text = f"branch not found: {branch!r}" if branch else "the host's own branch does not exist: name another one as the branch"
        shown = ", ".join(map(repr, others[:_SHOWN_BRANCHES])) + (" and others" if len(others) > _SHOWN_BRANCHES else "")
        return NotFound(
            f"{text}; there is {shown}", causes=[Cause("spec.githost.branch", "FieldValueInvalid", f"{text}; there is {shown}")]
        )

    async def unborn_branch(self, folder: Path) -> str:
        """As ``default_branch``, in a repository without commits. Only a clone asks for that."""
        with TemporaryDirectory(dir=folder) as place:
            await self.run("clone", "--quiet", "--bare", "--depth=1", self.url, place, folder=folder)
            head = await asyncio.to_thread((Path(place) / "HEAD").read_text)
        return _own_branch(head.strip().removeprefix("ref: refs/heads/"))

    async def branches(self, folder: Path) -> dict[str, str]:
        """The commit that each branch stands at, by their names; so many of them that a list of them is of use."""
        stdout = await self.run("ls-remote", "--heads", self.url, folder=folder)
        return await asyncio.to_thread(_branches, stdout)

    async def head(self, branch: str, folder: Path) -> str | None:
        """The commit that a branch (empty: the host's HEAD) stands at; None where there is none."""
        wanted = f"refs/heads/{branch}" if branch else "HEAD"
        stdout = await self.run("ls-remote", self.url, wanted, folder=folder)
        return await asyncio.to_thread(_commit_of, stdout, wanted)

    def _host(self) -> str:
        host, port = _place(self.url)
        return f"{host}:{port}"

    async def _settings(self) -> dict[str, str]:
        """The address is judged here and pinned: the program resolves no name of its own."""
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
        """A host may say anything, even what it was told."""
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
    """Why a host does not take a change, as one sentence; where the host's own hooks refuse it, with the first lines of what they say."""
    told = [line.removeprefix("remote:").strip() for line in stderr.splitlines() if line.startswith("remote:")]
    detail = _plain("; ".join([line for line in told if line][:_SHOWN_LINES]) or reason, secrets)[:_LONGEST_SHOWN]
    if "cannot create" in stderr:
        return BadRequest(f"branch {branch!r} cannot be made: the host has another whose name begins or ends there")
    if any(sign in reason for sign in _MOVED):
        return Conflict(f"branch {branch!r} has moved meanwhile: look at what it holds now, and change that")
    if "protected branch" in f"{reason} {detail}".lower():
        return BadRequest(f"branch {branch!r} is protected by its host: change another one and ask for a merge ({detail})")
    return BadRequest(f"the git host refuses the change: {detail}")


def _plain(text: str, secrets: Sequence[str]) -> str:
    """Fit to be read by anybody."""
    shown = "".join(character for character in text if character.isprintable())
    return reduce(lambda stderr, secret: stderr.replace(secret, "***"), secrets, _SECRET.sub(r"\1", shown))


def _place(url: str) -> tuple[str, int]:
    """Host and port; the host is empty where the address has none."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def is_throttled(failed: GitFailed) -> bool:
    """Whether the host can be asked again later as it is: it counts requests, or is away and says for how long."""
    status = _STATUS.search(failed.stderr)
    number = int(status[1]) if status is not None else 0
    return number == HTTPStatus.TOO_MANY_REQUESTS or (number == HTTPStatus.SERVICE_UNAVAILABLE and failed.retry_after is not None)


def is_missing(stderr: str) -> bool:
    """Whether there is no repository of this name, though there may be one of another."""
    status = _STATUS.search(stderr)
    if status is not None and status[1].startswith("3"):
        return True
    return error_for(stderr).message.startswith(_NOWHERE)


def error_for(stderr: str, secrets: Sequence[str] = ()) -> DashwrightError:
    """What the program says, as one sentence without secrets: below 500 what whoever keeps the repository can mend."""
    lines = [line.removeprefix("fatal: ").removeprefix("remote: ").strip() for line in stderr.splitlines() if line.strip()]
    detail = _plain("; ".join(lines), secrets)[-300:]
    for sign, kind, sentence in _SIGNS:
        if sign.lower() in stderr.lower():
            return kind(f"{sentence} ({detail})" if kind is SourceFailed else sentence)
    status = _STATUS.search(stderr)
    if status is None:
        return SourceFailed(f"git failed: {detail or 'it said nothing'}")
    number = int(status[1])
    if number in (401, 403):
        return Forbidden(f"the git host refuses access ({number}): the token lacks the right, or the host wants another one")
    if number in (404, 410):
        return NotFound(_NOWHERE)
    if number == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return TooLarge("the git host takes no change of this size: make it in parts")
    return SourceFailed(f"the git host answers {number}")
