"""The Authorization header and the address of a repository, by the kind of its git host."""

import base64
from itertools import product

import pytest

from dashwright.common.errors import BadRequest
from dashwright.common.git_hosts.bitbucket import BITBUCKET
from dashwright.common.git_hosts.description import Host
from dashwright.common.git_hosts.gitea import GITEA
from dashwright.common.git_hosts.github import GITHUB
from dashwright.common.git_hosts.gitlab import GITLAB
from dashwright.jobs_worker.adapters.host.addresses import api_at

USER_AND_PASSWORD = "anna:word"
BASIC = f"Basic {base64.b64encode(USER_AND_PASSWORD.encode()).decode()}"


@pytest.mark.parametrize(
    ("host", "token", "expected"),
    [
        (GITHUB, "t", "Bearer t"),
        (GITHUB, USER_AND_PASSWORD, BASIC),
        (GITLAB, "t", "Bearer t"),
        (GITLAB, "oauth2:t", "Bearer t"),
        (GITEA, "t", "token t"),
        (GITEA, USER_AND_PASSWORD, BASIC),
        (BITBUCKET, "x-token-auth:t", "Bearer t"),
        (BITBUCKET, USER_AND_PASSWORD, BASIC),
        (BITBUCKET, "", ""),
        (GITLAB, "oauth2:", ""),
    ],
)
def test_a_token_is_sent_as_the_host_expects(host: Host, token: str, expected: str) -> None:
    """GitLab accepts no passwords. A token of Bitbucket has a user that git needs, and is sent to the API without the user."""
    api = api_at(host, "https://api.example.com", "https://git.example.com/team/boards", token)
    assert api.authorization == expected
    # Each secret is part of the token or the header, so that messages lose no other words.
    assert all(secret in f"{expected} {token}" for secret in api.secrets)


@pytest.mark.parametrize(
    ("host", "url", "expected"),
    [
        (GITHUB, "https://git.example.com/team/boards.git", "repos/team/boards"),
        (GITLAB, "https://git.example.com/team/web/boards/", "projects/team%2Fweb%2Fboards"),
        (GITLAB, "https://git.example.com/a/b/c", "projects/a%2Fb%2Fc"),
        (GITEA, "https://git.example.com/a%20b/c", "repos/a%20b/c"),
        (BITBUCKET, "https://bitbucket.org/team/boards", "repositories/team/boards"),
    ],
)
def test_a_repository_has_a_path_in_the_api(host: Host, url: str, expected: str) -> None:
    assert api_at(host, "", url, "").repository == expected


@pytest.mark.parametrize(
    ("address", "url", "expected"),
    [
        ("https://git.example.com/git/api/v1", "https://Git.example.com/git/team/boards", "repos/team/boards"),
        ("https://git.example.com/api/v1", "https://git.example.com/team/boards", "repos/team/boards"),
        ("https://git.example.com/gi/api/v1", "https://git.example.com/git/boards", "repos/git/boards"),
        ("https://api.example.com/git/api/v1", "https://git.example.com/git/boards", "repos/git/boards"),
    ],
)
def test_a_host_may_be_below_a_path(address: str, url: str, expected: str) -> None:
    """If API and pages have the same host, the path of the API before ``/api/v1`` is not part of the path of a repository."""
    assert api_at(GITEA, address, url, "").repository == expected


@pytest.mark.parametrize(
    ("host", "path"),
    [
        *product([GITHUB, GITLAB, GITEA], ["", "one", "a//b"]),
        # Only GitLab has groups in groups.
        (GITHUB, "a/b/c"),
        (GITEA, "a/b/c"),
    ],
)
def test_other_paths_are_refused(host: Host, path: str) -> None:
    """A path without two names is refused. A path with more names is refused, too, except for GitLab."""
    with pytest.raises(BadRequest, match="need a url of the form"):
        api_at(host, "", f"https://git.example.com/{path}", "")
