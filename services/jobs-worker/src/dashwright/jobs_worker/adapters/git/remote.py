"""A repository on a git host: its address, the credentials, and the commands that talk to the host."""

import asyncio
import base64
import math
import re
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

from dashwright.common.allowed_hosts import Address
from dashwright.common.errors import BadRequest, Cause, NotFound, SourceFailed, TooManyRequests
from dashwright.common.host_resolver import HostResolver
from dashwright.common.kinds.branches import is_branch
from dashwright.common.kinds.git_addresses import GitAddress, parse_git_address
from dashwright.jobs_worker.adapters.git import command, failures
from dashwright.jobs_worker.adapters.git.command import GitFailed, GitProgram, GitTimedOut
from dashwright.jobs_worker.adapters.git.references import ReferenceReader, UnexpectedReferences
from dashwright.jobs_worker.adapters.git.ssh import SshAccess, ssh_settings
from dashwright.jobs_worker.adapters.host.error_responses import ErrorResponse, retry_after

MAX_BRANCHES: Final = 10_000
"""Limit on the branches of a repository that are read."""

_MAX_LISTED_BRANCHES: Final = 3
"""Limit on the branches that an error lists."""

_BASIC_AUTH_USER: Final = "x-access-token"
"""The user name for a token, which is sent as a password. Most hosts accept any name, and some require this one."""

_GIT_SUFFIX: Final = ".git"
_UNKNOWN_BRANCH: Final = "dashwright-unknown"
"""Branch of a clone whose host does not reveal the default branch."""

_MAX_TRIED_ADDRESSES: Final = 4
"""Limit on the IP addresses of a host that are tried, because each one that is not reached occupies a worker for 15 seconds."""

_MAX_KNOWN_URLS: Final = 10_000
_MAX_QUOTED_CHARACTERS: Final = 80
"""Limit on the characters of an invalid branch name that an error quotes."""

_USUAL_REQUESTS: Final = 2
"""HTTP requests that most git commands make."""

_REQUESTS_BY_COMMAND: Final[Mapping[str, int]] = {"fetch": 3}
"""HTTP requests that a git command makes, if they are not the usual number."""

_PUSH_SETTINGS: Final = {"http.postBuffer": str(64 * 1024 * 1024)}
"""A push up to this size is one request with a Content-Length: not every host accepts chunked requests."""

_REJECTED_REFERENCE: Final = re.compile(r"^!\t[^\t\n]*\t(.*)$", re.MULTILINE)


class RequestBudget(Protocol):
    """A limit on requests of organizations to hosts. A host is ``name:port``, an organization its namespace."""

    async def charge(self, host: str, namespace: str, requests: int) -> None:
        """Count requests that are about to be made. Raises TooManyRequests if they must wait."""
        ...

    async def pause(self, host: str, namespace: str, retry_after: float | None) -> TooManyRequests:
        """Pause requests after a host asked for fewer, and return the error to raise. ``retry_after`` is the requested pause, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository on a git host, as one organization's token sees it."""

    #: ``http(s)://host[:port]/path``, ``ssh://user@host[:port]/path`` or ``user@host:path``.
    url: str
    #: Password or ``user:password``; empty without authentication.
    token: str
    resolver: HostResolver
    #: Limit, in seconds, on one run of git.
    timeout_seconds: float = 600
    #: Seconds without any data from the host, after which a run of git is given up.
    idle_seconds: float = 90
    #: File of certificates to trust instead of the system's.
    authorities: Path | None = None
    #: None if requests are not counted.
    budget: RequestBudget | None = None
    #: Working address by ``url``: some hosts know a repository only with ``.git`` at the end.
    known_urls: MutableMapping[str, str] = field(default_factory=dict)
    program: GitProgram = field(default_factory=GitProgram)
    #: Organization that the requests count for.
    namespace: str = ""
    #: Key and known hosts for an SSH address.
    ssh: SshAccess = field(default_factory=SshAccess)
    #: Reader of single references; None to use the git program only.
    references: ReferenceReader | None = None
    #: What to do if a run of git exceeds its limit.
    timeout_advice: str = "try again later"

    def at_path(self, path: str) -> "Remote":
        """Return another repository of the host, such as a fork. Its path has as many parts as that of this repository."""
        parent_url = self.url.rsplit("/", path.count("/") + 1)[0]
        return replace(self, url=f"{parent_url}/{path}")

    async def run(self, *arguments: str, directory: Path, settings: Mapping[str, str] | None = None) -> bytes:
        """Run a command that talks to the host and return its output.

        Raises the error that ``failures.error_for`` returns for a failure (Forbidden, NotFound, BadRequest, TooLarge or SourceFailed),
        BadRequest for a forbidden host, and TooManyRequests while the host must not be called.
        """
        try:
            return await self._run(*arguments, directory=directory, settings=settings or {})
        except GitFailed as failed:
            raise failures.error_for(failed.stderr, self._secrets()) from failed

    async def push(self, commit: str, branch: str, expected_head: str, *, directory: Path) -> None:
        """Move a branch to a commit if the branch is at the commit ``expected_head``; if ``expected_head`` is empty, create the branch.

        It sends two requests to the host. Raises Conflict if the branch is at another commit, BadRequest if the host rejects the change,
        and the errors of ``run``. After a SourceFailed the push may have succeeded.
        """
        # The lease rejects the push if the branch has moved since it was read: another writer's commits are never lost.
        lease, change = f"--force-with-lease=refs/heads/{branch}:{expected_head}", f"{commit}:refs/heads/{branch}"
        try:
            await self._run("push", "--porcelain", "--quiet", lease, self.url, change, directory=directory, settings=_PUSH_SETTINGS)
        except GitFailed as failed:
            rejection = _REJECTED_REFERENCE.search(failed.stdout)
            if rejection is None:
                raise failures.error_for(failed.stderr, self._secrets()) from failed
            raise failures.push_rejection(branch, rejection[1], failed.stderr, self._secrets()) from failed

    async def _run(self, *arguments: str, directory: Path, settings: Mapping[str, str]) -> bytes:
        """Run a command. Raises TooManyRequests if the budget is used up or the host limits requests."""
        await self.program.require(directory)
        # Each attempt at an address costs a request, so the address that works is remembered.
        known_url = self.known_urls.get(self.url)
        try:
            return await self._run_at(known_url or self.url, arguments, directory, settings)
        except GitFailed as failed:
            if known_url or self.url.endswith(_GIT_SUFFIX) or not failures.is_repository_missing(failed.stderr):
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
            if failures.is_repository_missing(failed.stderr):
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
        """Run a command with ``url`` in place of ``self.url``, after its requests are charged."""
        address, ip_addresses = self._address(), await self._charged(_REQUESTS_BY_COMMAND.get(arguments[0], _USUAL_REQUESTS))
        actual_arguments = [url if argument == self.url else argument for argument in arguments]
        try:
            return await self._run_connected(address, ip_addresses[:_MAX_TRIED_ADDRESSES], actual_arguments, directory, settings)
        except GitFailed as failed:
            if not failures.is_throttled(failed):
                raise
            raise await self._throttled(failed.retry_after) from failed

    async def _throttled(self, seconds: float | None) -> TooManyRequests:
        """Pause requests after a host asked for fewer, and return the error to raise. ``seconds`` is the requested pause, or None."""
        if self.budget is not None:
            return await self.budget.pause(self._host(), self.namespace, seconds)
        return TooManyRequests("the git host requests a pause; try again later", retry_after=seconds)

    async def _run_connected(
        self, address: GitAddress, ip_addresses: Sequence[Address], arguments: Sequence[str], directory: Path, settings: Mapping[str, str]
    ) -> bytes:
        """Run a command, and repeat it without the first IP address while that address cannot be reached.

        The ssh program accepts only one address, and libcurl waits for minutes before it tries the second one.
        """
        for first in range(len(ip_addresses) - 1):
            try:
                return await self._run_with(address, ip_addresses[first:], arguments, directory, settings)
            except GitFailed as failed:
                if not failures.is_unreachable(failed.stderr):
                    raise
        return await self._run_with(address, ip_addresses[-1:], arguments, directory, settings)

    async def _run_with(
        self, address: GitAddress, ip_addresses: Sequence[Address], arguments: Sequence[str], directory: Path, settings: Mapping[str, str]
    ) -> bytes:
        """Run a command with the settings of HTTP, which pin all IP addresses, or with those of SSH, which pin the first one."""
        if not address.is_ssh:
            return await self._run_program(arguments, directory, {**self._http_settings(address, ip_addresses), **settings})
        with ssh_settings(self.ssh, address, ip_addresses[0], self.idle_seconds) as host_settings:
            return await self._run_program(arguments, directory, {**host_settings, **settings})

    async def _run_program(self, arguments: Sequence[str], directory: Path, settings: Mapping[str, str]) -> bytes:
        """Run git. Raises SourceFailed, with the advice of the caller, if it exceeds the limit on its time."""
        try:
            return await command.run(arguments, directory=directory, settings=settings, timeout_seconds=self.timeout_seconds)
        except GitTimedOut as error:
            message = f"the git host did not complete its response within {self.timeout_seconds:.0f} s: {self.timeout_advice}"
            raise SourceFailed(message) from error

    async def default_branch(self, directory: Path) -> str | None:
        """Return the branch that the host's HEAD names; None for a repository without commits.

        Raises BadRequest for an invalid branch name, and if the host does not reveal which branch its HEAD is.
        """
        stdout = await self.run("ls-remote", "--symref", self.url, "HEAD", directory=directory)
        match = re.search(rb"^ref: refs/heads/(\S+)\tHEAD$", stdout, re.MULTILINE)
        if match:
            return _checked_branch(match[1].decode(errors="replace"))
        head = _commit_of(stdout, "HEAD")
        return None if head is None else await self._branch_at(head, directory)

    async def _branch_at(self, head: str, directory: Path) -> str:
        """Return the only branch with the commit of HEAD: hosts without protocol v2 may not send the name of HEAD's branch."""
        names = sorted(name for name, sha in (await self.branches(directory)).items() if sha == head)
        if len(names) == 1:
            return _checked_branch(names[0])
        raise _hidden_branch_error(f"; it is one of {', '.join(map(repr, names[:_MAX_LISTED_BRANCHES]))}" if names else "")

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
        """Return the default branch of a repository without commits. Only a clone reveals it, and only with protocol v2.

        Raises BadRequest if the host does not reveal it.
        """
        with TemporaryDirectory(dir=directory) as clone_path:
            arguments = ("clone", "--quiet", "--bare", "--depth=1", self.url, clone_path)
            await self.run(*arguments, directory=directory, settings={"init.defaultBranch": _UNKNOWN_BRANCH})
            head = await asyncio.to_thread((Path(clone_path) / "HEAD").read_text)
        branch = head.strip().removeprefix("ref: refs/heads/")
        if branch == _UNKNOWN_BRANCH:
            raise _hidden_branch_error("")
        return _checked_branch(branch)

    async def branches(self, directory: Path) -> dict[str, str]:
        """Return the commit of each branch, for at most MAX_BRANCHES."""
        stdout = await self.run("ls-remote", "--heads", self.url, directory=directory)
        return await asyncio.to_thread(_branches, stdout)

    async def head(self, branch: str, directory: Path) -> str | None:
        """Return the commit of a branch (empty: the host's HEAD); None if it does not exist."""
        reference = f"refs/heads/{branch}" if branch else "HEAD"
        url = self.known_urls.get(self.url, self.url)
        if self.references is not None and not self._address().is_ssh and self.references.is_usable(url):
            with suppress(UnexpectedReferences):
                return await self._read_reference(self.references, url, reference)
        stdout = await self.run("ls-remote", self.url, reference, directory=directory)
        return await asyncio.to_thread(_commit_of, stdout, reference)

    async def _read_reference(self, references: ReferenceReader, url: str, reference: str) -> str | None:
        """Return the commit of a reference. Raises UnexpectedReferences if the git program must read it, BadRequest and TooManyRequests."""
        ip_addresses = await self._charged(1)
        authorization = f"Basic {self._credentials()}" if self.token else ""
        try:
            return await references.commit_of(url, reference, ip_addresses[0], authorization)
        except ErrorResponse as refusal:
            raise await self._throttled(retry_after(refusal)) from refusal

    async def _charged(self, requests: int) -> Sequence[Address]:
        """Return the addresses of the host after requests are charged. Raises BadRequest for a forbidden host."""
        # The address is checked before the budget is charged, because no request is sent to a forbidden host.
        address = self._address()
        ip_addresses = await self.resolver.resolve(address.host, address.port, encrypted=address.scheme != "http")
        if self.budget is not None:
            await self.budget.charge(self._host(), self.namespace, requests)
        return ip_addresses

    def _address(self) -> GitAddress:
        """Return the parts of the url. Raises BadRequest for a host name that programs may read differently."""
        address = parse_git_address(self.url)
        if address is None:
            raise BadRequest("the host of the url must be written in plain letters, digits, dots and hyphens, or as an address")
        return address

    def _host(self) -> str:
        """Return the host as the budget names it: ``name:port``."""
        address = self._address()
        return f"{address.host}:{address.port}"

    def _http_settings(self, address: GitAddress, ip_addresses: Sequence[Address]) -> dict[str, str]:
        """Return configuration that pins the checked addresses of the host, so that git does not resolve its name again."""
        literals = ",".join(f"[{ip_address}]" if ip_address.version == 6 else str(ip_address) for ip_address in ip_addresses)
        settings = {
            f"protocol.{address.scheme}.allow": "always",
            "http.curloptResolve": f"{address.host}:{address.port}:{literals}",
            # The lowest limit: while a host prepares a pack, it sends only about one byte per second.
            "http.lowSpeedLimit": "1",
            "http.lowSpeedTime": str(math.ceil(self.idle_seconds)),
        }
        if self.token:
            settings["http.extraHeader"] = f"Authorization: Basic {self._credentials()}"
        if self.authorities is not None:
            settings["http.sslCAInfo"] = str(self.authorities)
        return settings

    def _credentials(self) -> str:
        """Return the user and password of HTTP Basic authentication, in Base64."""
        user_and_password = self.token if ":" in self.token else f"{_BASIC_AUTH_USER}:{self.token}"
        return base64.b64encode(user_and_password.encode()).decode()

    def _secrets(self) -> Sequence[str]:
        """Return the secrets to hide in messages: a host may echo anything it was sent."""
        return [secret for secret in (self._credentials(), self.token, self.token.partition(":")[2]) if secret] if self.token else []


def _hidden_branch_error(detail: str) -> BadRequest:
    """Return the error for a default branch that the host does not reveal."""
    message = f"the git host does not reveal its default branch{detail}: name the branch in the spec of the repository"
    return BadRequest(message, causes=[Cause("spec.githost.branch", "FieldValueRequired", message)])


def _checked_branch(name: str) -> str:
    """Return the name of a default branch. Raises BadRequest if it is invalid."""
    if not is_branch(name):
        raise BadRequest(
            f"the host's own branch has a name that git does not accept ({name[:_MAX_QUOTED_CHARACTERS]!r}): name another one as the branch"
        )
    return name


def _branches(stdout: bytes) -> dict[str, str]:
    """Return the commits by branch from the output of ``git ls-remote``, for at most MAX_BRANCHES."""
    lines = (line.partition("\trefs/heads/") for line in stdout.decode(errors="replace").splitlines())
    return dict(islice(((name, sha) for sha, _, name in lines if name), MAX_BRANCHES))


def _commit_of(stdout: bytes, reference: str) -> str | None:
    """Return the commit of a reference from the output of ``git ls-remote``; None if the reference is missing."""
    lines = (line.partition("\t") for line in stdout.decode(errors="replace").splitlines())
    return next((sha for sha, _, name in lines if name == reference), None)
