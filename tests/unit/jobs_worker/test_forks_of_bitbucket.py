"""Pull requests from forks on Bitbucket Cloud, whose API names the repository of the fork."""

from typing import Any

import pytest

from dashwright.common.git_hosts.bitbucket import BITBUCKET
from dashwright.jobs_worker.adapters.host.payloads import pull_request_of


def payload(fork: Any) -> dict[str, Any]:
    """Return a pull request as the API describes it, from the repository ``fork`` into ``team/boards``."""

    def side(repository: Any, branch: str) -> dict[str, Any]:
        return {"repository": repository, "branch": {"name": branch}, "commit": {"hash": "0123456789ab"}}

    own_repository = {"full_name": "team/boards"}
    page = {"html": {"href": "https://bitbucket.org/team/boards/pull-requests/7"}}
    return {
        "id": 7,
        "title": "T",
        "state": "OPEN",
        "links": page,
        "source": side(fork, "change"),
        "destination": side(own_repository, "main"),
    }


def test_the_fork_is_named() -> None:
    """The branch of a fork is read at the path of the fork, unlike a branch of the repository itself."""
    fork = pull_request_of(BITBUCKET, payload({"full_name": "stranger/boards-2.x"}))
    assert fork.is_from_fork is True
    assert fork.reference == "refs/heads/change"
    assert fork.fork_path == "stranger/boards-2.x"
    pull_from_branch = pull_request_of(BITBUCKET, payload({"full_name": "team/boards"}))
    assert pull_from_branch.is_from_fork is False
    assert pull_from_branch.reference == "refs/heads/change"
    assert pull_from_branch.fork_path == ""


@pytest.mark.parametrize(
    "name",
    ["../boards", "stranger/..", "a/b/c", "boards", "/boards", "stranger/", "a/b?c", "a/b#c", "a/b c", "a/%2e%2e", "a@b/c", "a/b\n", 7],
)
def test_a_fork_with_an_invalid_path_is_ignored(name: Any) -> None:
    """A fork whose path could lead elsewhere is treated like a deleted fork, whose repository is null."""
    for fork in ({"full_name": name}, None):
        pull_request = pull_request_of(BITBUCKET, payload(fork))
        assert pull_request.is_from_fork is True
        assert pull_request.reference == ""
        assert pull_request.fork_path == ""
