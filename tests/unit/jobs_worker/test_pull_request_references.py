"""The reference of a job to a pull request."""

from dataclasses import replace

import pytest

from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.models.job_options import PullRequestJobOptions
from dashwright.jobs_worker.domain.hosting import PullRequest
from dashwright.jobs_worker.domain.pull_request_reference import PullRequestReference

COMMIT = "4f2c8a10" * 5
OTHER_COMMIT = "d" * 40
PAGE = "https://git.example/team/boards/pull/7"


def pull_request(number: int = 7, head: str = "change", base: str = "main", commit: str = COMMIT) -> PullRequest:
    """Return an open pull request."""
    url = f"https://git.example/team/boards/pull/{number}"
    return PullRequest(
        number=number,
        title="T",
        url=url,
        is_open=True,
        is_merged=False,
        base=base,
        head=head,
        head_commit=commit,
        is_from_fork=False,
        changed_file_count=1,
        reference=f"refs/pull/{number}/head",
    )


@pytest.mark.parametrize(
    "options",
    [
        {"ref": "change"},
        {"ref": "refs/heads/change"},
        {"ref": "refs/pull/7/head"},
        {"ref": COMMIT},
        {"hash": COMMIT, "pr": 7},
        {"hash": COMMIT[:7].upper(), "ref": "change"},
        {"url": PAGE},
        {"url": f"{PAGE}/files?diff=split#top"},
        {"url": PAGE.replace("git.example", "GIT.example") + "/"},
        {"pr": 7, "ref": "change", "hash": COMMIT, "url": PAGE},
        {"pr": 7, "ref": "", "hash": "", "url": ""},
    ],
    ids=str,
)
def test_a_pull_request_is_matched(options: dict[str, str | int]) -> None:
    """A reference may be the branch, the newest commit or its prefix, or the address of the pull request or of a page below it."""
    reference = PullRequestReference.from_options(PullRequestJobOptions.model_validate(options))
    reference.check(pull_request())
    # A reference with a number needs no choice.
    if not reference.number:
        assert reference.choose([pull_request(8, "other", commit=OTHER_COMMIT), pull_request()], "main").number == 7


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"ref": "other"}, r"its branch is 'change', at 4f2c.*, not 'other' \(pr.ref\)"),
        ({"ref": "refs/pull/8/head"}, "pr.ref"),
        ({"hash": OTHER_COMMIT}, rf"its newest commit is {COMMIT}, not 'd+' \(pr.hash\)"),
        ({"hash": COMMIT[:6]}, "pr.hash"),
        ({"url": "https://git.example/team/boards/pull/70"}, rf"its address is {PAGE}, not '.*/70' \(pr.url\)"),
        ({"url": "http://[broken"}, "pr.url"),
        ({"ref": "other", "hash": OTHER_COMMIT}, "pr.ref.*pr.hash"),
    ],
    ids=str,
)
def test_another_pull_request_is_rejected(options: dict[str, str], text: str) -> None:
    """The error of another pull request has the value of the pull request, the value in the job, and the field of the job."""
    reference = PullRequestReference.from_options(PullRequestJobOptions.model_validate({**options, "pr": 7}))
    with pytest.raises(BadRequest, match=text):
        reference.check(pull_request())
    with pytest.raises(NotFound, match="knows no open pull request with pr"):
        reference.choose([pull_request()], "main")


def test_the_pull_request_into_the_synced_branch_is_chosen() -> None:
    """The pull request into the synced branch is chosen among several matching ones.

    If that does not decide, the error lists their numbers.
    """
    reference = PullRequestReference(ref="change")
    assert reference.choose([pull_request(7, base="next"), pull_request(8)], "main").number == 8
    with pytest.raises(BadRequest, match=r"several open pull requests have pr\.ref 'change': 7, 8; give the number of one as pr\.pr"):
        reference.choose([pull_request(7, base="next"), pull_request(8)], "")


@pytest.mark.parametrize("options", [None, {}, {"pr": -1, "ref": "change"}, {"hash": COMMIT}], ids=str)
def test_a_job_without_a_pull_request_is_refused(options: dict[str, str | int] | None) -> None:
    """A job that names only a commit is refused, because the commit may be the newest of several pull requests."""
    with pytest.raises(BadRequest, match="which pull request"):
        PullRequestReference.from_options(None if options is None else PullRequestJobOptions.model_validate(options))


def test_an_older_commit_is_ignored() -> None:
    """An older commit is removed from the reference, and the rest is kept."""
    reference = PullRequestReference(number=7, ref="change", commit=OTHER_COMMIT, url=PAGE).without_commit()
    assert reference == PullRequestReference(number=7, ref="change", commit="", url=PAGE)
    reference.check(pull_request())


def test_a_host_may_abbreviate_the_newest_commit() -> None:
    """The complete hash in a job matches a pull request whose host returns only the beginning of the hash."""
    reference = PullRequestReference(number=7, commit=COMMIT)
    reference.check(pull_request(commit=COMMIT[:12]))
    with pytest.raises(BadRequest, match="newest commit"):
        reference.check(pull_request(commit="0" * 12))


def test_a_reference_of_the_host_names_a_pull_request() -> None:
    """The reference of a pull request has the form of its host: GitLab has another one than GitHub."""
    merge_request = replace(pull_request(), reference="refs/merge-requests/7/head")
    PullRequestReference(ref="refs/merge-requests/7/head").check(merge_request)
    with pytest.raises(BadRequest, match="branch"):
        PullRequestReference(ref="refs/pull/7/head").check(merge_request)
