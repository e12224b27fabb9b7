"""What the worker tells of the files of a repository: which there are, what one holds, and what would become of it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.calls import Calls, touched
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, dashboard, repository, synced
from tests.servers.git import GitServer

from dashwright.common.errors import BadRequest, NotFound, Unhealthy
from dashwright.common.jobs.names import folder_name
from dashwright.common.messaging.memory import MemoryBroker

MANAGED = {"grafana.app/managedBy": "repo", "grafana.app/managerId": "team"}


@pytest.fixture
async def calls(broker: MemoryBroker) -> AsyncIterator[Calls]:
    async with Calls(broker, "team") as calls:
        yield calls


async def local(api: Api, tmp_path: Path, **spec: Any) -> Path:
    """A repository that is a folder."""
    folder = tmp_path / "team"
    folder.mkdir()
    spec = {"title": "Team", "type": "local", "workflows": ["write"], "local": {"path": str(folder)}, **spec}
    spec.setdefault("sync", {"enabled": True, "target": "folder"})
    status, found = await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec})
    assert status == 201, found
    return folder


async def test_the_files_of_a_repository(git_api: Api, git_server: GitServer, calls: Calls) -> None:
    """At the own branch, another one, a commit, and below a directory; hidden ones are not told, and of none there is an empty list."""
    work = git_server.make("team.git")
    await repository(git_api, git_server)
    assert await calls.files() == {}
    first = work.commit(
        {"a.json": dashboard("a", "A"), "deep/b.json": dashboard("b", "B"), "deep/n.md": "none", ".x/c.json": "{}", "deep/.keep": ""}
    )
    work.commit({"c.json": "{}"}, branch="other")
    assert list(await calls.files()) == ["a.json", "deep/b.json", "deep/n.md"]
    assert list(await calls.files("deep/")) == list(await calls.files("deep")) == ["deep/b.json", "deep/n.md"]
    assert list(await calls.files(ref="other")) == ["a.json", "c.json", "deep/b.json", "deep/n.md"]
    assert await calls.files(ref=first) == await calls.files()
    for wrong, error in (("none/", NotFound), ("../", BadRequest), ("a.json", NotFound)):
        with pytest.raises(error):
            await calls.files(wrong)
    with pytest.raises(NotFound):
        await calls.files(ref="nowhere")


async def test_a_file_is_told_with_what_would_become_of_it(git_api: Api, git_server: GitServer, calls: Calls) -> None:
    """Before a sync it would be made, and whom it will be closed to is not known; after it, changed; on another branch it is compared with
    what is stored."""
    work = git_server.make("team.git")
    first = work.commit({"deep/b.json": json.dumps({"uid": "b", "title": "B", "panels": [], "id": 7, "x": 1.10})})
    await repository(git_api, git_server)
    answer = await calls.file("deep/b.json")
    shown = answer.wrapper
    assert (shown.path, shown.ref, shown.errors, shown.hash) == ("deep/b.json", first, None, (await calls.files())["deep/b.json"])
    kind = shown.resource.type
    assert (kind.group, kind.version, kind.kind, kind.resource, kind.classic) == (
        "dashboard.grafana.app", "v0alpha1", "Dashboard", "dashboards", "dashboard",
    )  # fmt: skip
    assert (shown.resource.action, shown.resource.existing) == ("create", None)
    deep = folder_name("team", "deep/")
    notes = MANAGED | {"grafana.app/folder": deep, "grafana.app/sourcePath": "deep/b.json", "grafana.app/sourceChecksum": shown.hash}
    assert shown.resource.file == {
        "apiVersion": "dashboard.grafana.app/v0alpha1",
        "kind": "Dashboard",
        "metadata": {"name": "b", "namespace": "default", "annotations": notes},
        "spec": {"title": "B", "panels": [], "x": 1.1},
    }
    assert shown.resource.dry_run is not None
    assert shown.resource.dry_run["metadata"]["annotations"]["grafana.app/managerId"] == "team"
    assert touched(answer) == [("get", "dashboards", "b", None), ("update", "repositories", "team", None)]
    assert (await git_api("GET", f"{DASHBOARDS}/b"))[0] == 404
    await synced(git_api)
    after = await calls.file("deep/b.json")
    assert after.wrapper.resource.action == "update"
    assert after.wrapper.resource.existing is not None
    assert after.wrapper.resource.existing["spec"]["title"] == "B"
    assert touched(after) == [("get", "dashboards", "b", deep)]
    second = work.commit({"deep/b.json": dashboard("b", "B2")}, branch="other")
    other = await calls.file("deep/b.json", "other")
    assert other.wrapper.ref == second
    assert other.wrapper.resource.dry_run is not None
    assert other.wrapper.resource.existing is not None
    assert (other.wrapper.resource.existing["spec"]["title"], other.wrapper.resource.dry_run["spec"]["title"]) == ("B", "B2")
    assert (await calls.file("deep/b.json", first)).wrapper.ref == first


async def test_people_find_a_file_at_its_host(git_api: Api, git_server: GitServer, calls: Calls) -> None:
    """And what another branch changes, for a pull request."""
    work = git_server.make("team.git")
    work.commit({"d/a b.json": dashboard("a", "A")})
    work.commit({"x.json": "{}"}, branch="feature/x")
    await repository(git_api, git_server)
    url = git_server.url("team")
    own = (await calls.file("d/a b.json")).wrapper.urls
    assert own is not None
    assert own.model_dump(exclude_none=True) == {"source_url": f"{url}/blob/main/d/a%20b.json", "repository_url": url}
    assert (await calls.file("d/a b.json", "main")).wrapper.urls == own
    other = (await calls.file("d/a b.json", "feature/x")).wrapper.urls
    assert other is not None
    compare = f"{url}/compare/main...feature/x"
    assert (other.source_url, other.compare_url) == (f"{url}/blob/feature/x/d/a%20b.json", compare)
    assert other.new_pull_request_url == f"{compare}?quick_pull=1&labels=grafana"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{broken", "not valid JSON"),
        ('{"uid": "a", "title": "", "panels": []}', "title cannot be empty"),
        ('{"uid": "theirs", "title": "T", "panels": []}', "resource 'theirs' already exists and is not managed"),
        (
            '{"apiVersion": "dashboard.grafana.app/v0alpha1", "kind": "Dashboard", "metadata": {"namespace": "org-9"}, "spec": {}}',
            "metadata.namespace is 'org-9'",
        ),
    ],
)
async def test_what_is_wrong_with_a_file_is_told(git_api: Api, tmp_path: Path, calls: Calls, body: str, reason: str) -> None:
    """In the answer's errors: it was found, and can be mended."""
    folder = await local(git_api, tmp_path)
    made = {"metadata": {"name": "theirs"}, "spec": {"title": "Theirs"}}
    assert (await git_api("POST", DASHBOARDS, made))[0] == 201
    (folder / "a.json").write_text(body)
    shown = (await calls.file("a.json")).wrapper
    assert shown.errors is not None
    assert [reason in text for text in shown.errors] == [True], shown.errors
    assert shown.resource.dry_run is None


@pytest.mark.parametrize(
    ("path", "error", "reason"),
    [
        ("none.json", NotFound, "file not found"),
        ("a.txt", BadRequest, "unsupported file extension"),
        (".hidden.json", BadRequest, "hidden"),
        ("../a.json", BadRequest, "traversal"),
        ("a%2e/a.yaml", BadRequest, "path contains %2e"),
        ("link.json", BadRequest, "symbolic link"),
    ],
)
async def test_a_name_that_is_none_of_a_file(
    git_api: Api, tmp_path: Path, calls: Calls, path: str, error: type[Exception], reason: str
) -> None:
    folder = await local(git_api, tmp_path)
    (folder / "link.json").symlink_to("/etc/hostname")
    with pytest.raises(error, match=reason):
        await calls.file(path)


async def test_a_folder_has_no_refs(git_api: Api, tmp_path: Path, calls: Calls) -> None:
    await local(git_api, tmp_path)
    for call in (calls.files(ref="main"), calls.file("a.json", "main")):
        with pytest.raises(BadRequest, match="local repository does not support ref"):
            await call


async def test_a_host_that_cannot_be_asked_is_unhealthy(git_api: Api, git_server: GitServer, calls: Calls) -> None:
    git_server.make("team.git").commit({"a.json": "{}"})
    await repository(git_api, git_server)
    git_server.token = "since changed"
    with pytest.raises(Unhealthy, match=r"the git host (refuses|asks for)"):
        await calls.file("a.json")


async def test_a_copy_that_is_damaged_is_made_anew(git_api: Api, git_server: GitServer, tmp_path: Path, calls: Calls) -> None:
    """Whoever asks notices nothing of it: the worker's copy is not the repository."""
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server)
    before = await calls.file("a.json")
    blob = before.wrapper.hash or ""
    (lost,) = (tmp_path / "data").rglob(f"{blob[:2]}/{blob[2:]}")
    lost.unlink()
    assert (await calls.file("a.json")).wrapper.resource.file == before.wrapper.resource.file
    assert list(await calls.files()) == ["a.json"]
