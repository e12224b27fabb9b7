"""The reference of a job to a pull request, and its comparison with the pull requests of the host."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self
from urllib.parse import urlsplit

from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.models.job_options import PullRequestJobOptions
from dashwright.jobs_worker.domain.hosting import PullRequest

_COMMIT: Final = re.compile(r"[0-9a-f]{7,40}", re.IGNORECASE)
"""A commit hash, complete or abbreviated."""

_MAX_LISTED: Final = 10
"""Limit on the pull requests that an error lists."""

_MAX_QUOTED_CHARACTERS: Final = 200
"""Limit on the characters of a branch or address that an error quotes."""

_MAX_QUOTED_COMMIT_CHARACTERS: Final = 80
"""Limit on the characters of a commit hash that an error quotes; a hash has 40."""


@dataclass(frozen=True, slots=True)
class PullRequestReference:
    """A reference to a pull request. A missing number is 0; other missing members are empty."""

    number: int = 0
    #: Branch of the pull request, as ``change``, ``refs/heads/change`` or ``refs/pull/7/head``; or its newest commit.
    ref: str = ""
    #: Newest commit of the pull request.
    commit: str = ""
    #: Address of the page of the pull request at the git host, or of a page below it.
    url: str = ""

    @classmethod
    def from_options(cls, options: PullRequestJobOptions | None) -> Self:
        """Return the reference in the options of a job. Raises BadRequest if the options name no pull request."""
        options = options or PullRequestJobOptions()
        reference = cls(options.pr or 0, options.ref or "", options.hash or "", options.url or "")
        if reference.number < 0 or not (reference.number or reference.ref or reference.url):
            raise BadRequest("which pull request? Give its number as pr.pr, or else its branch as pr.ref or its address as pr.url")
        return reference

    def without_commit(self) -> Self:
        """Return a copy that matches a pull request regardless of its newest commit."""
        return replace(self, commit="")

    def check(self, pull_request: PullRequest) -> None:
        """Raise BadRequest if the pull request does not match the reference."""
        if mismatches := list(self._mismatches(pull_request)):
            raise BadRequest(f"pull request {pull_request.number} does not match the job: {'; '.join(mismatches)}")

    def choose(self, candidates: Sequence[PullRequest], base: str) -> PullRequest:
        """Return the open pull request that matches. If several match, return the one into the branch ``base``.

        Raises NotFound if none matches, BadRequest if several do.
        """
        matches = [pull_request for pull_request in candidates if not list(self._mismatches(pull_request))]
        if not matches:
            raise NotFound(f"the git host's API knows no open pull request with {self}; correct that, or give its number as pr.pr")
        matches_into_base = [pull_request for pull_request in matches if pull_request.base == base]
        if len(matches) > 1 and len(matches_into_base) != 1:
            numbers = ", ".join(str(pull_request.number) for pull_request in matches[:_MAX_LISTED])
            raise BadRequest(f"several open pull requests have {self}: {numbers}; give the number of one as pr.pr")
        return matches[0] if len(matches) == 1 else matches_into_base[0]

    def __str__(self) -> str:
        fields = (("pr.ref", self.ref), ("pr.hash", self.commit), ("pr.url", self.url))
        return ", ".join(f"{name} {value[:_MAX_QUOTED_CHARACTERS]!r}" for name, value in fields if value)

    def _mismatches(self, pull_request: PullRequest) -> Iterator[str]:
        """Yield a description of each member of the reference that the pull request does not match."""
        if self.ref and not _matches_ref(self.ref, pull_request):
            yield f"its branch is {pull_request.head!r}, at {pull_request.head_commit}, not {self.ref[:_MAX_QUOTED_CHARACTERS]!r} (pr.ref)"
        if self.commit and not _matches_newest_commit(self.commit, pull_request):
            yield f"its newest commit is {pull_request.head_commit}, not {self.commit[:_MAX_QUOTED_COMMIT_CHARACTERS]!r} (pr.hash)"
        if self.url and not _is_page(self.url, pull_request.url):
            yield f"its address is {pull_request.url}, not {self.url[:_MAX_QUOTED_CHARACTERS]!r} (pr.url)"


def _matches_ref(ref: str, pull_request: PullRequest) -> bool:
    names_of_head = (pull_request.head, f"refs/heads/{pull_request.head}", pull_request.reference)
    return ref in names_of_head or _matches_newest_commit(ref, pull_request)


def _matches_newest_commit(value: str, pull_request: PullRequest) -> bool:
    commit, newest_commit = value.lower(), pull_request.head_commit
    # Some hosts abbreviate hashes, so the shorter one is compared.
    return _COMMIT.fullmatch(value) is not None and (newest_commit.startswith(commit) or commit.startswith(newest_commit))


def _is_page(url: str, page: str) -> bool:
    """Return whether an address leads to the page or to one of its tabs."""
    address, page_address = _address(url), _address(page)
    return address == page_address or (page_address != "" and address.startswith(f"{page_address}/"))


def _address(url: str) -> str:
    """Return the host and path of an address, without the final slash; empty for an invalid address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.netloc.lower()}{parts.path.rstrip('/')}" if parts.netloc else ""
