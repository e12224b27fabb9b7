"""Validation of a repository's spec."""

from typing import Any

import pytest

from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.repository import RESERVED_NAMES, admit_repository, resolve_local
from dashwright.common.kinds.settings import AdmissionSettings

SETTINGS = AdmissionSettings(permitted_paths=("/srv/repositories", "/data"))


def causes(name: str = "team", settings: AdmissionSettings = SETTINGS, **changes: Any) -> list[tuple[str, str]]:
    """Return field and message of each fault of a valid spec with changed members. A member of None is removed."""
    spec: dict[str, Any] = {
        "title": "Team",
        "type": "local",
        "local": {"path": "team"},
        "workflows": [],
        "sync": {"enabled": True, "target": "folder"},
    }
    draft = Draft(name, "default", {key: value for key, value in (spec | changes).items() if value is not None})
    admit_repository(draft, settings)
    return [(cause.field, cause.message) for cause in draft.causes]


def githost(url: str, branch: str = "main") -> dict[str, Any]:
    """Return the changed members of a spec with a git host instead of a local directory."""
    return {"type": "githost", "local": None, "githost": {"url": url, "branch": branch}}


def directory(path: str) -> dict[str, Any]:
    """Return the changed members of a spec with a directory of a git host."""
    spec = githost("https://host.example/x")
    spec["githost"]["path"] = path
    return spec


def test_a_good_repository_has_no_causes() -> None:
    """A valid repository has no causes.

    Paths inside a permitted folder are valid, and so are intervals of 0, of at least 10 seconds, or of a disabled sync.
    """
    assert causes() == []
    assert causes(local={"path": "/data/a/b"}) == []
    assert causes(sync={"enabled": True, "target": "folder", "intervalSeconds": 10}) == []
    assert causes(sync={"enabled": True, "target": "folder", "intervalSeconds": 0}) == []
    assert causes(sync={"enabled": False, "target": "folder", "intervalSeconds": 3}) == []
    for url in (
        "https://host.example/team/x.git",
        "https://xn--bcher-kva.example/x",
        "https://Host.example:8443/git/a/b/",
        "http://[::1]:3000/x",
    ):
        assert causes(**githost(url, branch="")) == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://host.example/team/x.git", "https://host.example/team/x"),
        ("https://host.example/team/x/", "https://host.example/team/x"),
        ("https://host.example/team/x.git/", "https://host.example/team/x"),
        ("https://host.example/team/x.git.git", "https://host.example/team/x.git"),
        ("https://host.example/team/digit", "https://host.example/team/digit"),
        ("https://host.example/team/.git", "https://host.example/team/.git"),
    ],
)
def test_the_suffix_of_a_url_is_removed(url: str, expected: str) -> None:
    """One ``.git``, and a slash at the end, are removed, so that all notations are the same repository."""
    sync = {"enabled": True, "target": "folder"}
    draft = Draft("team", "default", {"title": "Team", "workflows": [], "sync": sync, **githost(url)})
    admit_repository(draft, SETTINGS)
    assert draft.spec["githost"]["url"] == expected


@pytest.mark.parametrize(
    ("path", "expected"), [("grafana", "grafana"), ("/deploy/my boards//", "deploy/my boards"), ("", None), ("/", None), ("ü", "ü")]
)
def test_slashes_around_a_directory_are_removed(path: str, expected: str | None) -> None:
    """Slashes around a directory are removed, so that all its notations are stored equally. The root is stored as an absent directory."""
    block = {"url": "https://host.example/x", "branch": "main", "path": path}
    draft = Draft("team", "default", {"title": "Team", "workflows": [], "sync": {"target": "folder"}, "type": "githost", "githost": block})
    admit_repository(draft, SETTINGS)
    assert draft.causes == []
    assert draft.spec["githost"].get("path") == expected


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_reserved_names_are_refused(name: str) -> None:
    """A name that has another meaning in clients or paths is refused."""
    assert causes(name) == [("metadata.name", f'Invalid value: "{name}": Name is reserved, choose a different identifier')]


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"title": ""}, "spec.title", "a repository title must be given"),
        ({"title": " \t"}, "spec.title", "a repository title must be given"),
        ({"workflows": ["write", "write"]}, "spec.workflows[1]", 'Duplicate value: "write"'),
        ({"sync": {"enabled": True, "target": "folder", "intervalSeconds": 5}}, "spec.sync.intervalSeconds", "at least 10 seconds"),
        ({"sync": {"enabled": False, "target": "folder", "intervalSeconds": -1}}, "spec.sync.intervalSeconds", "not be negative"),
        ({"sync": {"enabled": True, "target": "folder", "intervalSeconds": -5}}, "spec.sync.intervalSeconds", "not be negative"),
        ({"workflows": ["branch"]}, "spec.workflow", "branch is only supported on git repositories"),
        ({"local": None}, "spec.local", "Required value"),
        ({"local": {}}, "spec.local.path", "must enter a path"),
        ({"local": {"path": "../../etc/passwd"}}, "spec.local.path", "traversal attempt"),
        ({"local": {"path": "./x"}}, "spec.local.path", "traversal attempt"),
        ({"local": {"path": "/etc"}}, "spec.local.path", "inside a permitted folder"),
        ({"local": {"path": "/srv/repositories-of-others"}}, "spec.local.path", "inside a permitted folder"),
        ({"githost": {"branch": ""}}, "spec.githost", "only valid when type is githost"),
        ({**githost("https://host.example/x"), "local": {}}, "spec.local", "only valid when type is local"),
        ({"type": "githost", "local": None}, "spec.githost", "a githost config is required"),
        ({"type": "githost", "local": None, "githost": {}}, "spec.githost.url", "Required value"),
        (githost("git@host.example/team/x.git"), "spec.githost.url", "https://host[:port]/path"),
        (githost("file:///etc"), "spec.githost.url", "https://host[:port]/path"),
        (githost("https://"), "spec.githost.url", "https://host[:port]/path"),
        (githost("https://h:99999/x"), "spec.githost.url", "https://host[:port]/path"),
        (githost("https://h:0/x"), "spec.githost.url", "https://host[:port]/path"),
        (githost("https://8.8.8.8%2eevil.example/x"), "spec.githost.url", "https://host[:port]/path"),
        (githost("https://bücher.example/x"), "spec.githost.url", "https://host[:port]/path"),
        (githost("https://-x.example/x"), "spec.githost.url", "https://host[:port]/path"),
        (githost("https://[fe80::1%25eth0]/x"), "spec.githost.url", "https://host[:port]/path"),
        (githost("https://h/a b"), "spec.githost.url", "https://host[:port]/path"),
        (githost("https://user:pw@host.example/x"), "spec.githost.url", "leave user and password out of the address"),
        (githost("https://host.example/a/../x"), "spec.githost.url", "leave out . and .."),
        (githost("https://host.example/%2e%2E/x"), "spec.githost.url", "leave out . and .."),
        (githost("https://host.example/x?a=b"), "spec.githost.url", "leave out"),
        (githost("https://host.example/"), "spec.githost.url", "path of the repository is missing"),
        (githost("https://host.example/x", branch="a..b"), "spec.githost.branch", "invalid branch name"),
        (directory("a/../b"), "spec.githost.path", "traversal attempt"),
        (directory(".github/boards"), "spec.githost.path", "hidden file or directory"),
        (directory("a//b"), "spec.githost.path", "double slashes"),
        (directory("a%2fb"), "spec.githost.path", "path contains %2f"),
        (directory("a\\b"), "spec.githost.path", "invalid characters"),
        (directory("a\nb"), "spec.githost.path", "invalid characters"),
        (directory("a" * 1025), "spec.githost.path", "too long"),
    ],
)
def test_each_fault_is_a_cause(changes: dict[str, Any], field: str, text: str) -> None:
    """Each violated rule is a cause with its field and the reason."""
    ((actual_field, message),) = causes(**changes)
    assert actual_field == field
    assert text in message


def test_all_faults_are_reported_together() -> None:
    """All faults of a spec are in one response."""
    # A reserved name, no title, a workflow that needs git, and a path outside of the permitted folders.
    assert len(causes("sql", title="", workflows=["branch"], local={"path": "/etc"})) == 4


def test_without_a_permitted_folder_no_path_is_accepted() -> None:
    """Every path is rejected with the reason if no folder is permitted."""
    ((_, message),) = causes(settings=AdmissionSettings())
    assert "no permitted prefixes were configured" in message


@pytest.mark.parametrize(
    ("path", "resolved"),
    [
        ("team", "/srv/repositories/team"),
        ("team/", "/srv/repositories/team"),
        ("/data//x/", "/data/x"),
        ("/data", "/data"),
        ("/database", None),
        ("/", None),
    ],
)
def test_a_path_is_resolved_inside_a_permitted_folder(path: str, resolved: str | None) -> None:
    """Relative paths start at the first permitted folder; a path with the same prefix as a permitted folder is outside."""
    assert resolve_local(path, SETTINGS.permitted_paths) == resolved
