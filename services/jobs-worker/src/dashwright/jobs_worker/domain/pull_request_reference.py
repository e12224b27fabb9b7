"""The reference of a job to a pull request, compared with the pull requests of the host."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self
from urllib.parse import urlsplit

from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.models.provisioning import PullRequestJobOptions
from dashwright.jobs_worker.domain.hosting import PullRequest

_COMMIT: Final = re.compile(r"[0-9a-f]{7,40}", re.IGNORECASE)
"""A commit, perhaps abbreviated as git does it."""

_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class PullRequestReference:
    """A reference to a pull request. Missing parts are 0 or empty."""

    number: int = 0
    #: Its branch, as ``change``, ``refs/heads/change`` or ``refs/pull/7/head``; or its newest commit.
    ref: str = ""
    #: Its newest commit.
    commit: str = ""
    #: Its page at the git host, or one below that.
    url: str = ""

    @classmethod
    def of(cls, options: PullRequestJobOptions | None) -> Self:
        """Return the reference in a JobSpec. Raises BadRequest if it names no pull request."""
        options = options or PullRequestJobOptions()
        reference = cls(options.pr or 0, options.ref or "", options.hash or "", options.url or "")
        if reference.number < 0 or not (reference.number or reference.ref or reference.url):
            raise BadRequest("which pull request? Give its number as pr.pr, or else its branch as pr.ref or its address as pr.url")
        return reference

    def without_commit(self) -> Self:
        """Return the reference to whatever the newest commit is by now."""
        return replace(self, commit="")

    def check(self, request: PullRequest) -> None:
        """Raise BadRequest if the pull request does not match the reference."""
        if faults := list(self._faults(request)):
            raise BadRequest(f"pull request {request.number} does not match the job: {'; '.join(faults)}")

    def choose(self, among: Sequence[PullRequest], base: str) -> PullRequest:
        """Return the open pull request that matches; of several the one into the branch ``base``.

        Raises NotFound if none matches, BadRequest if several do.
        """
        found = [request for request in among if not list(self._faults(request))]
        if not found:
            raise NotFound(f"the git host's API knows no open pull request with {self}; correct that, or give its number as pr.pr")
        into_base = [request for request in found if request.base == base]
        if len(found) > 1 and len(into_base) != 1:
            numbers = ", ".join(str(request.number) for request in found[:_MOST_NAMED])
            raise BadRequest(f"several open pull requests have {self}: {numbers}; give the number of one as pr.pr")
        return found[0] if len(found) == 1 else into_base[0]

    def __str__(self) -> str:
        parts = (("pr.ref", self.ref), ("pr.hash", self.commit), ("pr.url", self.url))
        return ", ".join(f"{name} {text[:200]!r}" for name, text in parts if text)

    def _faults(self, request: PullRequest) -> Iterator[str]:
        if self.ref and not _is_ref(self.ref, request):
            yield f"its branch is {request.head!r}, at {request.head_commit}, not {self.ref[:200]!r} (pr.ref)"
        if self.commit and not _is_commit(self.commit, request):
            yield f"its newest commit is {request.head_commit}, not {self.commit[:80]!r} (pr.hash)"
        if self.url and not _is_page(self.url, request.url):
            yield f"its address is {request.url}, not {self.url[:200]!r} (pr.url)"


def _is_ref(ref: str, request: PullRequest) -> bool:
    named = (request.head, f"refs/heads/{request.head}", f"refs/pull/{request.number}/head")
    return ref in named or _is_commit(ref, request)


def _is_commit(text: str, request: PullRequest) -> bool:
    return _COMMIT.fullmatch(text) is not None and request.head_commit.startswith(text.lower())


def _is_page(url: str, page: str) -> bool:
    """Return whether an address is that of the page, or of one of its tabs."""
    given, known = _address(url), _address(page)
    return given == known or (known != "" and given.startswith(f"{known}/"))


def _address(url: str) -> str:
    """Return host and path, without query, fragment and final slash; empty for an invalid address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.netloc.lower()}{parts.path.rstrip('/')}" if parts.netloc else ""
