"""Changes that are committed and pushed over HTTP to git's own back end: their content and requests, and rejections by the host."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from tests.integration.git.conftest import OpenRemote
from tests.servers.git import GitServer, WorkTree, git

from dashwright.common.errors import BadRequest, Conflict, DashwrightError, Forbidden, NotFound, SourceFailed, TooLarge
from dashwright.jobs_worker.adapters.git import commits, objects
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.commits import BranchChange
from dashwright.jobs_worker.adapters.git.mirrors import Commit, Mirrors
from dashwright.jobs_worker.domain.objects import CommitDraft, Edit, GitIdentity

TOKEN = "s3cret-token"
EVE = GitIdentity("Eve Example", "eve@example.org")

Write = Callable[..., Awaitable[Commit]]


@pytest.fixture
def work_tree(server: GitServer) -> WorkTree:
    """Create the empty repository ``r.git``."""
    return server.create_repository("r.git")


@pytest.fixture
def write(mirrors: Mirrors, open_remote: OpenRemote) -> Write:
    """Return a function that commits files by path on top of ``base``. A body of None deletes the file.

    ``repository_branch`` is the branch of the repository's spec, and ``ref`` the branch of the change; an empty ``ref`` is the same.
    """

    async def write(
        base: str,
        files: Mapping[str, bytes | None],
        *,
        ref: str = "",
        repository_branch: str = "main",
        directory: str = "",
        seconds: float = 20,
        token: str = "",
    ) -> Commit:
        edits = [Edit(path, body, None) for path, body in files.items()]
        remote = open_remote("r.git", token, seconds=seconds)
        return await commits.commit(
            mirrors, "uid", remote, BranchChange(repository_branch, ref, base, [CommitDraft(edits, EVE, "change of panels")], directory)
        )

    return write


def git_at_host(server: GitServer, *arguments: str) -> str:
    """Return the output of git about the host's repository."""
    return git(server.root / "r.git", *arguments)


async def test_a_change_is_one_commit_of_its_author(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """The author of a commit is the caller, and its committer Dashwright. If the mirror has the base, a change takes two requests."""
    base = work_tree.commit({"a.json": "1", "in/b.json": "2"})
    first = await write(base, {"a.json": b"11"})
    server.requests.clear()
    created = await write(first.sha, {"a.json": b"111", "new/deep/c.json": b"3"})
    assert [request.split("/")[-1].partition("?")[0] for request in server.requests] == ["refs", "git-receive-pack"]
    assert git_at_host(server, "log", "-1", "--format=%H %P %an <%ae> %cn <%ce> %s", "main") == (
        f"{created.sha} {first.sha} Eve Example <eve@example.org> Dashwright <noreply@dashwright.invalid> change of panels"
    )
    assert git_at_host(server, "show", "main:a.json") == "111"
    assert {entry.path for entry in await GitCheckout(created).entries()} == {
        "a.json",
        "in/",
        "in/b.json",
        "new/",
        "new/deep/",
        "new/deep/c.json",
    }
    assert GitCheckout(created).open_reader()("new/deep/c.json").body == b"3"
    git_at_host(server, "fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize(
    ("author", "expected"),
    [
        (GitIdentity("Zoë Müller", "zoë@example.org"), "Zoë Müller <zoë@example.org>"),
        (GitIdentity("", ""), "Dashwright <noreply@dashwright.invalid>"),
        (GitIdentity("a <b>\ncommitter x", "<e>\0@x.org\n"), "a bcommitter x <e@x.org>"),
        (GitIdentity(" . ", "<>"), "Dashwright <noreply@dashwright.invalid>"),
    ],
    ids=["umlauts", "empty", "with delimiters", "only delimiters"],
)
async def test_any_name_can_be_an_author(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, work_tree: WorkTree, author: GitIdentity, expected: str
) -> None:
    """Characters that would end a name are removed, and missing names replaced. A message keeps everything except terminal commands."""
    change = BranchChange(
        "main",
        "",
        work_tree.commit({"a.json": "{}"}),
        [CommitDraft([Edit("b.json", b"", None)], author, "übung\x1b\n\nauthor\tz\0 <z>\x9b\n")],
    )
    await commits.commit(mirrors, "uid", open_remote("r.git"), change)
    assert git_at_host(server, "log", "-1", "--format=%an <%ae>%n%B", "main") == f"{expected}\nübung\n\nauthor\tz <z>"
    git_at_host(server, "fsck", "--strict", "--no-dangling")


async def test_other_files_do_not_change(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """A changed executable keeps its mode. Other executables, links, submodules and names that are not UTF-8 do not change."""
    (work_tree.folder / "run.sh").write_text("x")
    (work_tree.folder / "run.sh").chmod(0o755)
    (work_tree.folder / "other.sh").write_text("x")
    (work_tree.folder / "other.sh").chmod(0o755)
    (work_tree.folder / "link").symlink_to("run.sh")
    (work_tree.folder / b"\xff.txt".decode(errors="surrogateescape")).write_text("odd")
    git(work_tree.folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    work_tree.commit({"a.json": "{}"})
    git(work_tree.folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    git(work_tree.folder, "commit", "--quiet", "-m", "module")
    git(work_tree.folder, "push", "--quiet", "origin", "HEAD:main")
    base = git(work_tree.folder, "rev-parse", "HEAD")
    await write(base, {"run.sh": b"y"})
    before, after = (git_at_host(server, "ls-tree", "-r", name).splitlines() for name in (base, "main"))
    assert [line for line in after if line not in before] == [f"100755 blob {git_at_host(server, 'rev-parse', 'main:run.sh')}\trun.sh"]
    assert len(before) == len(after) == 6


@pytest.mark.parametrize("name", ["ü/ß.json", "日本.yaml", "a b.json", ".keep", "-rf.json", "con'\"$(id).json", "e\u0301.json"])
async def test_names_are_not_changed(server: GitServer, work_tree: WorkTree, write: Write, name: str) -> None:
    base = work_tree.commit({"a.json": "{}"})
    created = await write(base, {name: b"body"})
    assert git_at_host(server, "show", f"main:{name}") == "body"
    assert GitCheckout(created).open_reader()(name).body == b"body"


async def test_a_thousand_files_are_one_commit(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """A thousand files need no more requests than one file."""
    base = work_tree.commit({"a.json": "{}"})
    await write(base, {"b.json": b"{}"})
    server.requests.clear()
    created = await write(
        git_at_host(server, "rev-parse", "main"), {f"d{index % 10}/{index}.json": b"%d" % index * 100 for index in range(1000)}
    )
    assert len(server.requests) == 2
    assert git_at_host(server, "rev-list", "--count", "main") == "3"
    # 1,000 new files, ten new directories, and the two files before.
    assert len(await GitCheckout(created).entries()) == 1012


async def test_empty_directories_are_removed(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """Directories are removed with their last file. A commit without files has an empty tree."""
    base = work_tree.commit({"a.json": "{}", "x/y/z/b.json": "{}", "x/c.json": "{}"})
    second = await write(base, {"x/y/z/b.json": None})
    assert {entry.path for entry in await GitCheckout(second).entries()} == {"a.json", "x/", "x/c.json"}
    last = await write(second.sha, {"a.json": None, "x/c.json": None})
    assert await GitCheckout(last).entries() == []
    assert git_at_host(server, "ls-tree", "main") == ""


async def test_a_change_in_a_directory_keeps_the_rest(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """Paths are relative to the directory, also in errors; files outside are kept, even those with equal names."""
    (work_tree.folder / "run.sh").write_text("x")
    (work_tree.folder / "run.sh").chmod(0o755)
    (work_tree.folder / "link").symlink_to("run.sh")
    base = work_tree.commit({"a.json": "1", "x/a.json": "2", "x/y/a.json": "3", "x/y/b.json": "4"})
    created = await write(base, {"a.json": b"33", "b.json": None, "new/c.json": b"5"}, directory="x/y")
    before, after = (set(git_at_host(server, "ls-tree", "-r", name).splitlines()) for name in (base, "main"))
    assert {line.partition("\t")[2] for line in before ^ after} == {"x/y/a.json", "x/y/b.json", "x/y/new/c.json"}
    assert git_at_host(server, "show", "main:x/y/a.json") == "33"
    with pytest.raises(NotFound, match=r"file not found: none\.json"):
        await write(created.sha, {"none.json": None}, directory="x/y")
    with pytest.raises(BadRequest, match=r"^a\.json is a file"):
        await write(created.sha, {"a.json/b.json": b""}, directory="x/y")
    with pytest.raises(BadRequest, match=r"^the path .* of the repository contains"):
        await write(created.sha, {"b.json": b""}, directory="run.sh/y")
    assert git_at_host(server, "rev-parse", "main") == created.sha
    git_at_host(server, "fsck", "--strict", "--no-dangling")


async def test_an_empty_directory_is_kept_for_the_next_sync(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """If a change deletes the last file of the directory, it adds a ``.keep``, so that the next sync finds the directory."""
    base = work_tree.commit({"a.json": "1"})
    assert (await write(base, {}, directory="x/y")).sha == base  # a change without an effect makes no commit
    first = await write(base, {"b.json": b"2"}, directory="x/y")
    assert git_at_host(server, "ls-tree", "-r", "--name-only", "main").split() == ["a.json", "x/y/b.json"]
    await write(first.sha, {"b.json": None}, directory="x/y")
    assert git_at_host(server, "ls-tree", "-r", "--name-only", "main").split() == ["a.json", "x/y/.keep"]


async def test_the_first_commit_of_all_may_be_in_a_directory(server: GitServer, write: Write, work_tree: WorkTree) -> None:
    await write("", {"b.json": b"2"}, directory="x/y")
    assert git_at_host(server, "ls-tree", "-r", "--name-only", "main") == "x/y/b.json"


async def test_a_file_and_a_directory_may_replace_each_other(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    base = work_tree.commit({"a": "file", "b/x.json": "{}"})
    await write(base, {"a": None, "a/new.json": b"{}", "b/x.json": None, "b": b"file"})
    assert git_at_host(server, "ls-tree", "-r", "--name-only", "main").split() == ["a/new.json", "b"]


@pytest.mark.parametrize(
    ("files", "error", "message"),
    [
        ({"gone.json": None}, NotFound, "gone.json"),
        ({"d": None}, NotFound, "file not found: d"),
        ({"a.json/b.json": b""}, BadRequest, "a.json is a file"),
        ({"d": b""}, BadRequest, "is a directory"),
        ({"link": b""}, BadRequest, "is a link"),
        ({"link/x.json": b""}, BadRequest, "is a file"),
    ],
    ids=["delete missing file", "delete directory", "write below file", "write directory", "write link", "write below link"],
)
async def test_an_invalid_edit_changes_nothing(
    server: GitServer, work_tree: WorkTree, write: Write, files: Mapping[str, bytes | None], error: type[DashwrightError], message: str
) -> None:
    (work_tree.folder / "link").symlink_to("d")
    base = work_tree.commit({"a.json": "{}", "d/x.json": "{}"})
    with pytest.raises(error, match=message):
        await write(base, {"good.json": b"{}", **files})
    assert git_at_host(server, "rev-parse", "main") == base


async def test_an_unchanged_write_is_not_a_commit(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """A write that changes nothing creates no commit, and returns the base."""
    base = work_tree.commit({"a.json": "{}"})
    assert (await write(base, {"a.json": b"{}"})).sha == base
    assert git_at_host(server, "rev-parse", "main") == base


@pytest.mark.parametrize("repository_branch", ["main", "trunk", ""], ids=["main", "trunk", "default branch"])
async def test_the_first_commit_is_pushed_to_the_own_or_the_default_branch(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, work_tree: WorkTree, write: Write, repository_branch: str
) -> None:
    """The first commit is pushed to the repository's branch, or else to the one that the host's HEAD names."""
    git(server.root / "r.git", "symbolic-ref", "HEAD", "refs/heads/unborn")
    created = await write("", {"a.json": b"{}"}, repository_branch=repository_branch)
    assert git_at_host(server, "rev-parse", repository_branch or "unborn") == created.sha
    assert await mirrors.fetch("uid", open_remote("r.git"), repository_branch) == created
    with pytest.raises(Conflict):
        await write("", {"b.json": b"{}"}, repository_branch=repository_branch)


async def test_a_missing_branch_is_created(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """A new branch starts from the base, the own branch is unchanged, and later changes work like any other."""
    base = work_tree.commit({"a.json": "{}"})
    first = await write(base, {"b.json": b"{}"}, ref="new/branch")
    assert git_at_host(server, "rev-parse", "main", "new/branch").split() == [base, first.sha]
    server.requests.clear()
    second = await write(first.sha, {"c.json": b"{}"}, ref="new/branch")
    assert len(server.requests) <= 4
    assert git_at_host(server, "rev-list", "new/branch").split() == [second.sha, first.sha, base]
    with pytest.raises(Conflict, match="new/branch"):
        await write(base, {"b.json": b"{}"}, ref="new/branch")


async def test_a_branch_below_the_name_of_another_is_refused(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    base = work_tree.commit({"a.json": "{}"})
    with pytest.raises(BadRequest, match="'main/x' cannot be created"):
        await write(base, {"b.json": b"{}"}, ref="main/x")


async def test_the_default_branch_is_found_by_its_name(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    base = work_tree.commit({"a.json": "{}"}, branch="trunk")
    git(server.root / "r.git", "symbolic-ref", "HEAD", "refs/heads/trunk")
    created = await write(base, {"b.json": b"{}"}, repository_branch="")
    assert git_at_host(server, "rev-parse", "trunk") == created.sha


@pytest.mark.parametrize("name", ["-x", f"{'a' * 130}/{'b' * 130}"], ids=["like an option", "too long"])
@pytest.mark.parametrize("is_empty", [True, False], ids=["empty", "full"])
async def test_a_default_branch_with_an_invalid_name_is_refused(
    server: GitServer, work_tree: WorkTree, write: Write, name: str, is_empty: bool
) -> None:
    """A repository with an invalid default branch receives no commit in any branch, before or after its first one."""
    git(server.root / "r.git", "symbolic-ref", "HEAD", f"refs/heads/{name}")
    base = "" if is_empty else work_tree.commit({"a.json": "{}"}, branch=name)
    branches = git_at_host(server, "for-each-ref")
    with pytest.raises(BadRequest, match="name another one as the branch"):
        await write(base, {"b.json": b"{}"}, repository_branch="")
    assert git_at_host(server, "for-each-ref") == branches


async def test_a_directory_too_large_to_be_loaded_is_not_changed(
    server: GitServer, work_tree: WorkTree, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = work_tree.commit({f"many/{index:060}.json": "{}" for index in range(20)})
    monkeypatch.setattr(objects, "MAX_OBJECT_BYTES", 1000)
    with pytest.raises(TooLarge, match="a directory of"):
        await write(base, {"many/one.json": b"{}"})
    assert git_at_host(server, "rev-parse", "main") == base


async def test_the_default_branch_is_recognized_by_its_name(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """A change that names the default branch is refused, if that is the repository's own branch, so that it cannot bypass rights."""
    base = work_tree.commit({"a.json": "{}"})
    with pytest.raises(BadRequest, match="'main' is the repository's own"):
        await write(base, {"b.json": b"{}"}, repository_branch="", ref="main")
    assert git_at_host(server, "rev-parse", "main") == base
    side_commit = await write(base, {"b.json": b"{}"}, repository_branch="", ref="side")
    assert git_at_host(server, "rev-parse", "side") == side_commit.sha


@pytest.mark.parametrize("ref", ["", "side"], ids=["own branch", "other branch"])
async def test_a_moved_branch_is_a_conflict(server: GitServer, work_tree: WorkTree, write: Write, ref: str) -> None:
    """A change of a branch with new commits of other writers is a conflict, whether they came before the change or during the push."""
    base = work_tree.commit({"a.json": "{}"})
    work_tree.commit({"x.json": "{}"}, branch="side")
    git(work_tree.folder, "reset", "--quiet", "--hard", base)
    git(work_tree.folder, "push", "--quiet", "--force", "origin", f"{base}:refs/heads/side")
    # The mirror has the base already.
    await write(base, {"other.json": b"{}"}, ref="third")

    async def push_first(request: web.Request) -> None:
        if request.path.endswith("git-receive-pack"):
            server.fault = None
            work_tree.commit({"theirs.json": "{}"}, branch=ref or "main")

    server.fault = push_first
    # The branch moves during the first push, and has moved before the second change.
    for _ in range(2):
        with pytest.raises(Conflict, match=ref or "main"):
            await write(base, {"b.json": b"{}"}, ref=ref)
    assert "theirs.json" in git_at_host(server, "ls-tree", "--name-only", ref or "main")


async def test_one_of_several_concurrent_changes_succeeds(
    server: GitServer, mirrors: Mirrors, tmp_path: Path, open_remote: OpenRemote, work_tree: WorkTree
) -> None:
    """Only one of several concurrent changes succeeds, even if the workers share no folder."""
    base = work_tree.commit({"a.json": "{}"})
    change = BranchChange("main", "", base, [CommitDraft([Edit("b.json", b"1", None)], EVE, "m")])
    other_mirrors = Mirrors(tmp_path / "other", max_bytes=1 << 26)
    results = await asyncio.gather(
        *(commits.commit(worker_mirrors, "uid", open_remote("r.git"), change) for worker_mirrors in (mirrors, mirrors, other_mirrors)),
        return_exceptions=True,
    )
    # Equal changes in the same second are the same commit: then more than one change succeeds.
    created = {commit.sha for commit in results if isinstance(commit, Commit)}
    assert created == {git_at_host(server, "rev-parse", "main")}
    assert all(isinstance(result, Commit | Conflict) for result in results)


async def test_a_base_is_fetched_from_the_own_branch(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """A base that the mirror lacks is fetched from the repository's branch, which need not be the host's default branch."""
    base = work_tree.commit({"a.json": "{}"})
    (server.root / "r.git" / "HEAD").write_text("ref: refs/heads/none\n")
    await write(base, {"b.json": b"{}"})
    assert git_at_host(server, "rev-parse", "main^") == base


async def test_the_message_of_a_hook_is_returned(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, work_tree: WorkTree, write: Write
) -> None:
    """If a hook refuses a push, the error has the hook's first lines without secrets. The mirror keeps nothing of the change."""
    base = work_tree.commit({"a.json": "{}"})
    mirror_commit = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert mirror_commit is not None
    before = sorted(path for path in mirror_commit.mirror_path.rglob("*") if path.is_file())
    hook = server.root / "r.git" / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\necho 'no {TOKEN} \033[31mon fridays'\nyes long | head -n 20000\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(BadRequest, match=r"refuses the change: no \*\*\* .*on fridays; long") as refused:
        await write(base, {"b.json": b"{}"}, token=TOKEN)
    assert len(refused.value.message) < 600
    assert refused.value.message.isprintable()
    assert sorted(path for path in mirror_commit.mirror_path.rglob("*") if path.is_file()) == before
    assert await mirrors.fetch("uid", open_remote("r.git"), "main") == mirror_commit


async def test_a_read_only_token_is_refused(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    base = work_tree.commit({"a.json": "{}"})
    git(server.root / "r.git", "config", "http.receivepack", "false")
    with pytest.raises(Forbidden, match="403"):
        await write(base, {"b.json": b"{}"})


@pytest.mark.parametrize("has_later_commit", [False, True], ids=["newest commit", "below a later commit"])
async def test_a_push_without_a_response_is_checked(server: GitServer, work_tree: WorkTree, write: Write, has_later_commit: bool) -> None:
    """A push without a response succeeded if its commit exists at the host, even below later ones; otherwise the error is raised."""
    base = work_tree.commit({"a.json": "{}"})

    async def push_without_response(request: web.Request) -> web.StreamResponse | None:
        if not request.path.endswith("git-receive-pack"):
            return None
        server.fault = None
        await server.run_backend(request)
        if has_later_commit:
            git(work_tree.folder, "pull", "--quiet", "origin", "main")
            work_tree.commit({"theirs.json": "{}"})
        return web.Response(status=502)

    server.fault = push_without_response
    created = await write(base, {"b.json": b"{}"})
    assert git_at_host(server, "rev-parse", "main~1" if has_later_commit else "main") == created.sha
    assert GitCheckout(created).open_reader()("b.json").body == b"{}"


async def test_a_push_that_does_not_arrive_is_an_error(server: GitServer, work_tree: WorkTree, write: Write) -> None:
    """A push that does not arrive is an error, and the next push succeeds."""
    base = work_tree.commit({"a.json": "{}"})

    async def fail(request: web.Request) -> web.StreamResponse | None:
        return web.Response(status=500) if request.path.endswith("git-receive-pack") else None

    server.fault = fail
    with pytest.raises(SourceFailed, match="500"):
        await write(base, {"b.json": b"{}"})
    server.fault = None
    await write(base, {"b.json": b"{}"})


async def test_several_drafts_are_pushed_together(
    server: GitServer, work_tree: WorkTree, mirrors: Mirrors, open_remote: OpenRemote
) -> None:
    """Several drafts are pushed together. Each has its author, time and message, and a draft without effect makes no commit."""
    base = work_tree.commit({"a.json": "1"})
    drafts = [
        CommitDraft(iter([Edit("b.json", b"1", None), Edit("in/c.json", b"1", None)]), EVE, "first", datetime(2020, 1, 2, tzinfo=UTC)),
        CommitDraft([Edit("b.json", b"1", None)], EVE, "nothing"),
        CommitDraft([Edit("in/c.json", b"2", None)], GitIdentity("Ann", "ann@example.org"), "second", datetime(2021, 1, 2, tzinfo=UTC)),
    ]
    server.requests.clear()
    created = await commits.commit(mirrors, "uid", open_remote("r.git", seconds=20), BranchChange("main", "side", base, drafts))
    assert sum(request.endswith("git-receive-pack") and "?" not in request for request in server.requests) == 1
    result = git_at_host(server, "log", "--format=%an|%as|%s", "-2", "side").splitlines()
    assert result == ["Ann|2021-01-02|second", "Eve Example|2020-01-02|first"]
    assert git_at_host(server, "rev-parse", "side", "side~2") == f"{created.sha}\n{base}"
    assert git_at_host(server, "show", "side:in/c.json") == "2"
