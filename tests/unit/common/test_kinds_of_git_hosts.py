"""Kinds of git hosts: the kind of a host is recognized, and the description of each kind is complete."""

from string import Formatter
from urllib.parse import urlsplit

import pytest

from dashwright.common.git_hosts.bitbucket import BITBUCKET
from dashwright.common.git_hosts.bitbucket_server import BITBUCKET_SERVER
from dashwright.common.git_hosts.deliveries import Event
from dashwright.common.git_hosts.description import Host
from dashwright.common.git_hosts.gitea import GITEA
from dashwright.common.git_hosts.github import GITHUB
from dashwright.common.git_hosts.gitlab import GITLAB
from dashwright.common.git_hosts.members import MemberReader, document_of, member_of
from dashwright.common.git_hosts.registry import HOSTS, HostChoice, known_host, parse_choice, usual_address


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("gitlab", HostChoice(GITLAB)),
        ("https://git.example.com/api/v1", HostChoice(GITEA, "https://git.example.com/api/v1")),
        ("https://git.example.com/api/v3", HostChoice(GITHUB, "https://git.example.com/api/v3")),
        ("https://git.example.com/gitlab/api/v4", HostChoice(GITLAB, "https://git.example.com/gitlab/api/v4")),
        ("https://api.example.com/2.0", HostChoice(BITBUCKET, "https://api.example.com/2.0")),
        ("https://git.example.com/rest/api/1.0", HostChoice(BITBUCKET_SERVER, "https://git.example.com/rest/api/1.0")),
        ("https://api.example.com/a+b", HostChoice(None, "https://api.example.com/a+b")),
        ("gitea+https://api.example.com/a+b", HostChoice(GITEA, "https://api.example.com/a+b")),
    ],
)
def test_a_setting_names_the_kind_or_the_address(value: str, expected: HostChoice) -> None:
    """A setting is a kind, an address, or both. An address implies a kind if it ends like the usual addresses of the kind."""
    assert parse_choice(value) == expected


@pytest.mark.parametrize("value", ["gogs", "gitlab+", "+https://a.example.com", ""])
def test_another_setting_is_an_error(value: str) -> None:
    """A setting that is neither an address nor a known kind is an error that lists the kinds."""
    with pytest.raises(ValueError, match="neither an address nor one of bitbucket, bitbucket-server, gitea, github, gitlab"):
        parse_choice(value)


@pytest.mark.parametrize(
    ("repository_type", "netloc", "expected"),
    [
        ("githost", "github.com", GITHUB),
        ("githost", "github.example.com", GITHUB),
        ("git", "GitLab.com", GITLAB),
        ("githost", "gitlab.example.com:8443", GITLAB),
        ("githost", "codeberg.org", GITEA),
        ("githost", "forgejo.example.com", GITEA),
        ("githost", "bitbucket.org", BITBUCKET),
        ("githost", "bitbucket.example.com", BITBUCKET_SERVER),
        ("githost", "git.example.com", None),
        ("githost", "notgithub.com", None),
        ("gitlab", "git.example.com", GITLAB),
        ("github", "gitlab.com", GITHUB),
        ("bitbucket", "git.example.com", BITBUCKET_SERVER),
        ("bitbucket", "bitbucket.org", BITBUCKET),
    ],
)
def test_the_type_or_else_the_name_of_a_host_names_the_kind(repository_type: str, netloc: str, expected: Host | None) -> None:
    """The kind follows from the type of the repository, or for a general type from the name of the host.

    Both kinds of Bitbucket have the same type, so the host distinguishes them.
    """
    assert known_host(repository_type, netloc) is expected


@pytest.mark.parametrize(
    ("host", "url", "expected"),
    [
        (GITHUB, "https://github.com/a/b", "https://api.github.com"),
        (GITHUB, "https://git.example.com:8443/a/b", "https://git.example.com:8443/api/v3"),
        (GITLAB, "https://gitlab.com/a/b", "https://gitlab.com/api/v4"),
        (GITEA, "http://127.0.0.1:3000/a/b", "http://127.0.0.1:3000/api/v1"),
        (BITBUCKET, "https://bitbucket.org/a/b", "https://api.bitbucket.org/2.0"),
        (BITBUCKET, "https://bitbucket.example.com/a/b", ""),
        (BITBUCKET_SERVER, "https://bitbucket.example.com/scm/a/b", "https://bitbucket.example.com/rest/api/1.0"),
    ],
)
def test_each_kind_has_a_usual_address(host: Host, url: str, expected: str) -> None:
    """The usual address of the API follows from the kind and the URL of a repository. Bitbucket Cloud has only its own."""
    assert usual_address(host, urlsplit(url)) == expected


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_every_description_is_complete(host: Host) -> None:
    """Each kind subscribes to pushes and pull requests, receives both and has all states.

    Its templates of paths have placeholders, and only those that are filled in.
    """
    assert set(host.hooks.events) == {"push", "pull_request"}
    assert {Event.PUSH, Event.PULL_REQUEST} <= set(host.deliveries.events.values())
    assert set(host.statuses.states) == {"pending", "success", "failure", "error"}
    assert {"state", "url"} <= set(host.statuses.members.values())
    # The page of a comment has either an address in responses or a path.
    assert bool(host.comments.page) != bool(host.comments.page_path)
    for template, names in [
        (host.rest_api.repository, {"path", "segment", "owner", "name"}),
        (host.pull_requests.path, {"number"}),
        (host.pull_requests.reference, {"number", "head"}),
        (host.changed_files.path, {"number"}),
        (host.comments.list_path, {"number"}),
        (host.comments.path, {"number", "id"}),
        (host.statuses.path, {"commit"}),
        (host.hooks.hook_path, {"id"}),
        (host.pages.compare, {"base", "ref"}),
    ]:
        placeholders = {name for _, name, _, _ in Formatter().parse(template) if name}
        assert placeholders, template
        assert placeholders <= names, template


def test_members_are_read_and_written_by_their_paths() -> None:
    """A path with dots writes and reads a member of inner objects. A member that does not exist is read as None."""
    document = document_of({"a.b": 1, "a.c.d": "x", "e": None})
    assert document == {"a": {"b": 1, "c": {"d": "x"}}, "e": None}
    assert member_of(document, "a.c.d") == "x"
    assert member_of(document, "a.b.c") is None
    assert member_of(document, "f") is None
    assert member_of([], "a") is None
    assert member_of(document, "") is document


def test_faults_of_members_are_collected() -> None:
    """A missing or wrong member is a fault with its path, and is read as an empty value. A missing optional text is not a fault.

    ``text`` reads the first of several paths that exists, and ``number`` a positive integer up to a maximum.
    """
    reader = MemberReader({"a": "x", "b": 7, "c": {"d": ""}, "n": 5, "t": True, "m": -1})
    assert reader.text("a") == "x"
    assert reader.text("z", "a") == "x"
    assert reader.optional_text("z") == ""
    assert reader.number("n") == 5
    assert reader.faults == []
    assert reader.text("b") == ""
    assert reader.text("c.d") == ""
    assert reader.optional_text("b") == ""
    assert reader.number("t") == 0
    assert reader.number("m") == 0
    assert reader.number("z") == 0
    maximum = 4
    assert reader.number("n", maximum) == 0
    assert reader.faults == ["b", "c.d", "b", "t", "m", "z", "n"]
