"""Changes of files by path: the worker plans a change at the first request, and commits and stores it at the second."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.file_calls import Calls, sorted_touches
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, dashboard, run_sync
from tests.servers.git import GitServer, WorkTree, git

from dashwright.common.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    DashwrightError,
    Invalid,
    MethodNotAllowed,
    NotFound,
    TooLarge,
    Unavailable,
)
from dashwright.common.jobs.names import folder_name
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.adapters.store import DatabaseObjectStore

#: The files with which a repository starts.
TREE = {"a.json": dashboard("a", "A"), "deep/b.json": dashboard("b", "B"), "deep/in/c.json": dashboard("c", "C"), "deep/notes.md": "none"}


@dataclass
class Team:
    """Repository of a team and the location of its files."""

    api: Api
    work_tree: WorkTree | None
    folder: Path

    def read(self, path: str, ref: str = "main") -> str | None:
        """Return the content of a file, or None if it does not exist."""
        if self.work_tree is None:
            file_path = self.folder / path
            return file_path.read_text() if file_path.is_file() else None
        git(self.work_tree.folder, "fetch", "--quiet", "origin")
        paths = git(self.work_tree.folder, "ls-tree", "-r", "--name-only", f"origin/{ref}").splitlines()
        return git(self.work_tree.folder, "show", f"origin/{ref}:{path}") if path in paths else None

    async def stored_titles(self) -> dict[str, str]:
        """Return the titles of the managed objects by path."""
        rows = await self.api.sql(
            "select coalesce(json_agg(json_build_array(source_path, title)), '[]')::text from resource where manager_id = 'team'"
        )
        return {path or "": title for path, title in json.loads(rows)}


async def create_repository(api: Api, folder: Path, work_tree: WorkTree | None, url: str, **spec: Any) -> Team:
    """Create the repository ``team``: on the git host of a work tree, or else with its files in a local folder."""
    if work_tree is None:
        workflows = ["write"]
        block: dict[str, Any] = {"type": "local", "local": {"path": str(folder)}}
    else:
        workflows = ["write", "branch"]
        block = {"type": "githost", "githost": {"url": url, "branch": "main"}}
    sync = {"enabled": True, "target": "folder"}
    body = {"metadata": {"name": "team"}, "spec": {"title": "Team", "workflows": workflows, "sync": sync, **block, **spec}}
    status, response = await api("POST", REPOSITORIES, body)
    assert status == 201, response
    return Team(api, work_tree, folder)


@pytest.fixture
async def calls(broker: MemoryBroker) -> AsyncIterator[Calls]:
    """Return a client of the repositories queue that sends calls for the repository ``team``."""
    async with Calls(broker, "team") as calls:
        yield calls


@pytest.fixture
def work_tree(git_server: GitServer) -> WorkTree:
    """Return a work tree with the files of ``TREE``, pushed to the git host as ``team.git``."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit(dict(TREE))
    return work_tree


async def synced_team(kind: str, tree: dict[str, str], api: Api, server: GitServer, folder: Path) -> Team:
    """Create a repository with the files of a tree and sync it. Its ``kind`` is git or local."""
    if kind == "git":
        work_tree = server.create_repository("team.git")
        work_tree.commit(dict(tree))
        created = await create_repository(api, folder, work_tree, server.url("team.git"))
    else:
        for path, body in tree.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(body)
        created = await create_repository(api, folder, None, "")
    assert (await run_sync(api))["state"] == "success"
    return created


@pytest.fixture(params=["git", "local"])
async def team(request: pytest.FixtureRequest, git_api: Api, git_server: GitServer, tmp_path: Path) -> Team:
    """Return a synced repository with the files of ``TREE``, once on a git host and once in a local folder."""
    return await synced_team(request.param, TREE, git_api, git_server, tmp_path / "team")


def indented_json(tree: Any) -> str:
    """Return JSON with an indent of two spaces, as it is written to files."""
    return json.dumps(tree, indent=2)


async def test_a_file_is_created_updated_and_deleted(team: Team, calls: Calls) -> None:
    """A planned change changes nothing. An executed change writes the file with an indent of two spaces, and stores the object.

    The caller is recorded as the object's author.
    """
    new = {"uid": "n", "title": "N", "panels": [], "id": 5, "version": 3, "x": 1}
    stored_body = {"uid": "n", "title": "N", "panels": [], "x": 1}
    deep = folder_name("team", "deep/")
    planned = await calls.request_change("create", "deep/new/n.json", new)
    assert sorted_touches(planned) == [("create", "dashboards", "n", deep), ("create", "folders", folder_name("team", "deep/new/"), deep)]
    assert planned.wrapper.resource.action == "create"
    assert team.read("deep/new/n.json") is None
    created = await calls.request_change("create", "deep/new/n.json", planned.content, base=planned.base)
    assert (team.read("deep/new/n.json") or "").strip() == indented_json(stored_body)
    assert created.wrapper.errors is None
    assert created.wrapper.timestamp is not None
    assert created.wrapper.hash == (await calls.files())["deep/new/n.json"]
    _, body = await team.api("GET", f"{DASHBOARDS}/n")
    annotations = body["metadata"]["annotations"]
    assert (annotations["grafana.app/createdBy"], annotations["grafana.app/sourceChecksum"]) == ("user:7", created.wrapper.hash)
    changed = await calls.plan_and_change("update", "deep/new/n.json", {**stored_body, "title": "N2"})
    assert (changed.wrapper.resource.action, (await team.stored_titles())["deep/new/n.json"]) == ("update", "N2")
    assert sorted_touches(changed) == [("update", "dashboards", "n", folder_name("team", "deep/new/"))]
    removed = await calls.plan_and_change("delete", "deep/new/n.json")
    assert sorted_touches(removed) == [
        ("delete", "dashboards", "n", folder_name("team", "deep/new/")),
        ("delete", "folders", folder_name("team", "deep/new/"), deep),
    ]
    assert removed.wrapper.resource.action == "delete"
    assert team.read("deep/new/n.json") is None
    assert (await team.api("GET", f"{DASHBOARDS}/n"))[0] == 404
    assert set(await team.stored_titles()) == {"", "a.json", "deep", "deep/b.json", "deep/in", "deep/in/c.json"}


#: A dashboard that requests a generated name, and has the fields ``uid`` of a server in its metadata and spec.
NAMELESS_YAML = """\
apiVersion: dashboard.grafana.app/v0alpha1
kind: Dashboard
metadata:
  generateName: made-
  uid: x
spec:
  title: Y
  uid: y
"""


async def test_content_is_converted_to_the_file_extension(team: Team, calls: Calls) -> None:
    """Content is converted between JSON and YAML by the file's extension, and a name is generated. Fields of the server are omitted."""
    planned = await calls.request_change("create", "y.json", NAMELESS_YAML)
    created = await calls.request_change("create", "y.json", planned.content, base=planned.base)
    assert created.wrapper.resource.file is not None
    name = created.wrapper.resource.file["metadata"]["name"]
    assert name.startswith("made-")
    assert json.loads(team.read("y.json") or "") == {
        "apiVersion": "dashboard.grafana.app/v0alpha1",
        "kind": "Dashboard",
        "metadata": {"name": name},
        "spec": {"title": "Y"},
    }
    assert (await team.api("GET", f"{DASHBOARDS}/{name}"))[0] == 200
    await calls.plan_and_change("create", "z.yaml", '{"uid": "z", "title": "Z", "panels": [], "no": 1.10}')
    assert (team.read("z.yaml") or "").strip() == 'uid: z\ntitle: Z\npanels: []\n"no": 1.10'


async def test_files_and_directories_move(team: Team, calls: Calls) -> None:
    """Moved files keep their content or receive new content, and their objects move to the folders of the new directories."""
    before = team.read("deep/b.json")
    uid = (await team.api("GET", f"{DASHBOARDS}/b"))[1]["metadata"]["uid"]
    moved = await calls.plan_and_change("move", "other/b2.json", original_path="deep/b.json")
    other = folder_name("team", "other/")
    assert set(sorted_touches(moved)) == {
        ("create", "folders", other, "team"),
        ("update", "dashboards", "b", folder_name("team", "deep/")),
        ("create", "dashboards", "b", "team"),
    }
    assert team.read("other/b2.json") == before
    assert team.read("deep/b.json") is None
    _, body = await team.api("GET", f"{DASHBOARDS}/b")
    assert (body["metadata"]["uid"], body["metadata"]["annotations"]["grafana.app/folder"]) == (uid, other)
    await calls.plan_and_change("move", "b3.json", {"uid": "b", "title": "B3", "panels": []}, original_path="other/b2.json")
    assert (await team.stored_titles())["b3.json"] == "B3"
    await calls.plan_and_change("move", "elsewhere/", original_path="deep/")
    assert (team.read("elsewhere/in/c.json"), team.read("elsewhere/notes.md")) == (TREE["deep/in/c.json"], "none")
    assert set(await team.stored_titles()) == {"", "a.json", "b3.json", "elsewhere", "elsewhere/in", "elsewhere/in/c.json"}


async def test_directories_are_created_and_deleted(team: Team, calls: Calls) -> None:
    """A created directory has a folder. Deleting a directory deletes its files, and all folders and dashboards of its content."""
    created = await calls.plan_and_change("create", "deep/empty/")
    assert sorted_touches(created) == [("create", "folders", folder_name("team", "deep/empty/"), folder_name("team", "deep/"))]
    assert (created.wrapper.resource.type.kind, created.wrapper.resource.action) == ("Folder", "create")
    removed = await calls.plan_and_change("delete", "deep/")
    names = {name for verb, _, name, _ in sorted_touches(removed) if verb == "delete"}
    deleted_folders = {folder_name("team", path) for path in ("deep/", "deep/in/", "deep/empty/")}
    # The delete also touches an object with a generated name: the one that ``notes.md`` might contain.
    assert names >= {"b", "c"} | deleted_folders
    assert set(await team.stored_titles()) == {"", "a.json"}
    assert team.read("deep/notes.md") is None
    assert team.read("a.json") == TREE["a.json"]


#: Method, path, content and options of a change, with the class and text of the error.
INVALID_CHANGES: list[tuple[str, str, Any, dict[str, str], type[DashwrightError], str]] = [
    ("create", "a.json", {"uid": "x", "title": "X", "panels": []}, {}, AlreadyExists, "a.json already exists"),
    ("create", "deep/", None, {}, AlreadyExists, "already exists"),
    ("create", "a.json/b.json", {"uid": "x", "title": "X", "panels": []}, {}, AlreadyExists, "a.json already exists"),
    ("create", "deep", None, {}, BadRequest, "unsupported file extension"),
    ("create", "new/", "any", {}, BadRequest, "data cannot be provided for a directory"),
    ("create", "x.json", None, {}, BadRequest, "no content"),
    ("create", "x.json", "{broken", {}, Invalid, "not valid JSON"),
    ("create", "x.json", {"title": "T"}, {}, Invalid, "holds no dashboard"),
    ("create", "x.json", {"uid": "x", "title": "", "panels": []}, {}, BadRequest, "title cannot be empty"),
    ("create", "x.json", {"uid": "a", "title": "T", "panels": []}, {}, BadRequest, "^x.json: duplicate resource name: a$"),
    ("create", "x.json", {"uid": "theirs", "title": "T", "panels": []}, {}, BadRequest, "'theirs' already exists and is not managed"),
    ("create", "test/../../x.json", {"uid": "x", "title": "T", "panels": []}, {}, BadRequest, "traversal"),
    ("create", "x%2e.json", {"uid": "x", "title": "T", "panels": []}, {}, BadRequest, "path contains %2e"),
    ("create", "1/2/3/4/5/6/7/8/9/x.json", {"uid": "x", "title": "T", "panels": []}, {}, BadRequest, "9 directories, at most 8"),
    ("create", "x.md", "text", {}, BadRequest, "unsupported file extension"),
    ("update", "x.json", {"uid": "x", "title": "X", "panels": []}, {}, NotFound, "file not found: x.json"),
    ("update", "deep/", None, {}, MethodNotAllowed, "a directory"),
    ("delete", "x.json", None, {}, NotFound, "file not found"),
    ("delete", "none/", None, {}, NotFound, "directory not found"),
    ("delete", "", None, {}, BadRequest, "the root"),
    ("move", "dir/", None, {"original_path": "a.json"}, BadRequest, "cannot move between file and directory types"),
    ("move", "x.json", None, {"original_path": "deep/"}, BadRequest, "cannot move between file and directory types"),
    ("move", "x.json", None, {"original_path": "none.json"}, NotFound, "file not found"),
    ("move", "a.json", None, {"original_path": "deep/b.json"}, AlreadyExists, "a.json already exists"),
    ("move", "deep/in/x/", None, {"original_path": "deep/"}, BadRequest, "into itself"),
]


async def test_invalid_changes_are_rejected(team: Team, calls: Calls) -> None:
    """An invalid change fails with its reason, planned or executed, and changes neither files nor objects."""
    assert (await team.api("POST", DASHBOARDS, {"metadata": {"name": "theirs"}, "spec": {"title": "Theirs"}}))[0] == 201
    before, files = await team.stored_titles(), await calls.files()
    for method, path, content, options, error, reason in INVALID_CHANGES:
        # Without a base a change is planned, and with a base it is executed.
        for base in ("", "0" * 64):
            with pytest.raises(error, match=reason) as raised:
                await calls.request_change(method, path, content, base=base, **options)
            assert type(raised.value) is error, (method, path, raised.value)
    assert (await team.stored_titles(), await calls.files()) == (before, files)


async def test_an_error_names_the_file_although_the_reason_has_its_name(
    git_api: Api, git_server: GitServer, tmp_path: Path, calls: Calls
) -> None:
    """An error about a file begins with the path of the file, even if the reason quotes a text that is equal to the path."""
    await synced_team("local", TREE, git_api, git_server, tmp_path / "team")
    (tmp_path / "team/bad.json").write_text('{"kind": "moved.json", "apiVersion": "dashboard.grafana.app/v1", "metadata": {"name": "x"}}')
    with pytest.raises(BadRequest, match=r"^moved\.json: moved\.json of dashboard\.grafana\.app/v1 is not synced"):
        await calls.request_change("move", "moved.json", None, original_path="bad.json")


@pytest.mark.parametrize(
    ("limit", "method", "path", "options"),
    [
        ("domain.edits.MAX_EDITS", "delete", "deep/", {}),
        ("domain.edits.MAX_EDITS", "move", "new/", {"original_path": "deep/"}),
        ("actions.files.changing.MAX_EDIT_BYTES", "move", "new/", {"original_path": "deep/"}),
    ],
    ids=["deletes", "moves", "moved bytes"],
)
async def test_a_change_of_too_many_files_is_rejected(
    team: Team, calls: Calls, monkeypatch: pytest.MonkeyPatch, limit: str, method: str, path: str, options: dict[str, str]
) -> None:
    """A change of too many files or bytes is rejected before it is planned, because a plan has the content of all files."""
    monkeypatch.setattr(f"dashwright.jobs_worker.{limit}", 2)
    with pytest.raises(TooLarge, match="in parts"):
        await calls.request_change(method, path, **options)


async def test_a_change_conflicts_with_later_changes(team: Team, calls: Calls) -> None:
    """A change conflicts if the file or an object that it touches has changed since it was planned."""
    planned = await calls.request_change("update", "a.json", {"uid": "a", "title": "Mine", "panels": []})
    pushed = dashboard("a", "Theirs")
    if team.work_tree is not None:
        team.work_tree.commit({"a.json": pushed})
    else:
        (team.folder / "a.json").write_text(pushed)
    with pytest.raises(Conflict):
        await calls.request_change("update", "a.json", planned.content, base=planned.base)
    assert team.read("a.json") == pushed
    planned = await calls.request_change("update", "a.json", {"uid": "a", "title": "Mine", "panels": []})
    await team.api.sql("delete from resource where name = 'a' returning 1")
    with pytest.raises(Conflict):
        await calls.request_change("update", "a.json", planned.content, base=planned.base)
    assert team.read("a.json") == pushed


async def test_a_commit_has_author_and_message(
    git_api: Api, git_server: GitServer, work_tree: WorkTree, calls: Calls, tmp_path: Path
) -> None:
    """A commit has the caller as author and the given message, or a generated message."""
    team = await create_repository(git_api, tmp_path, work_tree, git_server.url("team.git"))

    def newest_commit() -> str:
        """Return the author and the first line of the message of the newest commit on main."""
        git(work_tree.folder, "fetch", "--quiet", "origin")
        return git(work_tree.folder, "show", "--no-patch", "--format=%an <%ae>|%s", "origin/main")

    body = {"uid": "x", "title": "X", "panels": []}
    for method, path, content, options, message in (
        ("create", "x.json", body, {}, "Create x.json"),
        ("update", "x.json", {**body, "title": "Y"}, {}, "Update x.json"),
        ("move", "y.json", None, {"original_path": "x.json"}, "Move x.json to y.json"),
        ("delete", "y.json", None, {}, "Delete y.json"),
        ("create", "z.json", body, {"message": "Because"}, "Because"),
    ):
        created = await calls.plan_and_change(method, path, content, **options)
        assert newest_commit() == f"Ada <ada@example.org>|{message}"
        assert created.wrapper.ref == git(work_tree.folder, "rev-parse", "origin/main")
    assert (await team.stored_titles())["z.json"] == "X"


async def test_a_stored_change_is_not_synced_again(
    git_api: Api, git_server: GitServer, work_tree: WorkTree, calls: Calls, tmp_path: Path
) -> None:
    """After a change, a sync has nothing to do, unless another commit before the change was not synced."""
    team = await create_repository(git_api, tmp_path, work_tree, git_server.url("team.git"))
    await run_sync(git_api)
    created = await calls.plan_and_change("create", "x.json", {"uid": "x", "title": "X", "panels": []})
    _, body = await git_api("GET", f"{REPOSITORIES}/team")
    assert body["status"]["sync"]["lastRef"] == created.wrapper.ref
    assert (await run_sync(git_api))["message"] == "same commit as last time"
    git(work_tree.folder, "pull", "--quiet", "origin", "main")
    work_tree.commit({"theirs.json": dashboard("t", "T")})
    await calls.plan_and_change("create", "y.json", {"uid": "y", "title": "Y", "panels": []})
    assert "y.json" in await team.stored_titles()
    assert "theirs.json" not in await team.stored_titles()
    await run_sync(git_api, incremental=True)
    assert "theirs.json" in await team.stored_titles()
    assert (await run_sync(git_api))["message"] == "same commit as last time"


async def test_a_change_on_a_new_branch_stores_nothing(
    git_api: Api, git_server: GitServer, work_tree: WorkTree, calls: Calls, tmp_path: Path
) -> None:
    """A change on another branch stores nothing. The first change creates the branch, and later changes add commits to it."""
    team = await create_repository(git_api, tmp_path, work_tree, git_server.url("team.git"))
    await run_sync(git_api)
    before = await team.stored_titles()
    created = await calls.plan_and_change("update", "a.json", {"uid": "a", "title": "A2", "panels": []}, ref="feature/x")
    assert created.wrapper.urls is not None
    assert created.wrapper.urls.new_pull_request_url is not None
    await calls.plan_and_change("create", "x.json", {"uid": "x", "title": "X", "panels": []}, ref="feature/x")
    assert team.read("x.json", "feature/x") is not None
    assert "A2" in (team.read("a.json", "feature/x") or "")
    assert team.read("x.json") is None
    assert team.read("a.json") == TREE["a.json"]
    assert await team.stored_titles() == before
    newest_commit = git(work_tree.folder, "rev-parse", "origin/main")
    with pytest.raises(BadRequest):
        await calls.request_change("update", "a.json", {"uid": "a", "title": "A2", "panels": []}, ref=newest_commit)


async def test_an_empty_repository_accepts_its_first_file(git_api: Api, git_server: GitServer, calls: Calls, tmp_path: Path) -> None:
    """The first file of an empty repository creates its first commit."""
    work_tree = git_server.create_repository("team.git")
    team = await create_repository(git_api, tmp_path, work_tree, git_server.url("team.git"))
    created = await calls.plan_and_change("create", "a.json", {"uid": "a", "title": "A", "panels": []})
    assert created.wrapper.errors is None
    assert await team.stored_titles() == {"": "Team", "a.json": "A"}
    assert (await run_sync(git_api))["state"] == "success"
    assert await team.stored_titles() == {"": "Team", "a.json": "A"}


async def test_workflows_limit_the_branches(git_api: Api, git_server: GitServer, work_tree: WorkTree, calls: Calls, tmp_path: Path) -> None:
    """The workflows allow no changes, changes on other branches, or changes on the repository's own branch."""
    await create_repository(git_api, tmp_path, work_tree, git_server.url("team.git"), workflows=[])
    body = {"uid": "a", "title": "A2", "panels": []}

    async def allow(*workflows: str) -> None:
        """Replace the workflows of the repository."""
        _, response = await git_api("GET", f"{REPOSITORIES}/team")
        response["spec"]["workflows"] = list(workflows)
        assert (await git_api("PUT", f"{REPOSITORIES}/team", response))[0] == 200

    for workflows, ref, reason in (
        ((), "", "this repository is read only"),
        (("branch",), "", "this repository does not support the write workflow"),
        (("branch",), "main", "this repository does not support the write workflow"),
        (("write",), "other", "this repository does not support the branch workflow"),
        (("write",), "main", ""),
        (("branch",), "other", ""),
    ):
        await allow(*workflows)
        if reason:
            with pytest.raises(BadRequest, match=reason):
                await calls.request_change("update", "a.json", body, ref=ref)
        else:
            assert (await calls.request_change("update", "a.json", body, ref=ref)).base


async def test_while_syncs_are_disabled_only_the_file_is_written(
    git_api: Api, git_server: GitServer, work_tree: WorkTree, calls: Calls, tmp_path: Path
) -> None:
    """While syncs are disabled, a change is committed and stores no object."""
    team = await create_repository(git_api, tmp_path, work_tree, git_server.url("team.git"), sync={"enabled": False, "target": "folder"})
    created = await calls.plan_and_change("create", "x.json", {"uid": "x", "title": "X", "panels": []})
    assert created.wrapper.resource.action == "create"
    assert team.read("x.json") is not None
    assert await team.stored_titles() == {}


async def test_a_committed_change_is_stored_by_the_next_sync(
    git_api: Api, git_server: GitServer, work_tree: WorkTree, calls: Calls, tmp_path: Path, broken_store: Callable[[], None]
) -> None:
    """A change that is committed but cannot be stored succeeds with an error text, and the next sync stores the change."""
    team = await create_repository(git_api, tmp_path, work_tree, git_server.url("team.git"))
    await run_sync(git_api)
    planned = await calls.request_change("update", "a.json", {"uid": "a", "title": "A2", "panels": []})
    broken_store()
    created = await calls.request_change("update", "a.json", planned.content, base=planned.base)
    assert created.wrapper.errors is not None
    assert "the next sync stores it" in created.wrapper.errors[0]
    assert "A2" in (team.read("a.json") or "")
    assert (await team.stored_titles())["a.json"] == "A"
    assert (await run_sync(git_api))["state"] == "success"
    assert (await team.stored_titles())["a.json"] == "A2"


@pytest.fixture
def broken_store(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes the next write of objects fail."""

    def break_next_write() -> None:
        """Make the next write fail, and later writes succeed."""

        async def fail(*_: Any, **__: Any) -> None:
            monkeypatch.undo()
            raise Unavailable("the database is away")

        monkeypatch.setattr(DatabaseObjectStore, "apply", fail)

    return break_next_write


async def test_a_later_commit_is_not_overwritten(
    git_api: Api, git_server: GitServer, work_tree: WorkTree, calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another commit is pushed between a change's commit and its write, the newer object is stored."""
    team = await create_repository(git_api, tmp_path, work_tree, git_server.url("team.git"))
    await run_sync(git_api)
    commit = RepositoryCheckouts.commit

    def push_after_commit(title: str, act: Callable[[], Awaitable[object]]) -> None:
        """Let the next change be followed by a push and an action between its commit and its write."""

        async def commit_and_push(*arguments: Any, **options: Any) -> Any:
            """Commit the change, push another commit, and run the action."""
            monkeypatch.undo()
            created = await commit(*arguments, **options)
            git(work_tree.folder, "pull", "--quiet", "origin", "main")
            work_tree.commit({"a.json": dashboard("a", title)})
            await act()
            return created

        monkeypatch.setattr(RepositoryCheckouts, "commit", commit_and_push)

    async def forget_stored_commit() -> None:
        """Change the record of the repository's last stored commit, as if another worker had replaced it."""
        await git_api.sql("update repository_commit set edition = edition + 1, ref = null returning 1")

    push_after_commit("Newer", lambda: run_sync(git_api))
    created = await calls.plan_and_change("update", "a.json", {"uid": "a", "title": "Mine", "panels": []})
    assert created.wrapper.errors is None
    assert (await team.stored_titles())["a.json"] == "Newer"
    push_after_commit("Newest", forget_stored_commit)
    created = await calls.plan_and_change("update", "a.json", {"uid": "a", "title": "Mine", "panels": []})
    assert created.wrapper.errors is None
    assert (await team.stored_titles())["a.json"] == "Newest"
    assert (await run_sync(git_api, incremental=True))["state"] == "success"
    assert (await run_sync(git_api))["message"] == "same commit as last time"


async def test_concurrent_changes_are_all_kept(team: Team, calls: Calls) -> None:
    """Concurrent changes that are repeated after conflicts are all committed and stored."""

    async def change(name: str) -> None:
        """Create a file, and repeat this after each conflict."""
        # Each conflict means that another change was committed, so far fewer attempts suffice.
        for _ in range(20):
            try:
                await calls.plan_and_change("create", f"many/{name}.json", {"uid": name, "title": name.upper(), "panels": []})
            except Conflict:
                continue
            return
        raise AssertionError("each attempt conflicted")

    names = ["k", "l", "m"]
    await asyncio.gather(*map(change, names))
    assert {f"many/{name}.json" for name in names} <= set(await calls.files())
    assert {f"many/{name}.json": name.upper() for name in names}.items() <= (await team.stored_titles()).items()
    assert (await run_sync(team.api))["state"] == "success"
    assert set(await team.stored_titles()) == {
        "",
        "a.json",
        "deep",
        "deep/b.json",
        "deep/in",
        "deep/in/c.json",
        "many",
        *(f"many/{n}.json" for n in names),
    }
