"""Reads of the files of a repository by the worker, which returns the effect that a sync of the file would have."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.file_calls import Calls, sorted_touches
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, create_repository, dashboard, run_sync
from tests.servers.git import GitServer

from dashwright.common.errors import BadRequest, NotFound, Unhealthy
from dashwright.common.jobs.names import folder_name
from dashwright.common.messaging.memory import MemoryBroker

MANAGED = {"grafana.app/managedBy": "repo", "grafana.app/managerId": "team"}


@pytest.fixture
async def calls(broker: MemoryBroker) -> AsyncIterator[Calls]:
    """Yield the calls about the files of the repository ``team``."""
    async with Calls(broker, "team") as calls:
        yield calls


async def make_local_repository(api: Api, tmp_path: Path, **spec: Any) -> Path:
    """Create a local repository and return its folder."""
    folder = tmp_path / "team"
    folder.mkdir()
    spec = {"title": "Team", "type": "local", "workflows": ["write"], "local": {"path": str(folder)}, **spec}
    spec.setdefault("sync", {"enabled": True, "target": "folder"})
    status, body = await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec})
    assert status == 201, body
    return folder


async def test_files_are_listed(git_api: Api, git_server: GitServer, calls: Calls) -> None:
    """Files are listed at a branch, at a commit or below a directory, without hidden files. An empty repository has an empty list."""
    work_tree = git_server.create_repository("team.git")
    await create_repository(git_api, git_server)
    assert await calls.files() == {}
    first = work_tree.commit(
        {"a.json": dashboard("a", "A"), "deep/b.json": dashboard("b", "B"), "deep/n.md": "none", ".x/c.json": "{}", "deep/.keep": ""}
    )
    work_tree.commit({"c.json": "{}"}, branch="other")
    assert list(await calls.files()) == ["a.json", "deep/b.json", "deep/n.md"]
    assert list(await calls.files("deep/")) == list(await calls.files("deep")) == ["deep/b.json", "deep/n.md"]
    assert list(await calls.files(ref="other")) == ["a.json", "c.json", "deep/b.json", "deep/n.md"]
    assert await calls.files(ref=first) == await calls.files()
    for wrong_directory, error in (("none/", NotFound), ("../", BadRequest), ("a.json", NotFound)):
        with pytest.raises(error):
            await calls.files(wrong_directory)
    with pytest.raises(NotFound):
        await calls.files(ref="nowhere")


async def test_a_file_has_the_effect_of_a_sync(git_api: Api, git_server: GitServer, calls: Calls) -> None:
    """A file is returned with the object that a sync would store, the stored object, and the action.

    Files at other refs are compared too.
    """
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"deep/b.json": json.dumps({"uid": "b", "title": "B", "panels": [], "id": 7, "x": 1.10})})
    await create_repository(git_api, git_server)
    response = await calls.file("deep/b.json")
    wrapper = response.wrapper
    assert wrapper.path == "deep/b.json"
    assert wrapper.ref == first
    assert wrapper.errors is None
    assert wrapper.hash == (await calls.files())["deep/b.json"]
    kind = wrapper.resource.type
    assert kind.group == "dashboard.grafana.app"
    assert kind.version == "v0alpha1"
    assert kind.kind == "Dashboard"
    assert kind.resource == "dashboards"
    assert kind.classic == "dashboard"
    assert wrapper.resource.action == "create"
    assert wrapper.resource.existing is None
    deep = folder_name("team", "deep/")
    notes = MANAGED | {"grafana.app/folder": deep, "grafana.app/sourcePath": "deep/b.json", "grafana.app/sourceChecksum": wrapper.hash}
    assert wrapper.resource.file == {
        "apiVersion": "dashboard.grafana.app/v0alpha1",
        "kind": "Dashboard",
        "metadata": {"name": "b", "namespace": "default", "annotations": notes},
        "spec": {"title": "B", "panels": [], "x": 1.1},
    }
    assert wrapper.resource.dry_run is not None
    assert wrapper.resource.dry_run["metadata"]["annotations"]["grafana.app/managerId"] == "team"
    assert sorted_touches(response) == [("get", "dashboards", "b", None), ("update", "repositories", "team", None)]
    assert (await git_api("GET", f"{DASHBOARDS}/b"))[0] == 404
    await run_sync(git_api)
    after = await calls.file("deep/b.json")
    assert after.wrapper.resource.action == "update"
    assert after.wrapper.resource.existing is not None
    assert after.wrapper.resource.existing["spec"]["title"] == "B"
    assert sorted_touches(after) == [("get", "dashboards", "b", deep)]
    second = work_tree.commit({"deep/b.json": dashboard("b", "B2")}, branch="other")
    other = await calls.file("deep/b.json", "other")
    assert other.wrapper.ref == second
    assert other.wrapper.resource.dry_run is not None
    assert other.wrapper.resource.existing is not None
    assert (other.wrapper.resource.existing["spec"]["title"], other.wrapper.resource.dry_run["spec"]["title"]) == ("B", "B2")
    assert (await calls.file("deep/b.json", first)).wrapper.ref == first


async def test_a_file_has_links_to_its_host(git_api: Api, git_server: GitServer, calls: Calls) -> None:
    """A file has its address at the host. On another branch, it also has addresses that compare branches and open a pull request."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"d/a b.json": dashboard("a", "A")})
    work_tree.commit({"x.json": "{}"}, branch="feature/x")
    await create_repository(git_api, git_server)
    url = git_server.url("team")
    urls_of_own_branch = (await calls.file("d/a b.json")).wrapper.urls
    assert urls_of_own_branch is not None
    assert urls_of_own_branch.model_dump(exclude_none=True) == {"source_url": f"{url}/blob/main/d/a%20b.json", "repository_url": url}
    assert (await calls.file("d/a b.json", "main")).wrapper.urls == urls_of_own_branch
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
async def test_an_invalid_file_has_errors(git_api: Api, tmp_path: Path, calls: Calls, body: str, reason: str) -> None:
    """An invalid file is returned with its errors."""
    folder = await make_local_repository(git_api, tmp_path)
    created = {"metadata": {"name": "theirs"}, "spec": {"title": "Theirs"}}
    assert (await git_api("POST", DASHBOARDS, created))[0] == 201
    (folder / "a.json").write_text(body)
    wrapper = (await calls.file("a.json")).wrapper
    assert wrapper.errors is not None
    [text] = wrapper.errors
    assert reason in text
    assert wrapper.resource.dry_run is None


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
async def test_invalid_paths_are_rejected(
    git_api: Api, tmp_path: Path, calls: Calls, path: str, error: type[Exception], reason: str
) -> None:
    """A path that is missing, unsupported, hidden, unsafe or a symbolic link is rejected with the reason."""
    folder = await make_local_repository(git_api, tmp_path)
    (folder / "link.json").symlink_to("/etc/hostname")
    with pytest.raises(error, match=reason):
        await calls.file(path)


async def test_a_local_repository_has_no_refs(git_api: Api, tmp_path: Path, calls: Calls) -> None:
    """A ref of a local repository is rejected with advice."""
    await make_local_repository(git_api, tmp_path)
    for call in (calls.files(ref="main"), calls.file("a.json", "main")):
        with pytest.raises(BadRequest, match="local repository does not support ref: leave it out"):
            await call


async def test_a_failing_host_is_an_error(git_api: Api, git_server: GitServer, calls: Calls) -> None:
    """A host that refuses the token makes the repository unhealthy, with the reason."""
    git_server.create_repository("team.git").commit({"a.json": "{}"})
    await create_repository(git_api, git_server)
    git_server.token = "since changed"
    with pytest.raises(Unhealthy, match="the git host requires a valid token"):
        await calls.file("a.json")


async def test_a_damaged_mirror_is_rebuilt(git_api: Api, git_server: GitServer, tmp_path: Path, calls: Calls) -> None:
    """A damaged mirror is rebuilt while the request is served."""
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server)
    before = await calls.file("a.json")
    blob = before.wrapper.hash or ""
    # Git stores an object in a file whose path is its hash.
    (deleted_object,) = (tmp_path / "data").rglob(f"{blob[:2]}/{blob[2:]}")
    deleted_object.unlink()
    assert (await calls.file("a.json")).wrapper.resource.file == before.wrapper.resource.file
    assert list(await calls.files()) == ["a.json"]
