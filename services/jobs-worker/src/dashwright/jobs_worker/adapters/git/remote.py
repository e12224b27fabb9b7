"""A repository on a git host: where it is, who asks, and what its refusals mean."""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, NotFound, SourceFailed
from dashwright.common.kinds.repository import is_host
from dashwright.common.reach import Reach
from dashwright.jobs_worker.adapters.git import command
from dashwright.jobs_worker.adapters.git.command import GitFailed

MOST_BRANCHES: Final = 10_000

_USER: Final = "x-access-token"
"""Hosts that take a token as a password take any name with it; this is the one that some of them ask for."""

_OLDEST: Final = (2, 37)
"""The first that can be told which address a host has."""

_is_recent = False

_STATUS: Final = re.compile(r"The requested URL returned error: (\d{3})")
_SECRET: Final = re.compile(r"(https?://)[^/@\s]*@")
_SIGNS: Final[tuple[tuple[str, type[DashwrightError], str], ...]] = (
    ("Authentication failed", Forbidden, "the git host refuses the token: it is wrong, has expired, or the host wants one"),
    ("could not read Username", Forbidden, "the git host asks for a token: the repository is private, or there is none at this address"),
    ("couldn't find remote ref", NotFound, "branch not found"),
    ("not found", NotFound, "there is no repository at this address"),
    ("unable to update url base from redirection", BadRequest, "the git host answers with another address: give that one as the url"),
    ("certificate", SourceFailed, "the git host's certificate is not trusted"),
    ("Could not resolve host", SourceFailed, "the git host's name is not known"),
    ("Failed to connect", SourceFailed, "the git host cannot be reached"),
    ("Connection refused", SourceFailed, "the git host cannot be reached"),
    ("Operation too slow", SourceFailed, "the git host sends too slowly"),
    ("timed out", SourceFailed, "the git host did not answer in time"),
    ("unexpected disconnect", SourceFailed, "the git host broke the connection off"),
    ("RPC failed", SourceFailed, "the git host broke the connection off"),
    ("early EOF", SourceFailed, "the git host broke the connection off"),
)


@dataclass(frozen=True, slots=True)
class Remote:
    """``url`` is ``http(s)://host[:port]/path``, ``token`` a password or ``user:password``, empty where nobody asks by name.

    ``seconds`` bounds one run of the program. ``authorities`` is a file of certificates to trust in place of the system's.
    """

    url: str
    token: str
    reach: Reach
    seconds: float = 600
    authorities: Path | None = None

    async def run(self, *arguments: str, folder: Path, settings: Mapping[str, str] | None = None) -> bytes:
        """A command that talks to the host. Raises what ``refusal`` makes of a failure, BadRequest for a host that may not be reached."""
        await _require_version(folder)
        own = await self._settings()
        try:
            return await command.run(arguments, folder=folder, settings={**own, **(settings or {})}, seconds=self.seconds)
        except GitFailed as failed:
            raise refusal(failed.said) from failed

    async def default_branch(self, folder: Path) -> str | None:
        """The branch that the host's HEAD names; None of a repository without commits."""
        answer = await self.run("ls-remote", "--symref", self.url, "HEAD", folder=folder)
        match = re.search(rb"^ref: refs/heads/(\S+)\tHEAD$", answer, re.MULTILINE)
        return match[1].decode(errors="replace") if match else None

    async def branches(self, folder: Path) -> dict[str, str]:
        """The commit that each branch stands at, by their names; so many of them that a list of them is of use."""
        answer = await self.run("ls-remote", "--heads", self.url, folder=folder)
        lines = (line.partition("\trefs/heads/") for line in answer.decode(errors="replace").splitlines())
        return dict(islice(((name, sha) for sha, _, name in lines if name), MOST_BRANCHES))

    async def head(self, branch: str, folder: Path) -> str | None:
        """The commit that a branch (empty: the host's HEAD) stands at; None where there is none."""
        wanted = f"refs/heads/{branch}" if branch else "HEAD"
        answer = await self.run("ls-remote", self.url, wanted, folder=folder)
        return next((line.split()[0] for line in answer.decode(errors="replace").splitlines() if line.endswith(f"\t{wanted}")), None)

    async def _settings(self) -> dict[str, str]:
        """The address is judged here and pinned: the program resolves no name of its own."""
        parts = urlsplit(self.url)
        host, encrypted = parts.hostname or "", parts.scheme == "https"
        if not is_host(host):
            raise BadRequest("the host of the url must be written in plain letters, digits, dots and hyphens, or as an address")
        port = parts.port or (443 if encrypted else 80)
        addresses = await self.reach.resolve(host, port, encrypted=encrypted)
        listed = ",".join(f"[{address}]" if address.version == 6 else str(address) for address in addresses)
        found = {f"protocol.{parts.scheme}.allow": "always", "http.curloptResolve": f"{host}:{port}:{listed}"}
        if self.token:
            pair = self.token if ":" in self.token else f"{_USER}:{self.token}"
            found["http.extraHeader"] = f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}"
        if self.authorities is not None:
            found["http.sslCAInfo"] = str(self.authorities)
        return found


async def _require_version(folder: Path) -> None:
    """Raises SourceFailed for a git that would not connect to the address it is told. Asked once."""
    global _is_recent
    if _is_recent:
        return
    said = await command.run(["version"], folder=folder, settings={}, seconds=10)
    match = re.search(rb"(\d+)\.(\d+)", said)
    if match is None or (int(match[1]), int(match[2])) < _OLDEST:
        raise SourceFailed(f"git {'.'.join(map(str, _OLDEST))} or newer is needed where the jobs worker runs; there is {said[:60]!r}")
    _is_recent = True


def refusal(said: str) -> DashwrightError:
    """What the program says, as one sentence without secrets: below 500 what whoever keeps the repository can mend."""
    lines = [line.removeprefix("fatal: ").removeprefix("remote: ").strip() for line in said.splitlines() if line.strip()]
    detail = "".join(character for character in _SECRET.sub(r"\1", "; ".join(lines)[-300:]) if character.isprintable())
    for sign, kind, sentence in _SIGNS:
        if sign.lower() in said.lower():
            return kind(f"{sentence} ({detail})" if kind is SourceFailed else sentence)
    status = _STATUS.search(said)
    if status is None:
        return SourceFailed(f"git failed: {detail or 'it said nothing'}")
    number = int(status[1])
    if number in (401, 403):
        return Forbidden(f"the git host refuses access ({number}): the token lacks the right, or the host wants another one")
    if number in (404, 410):
        return NotFound("there is no repository at this address")
    return SourceFailed(f"the git host answers {number}")
