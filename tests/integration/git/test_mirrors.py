"""Mirrors of repositories over HTTP from git's own back end: the fetched commits, the number of requests, and every error message."""

import asyncio
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from tests.integration.git.conftest import OpenRemote
from tests.servers.git import GitServer, git

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, NotFound, SourceFailed, TooLarge, TooManyRequests
from dashwright.common.host_resolver import HostResolver
from dashwright.jobs_worker.adapters.git import command
from dashwright.jobs_worker.adapters.git import mirrors as mirrors_module
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.damage import HostFailed
from dashwright.jobs_worker.adapters.git.failures import error_for
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors
from dashwright.jobs_worker.adapters.git.remote import Remote
from dashwright.jobs_worker.ports import MirrorDamaged

TOKEN = "s3cret-token"


async def test_the_newest_commit_of_a_branch_is_fetched(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """The first fetch gets everything, the second only new commits, and the third nothing, with at most four requests each."""
    work_tree = server.create_repository("team.git")
    for name in ("a.json", "b.json"):
        expected = work_tree.commit({name: "{}"})
        server.requests.clear()
        commit = await mirrors.fetch("uid", open_remote("team.git"), "main")
        assert commit is not None
        assert commit.sha == expected
        assert len(server.requests) <= 4
    server.requests.clear()
    assert (await mirrors.fetch("uid", open_remote("team.git"), "main")) == commit
    assert len(server.requests) <= 2


async def test_the_default_branch_is_that_of_the_host(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """The default branch is the one that the host's HEAD names, also after a change."""
    work_tree = server.create_repository("r.git")
    work_tree.commit({"a.json": "{}"})
    other = work_tree.commit({"b.json": "{}"}, branch="trunk")
    git(server.root / "r.git", "symbolic-ref", "HEAD", "refs/heads/trunk")
    commit = await mirrors.fetch("uid", open_remote("r.git"), "")
    assert commit is not None
    assert commit.sha == other
    assert await open_remote("r.git").default_branch(commit.mirror_path) == "trunk"
    assert await open_remote("r.git").head("main", commit.mirror_path) != other


async def test_an_empty_repository_has_no_commit(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """An empty repository is not an error, whichever branch is requested."""
    server.create_repository("empty.git")
    assert await mirrors.fetch("uid", open_remote("empty.git"), "main") is None
    assert await mirrors.fetch("uid", open_remote("empty.git"), "") is None


async def test_a_deleted_branch_is_reported(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    server.create_repository("r.git").commit({"a.json": "{}"})
    with pytest.raises(NotFound, match="branch not found: 'gone'"):
        await mirrors.fetch("uid", open_remote("r.git"), "gone")


async def test_rewritten_history_is_followed(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """After a forced push, the mirror has the host's new commit, and the former one is no longer an ancestor."""
    work_tree = server.create_repository("r.git")
    work_tree.commit({"a.json": "1"})
    old = work_tree.commit({"a.json": "2"})
    await mirrors.fetch("uid", open_remote("r.git"), "main")
    (work_tree.folder / "a.json").write_text("3")
    new = work_tree.push("other", amend=True)
    commit = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert commit is not None
    assert commit.sha == new != old
    assert await GitCheckout(commit).difference_since(old) is None


async def test_the_token_is_sent_and_never_stored(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """The token authenticates a fetch. Neither the mirror nor an error contains it."""
    server.create_repository("r.git").commit({"a.json": "{}"})
    server.token = TOKEN
    commit = await mirrors.fetch("uid", open_remote("r.git", TOKEN), "main")
    assert commit is not None
    for path in commit.mirror_path.rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path
    for token in ("", "other-t0ken"):
        with pytest.raises(Forbidden) as refused:
            await mirrors.fetch("uid", open_remote("r.git", token), "main")
        assert "t0ken" not in refused.value.message


@pytest.mark.parametrize("damage", ["missing head", "damaged pack", "no objects", "invalid head"])
async def test_a_damaged_mirror_is_recreated(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, damage: str) -> None:
    """If files of a mirror are missing or damaged, the next fetch still returns the newest commit with all files."""
    work_tree = server.create_repository("r.git")
    # Git stores a pack unchanged only if it has at least a hundred objects.
    work_tree.commit({f"{index}.json": str(index) * 100 for index in range(120)})
    commit = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert commit is not None
    match damage:
        case "missing head":
            (commit.mirror_path / "HEAD").unlink()
        case "damaged pack":
            (pack,) = (commit.mirror_path / "objects" / "pack").glob("*.pack")
            pack.chmod(0o600)
            pack.write_bytes(b"PACK nothing")
        case "no objects":
            shutil.rmtree(commit.mirror_path / "objects")
        case "invalid head":
            (commit.mirror_path / "HEAD").write_text("no reference")
    newer = work_tree.commit({"new.json": "{}"})
    repeated = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert repeated is not None
    assert repeated.sha == newer
    assert len(await GitCheckout(repeated).entries()) == 121


async def test_concurrent_fetches_wait_for_each_other(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """Concurrent fetches of a new mirror all return the commit."""
    sha = server.create_repository("r.git").commit({"a.json": "{}"})
    commits = await asyncio.gather(*(mirrors.fetch("uid", open_remote("r.git"), "main") for _ in range(4)))
    assert {commit.sha for commit in commits if commit is not None} == {sha}


async def test_a_too_large_repository_is_refused(server: GitServer, tmp_path: Path, open_remote: OpenRemote) -> None:
    """A repository with more bytes than the limit is refused, and the error names the setting."""
    server.create_repository("r.git").commit({"big.bin": os.urandom(200_000)})
    small_mirrors = Mirrors(tmp_path / "small", max_bytes=100_000)
    with pytest.raises(TooLarge, match="DASHWRIGHT_REPOSITORY_BYTES"):
        await small_mirrors.fetch("uid", open_remote("r.git"), "main")


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [(403, Forbidden, "403"), (404, NotFound, "no repository"), (500, SourceFailed, "500"), (429, TooManyRequests, "requests a pause")],
)
async def test_a_refusal_of_the_host_is_one_sentence(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, status: int, error: type[DashwrightError], message: str
) -> None:
    server.create_repository("r.git").commit({"a.json": "{}"})

    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status)

    server.fault = refuse
    with pytest.raises(error, match=message):
        await mirrors.fetch("uid", open_remote("r.git"), "main")


async def test_a_redirect_is_not_followed(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """A redirect is an error, because the address of its target was not checked."""
    server.create_repository("r.git").commit({"a.json": "{}"})

    async def redirect(request: web.Request) -> web.StreamResponse:
        return web.Response(status=301, headers={"Location": f"http://localhost:{server.port}{request.path_qs}"})

    server.fault = redirect
    with pytest.raises(DashwrightError):
        await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert len(server.requests) == 1


async def test_a_forbidden_host_is_not_contacted(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    server.create_repository("r.git").commit({"a.json": "{}"})
    with pytest.raises(BadRequest, match="DASHWRIGHT_ALLOWED_HOSTS"):
        await mirrors.fetch("uid", open_remote("r.git", allowed=()), "main")
    assert server.requests == []


async def test_a_silent_host_times_out(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """The fetch from a silent host times out, and no git process remains."""
    server.create_repository("r.git").commit({"a.json": "{}"})
    released = asyncio.Event()

    async def respond_late(_: web.Request) -> web.StreamResponse:
        await released.wait()
        return web.Response()

    server.fault = respond_late
    try:
        with pytest.raises(SourceFailed, match="within 1 s"):
            await mirrors.fetch("uid", open_remote("r.git", seconds=1), "main")
    finally:
        released.set()


async def test_a_broken_connection_is_reported(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """A broken connection is reported, and the next fetch succeeds."""
    sha = server.create_repository("r.git").commit({"a.json": "{}"})

    async def abort_connection(request: web.Request) -> web.StreamResponse | None:
        if not request.path.endswith("upload-pack"):
            return None
        response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-result", "Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"0008NAK\n")
        assert request.transport is not None
        request.transport.abort()
        return response

    server.fault = abort_connection
    with pytest.raises(SourceFailed):
        await mirrors.fetch("uid", open_remote("r.git"), "main")
    server.fault = None
    commit = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert commit is not None
    assert commit.sha == sha


async def test_mirrors_of_deleted_repositories_are_deleted(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """Mirrors of deleted repositories are deleted, and those of other repositories are kept."""
    server.create_repository("r.git").commit({"a.json": "{}"})
    commits = [await mirrors.fetch(uid, open_remote("r.git"), "main") for uid in ("kept", "deleted")]
    assert await mirrors.keep_only(["kept"]) == 1
    assert [commit is not None and commit.mirror_path.exists() for commit in commits] == [True, False]
    assert await mirrors.keep_only(["kept"]) == 0


@pytest.mark.parametrize(
    "host",
    ["10.0.0.1%2elocalhost", "b\u00fccher.example", "-localhost", "fe80::1%25lo"],
    ids=["escaped dot", "not ASCII", "hyphen first", "zone"],
)
async def test_an_ambiguous_host_is_refused(server: GitServer, mirrors: Mirrors, host: str) -> None:
    """A name that two programs may read differently is refused, because another host than the checked one could get the token."""
    resolver = HostResolver(AllowedHosts.parse(["10.0.0.0/8", "127.0.0.0/8"]), "the repository's")
    remote = Remote(f"http://{f'[{host}]' if ':' in host else host}:{server.port}/r.git", TOKEN, resolver)
    with pytest.raises(BadRequest, match="plain letters"):
        await mirrors.fetch("uid", remote, "main")
    assert server.requests == []


async def test_unpacking_is_limited_in_memory(tmp_path: Path) -> None:
    """The git process that unpacks objects has a memory limit."""
    limits = await command.run(["-c", "alias.limit=!ulimit -v", "limit"], directory=tmp_path, settings={}, timeout_seconds=10)
    # ``ulimit`` prints KiB: the limit is 2 GiB.
    assert int(limits) == 2 * 1024 * 1024


async def test_the_output_of_git_is_bounded(tmp_path: Path) -> None:
    """The output of git is limited, because a host may list any number of references."""
    output = await command.run(["-c", "alias.talk=!head -c 9000000 /dev/zero", "talk"], directory=tmp_path, settings={}, timeout_seconds=20)
    assert len(output) == 8 * 1024 * 1024


async def test_processes_that_outlive_git_are_ended(tmp_path: Path) -> None:
    """A cancelled run ends the processes that git has started, even if git itself has ended."""
    os.mkfifo(tmp_path / "signs")
    # The process writes when git, the parent of the shell, has been waited for.
    alias = "!git=$PPID; { while kill -0 $git 2>/dev/null; do sleep 0.01; done; echo alive; exec tail -f /dev/null; } > signs &"
    run = asyncio.create_task(command.run(["-c", f"alias.start={alias}", "start"], directory=tmp_path, settings={}, timeout_seconds=60))
    signs = asyncio.StreamReader()
    pipe = os.fdopen(os.open(tmp_path / "signs", os.O_RDONLY | os.O_NONBLOCK), "rb")
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(signs), pipe)
    async with asyncio.timeout(20):
        assert await signs.readline() == b"alive\n"
        run.cancel()
        assert await signs.read() == b""
    transport.close()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_the_machines_configuration_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither configuration files of users nor environment variables of git have an effect."""
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Test\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    setting_names = await command.run(["config", "--list", "--name-only"], directory=tmp_path, settings={"a.b": "c"}, timeout_seconds=10)
    assert b"user.name" not in setting_names
    assert b"a.b" in setting_names
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("stderr", "error"),
    [
        ("fatal: unable to access 'https://user:pw@h/x/': Could not resolve host: h", HostFailed),
        ("fatal: unable to access 'https://h/': SSL certificate problem: self-signed certificate", SourceFailed),
        ("fatal: Authentication failed for 'https://h/'", Forbidden),
        ("fatal: repository 'https://h/x/' not found", NotFound),
        ("", SourceFailed),
    ],
    ids=["unknown host", "certificate", "token", "missing repository", "no message"],
)
def test_errors_of_git_contain_no_secrets(stderr: str, error: type[DashwrightError]) -> None:
    failure = error_for(stderr)
    assert type(failure) is error
    assert "pw" not in failure.message
    assert failure.message


def test_a_disguised_secret_is_redacted() -> None:
    """Invisible characters are dropped before secrets are searched, because they would hide a secret."""
    assert "s3cret" not in error_for("fatal: remote error: s3\x00cr\x07et", ["s3cret"]).message


async def test_a_branch_may_replace_a_directory_of_branches(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """If a branch replaces a directory of branches, the mirror is kept, so only new objects are fetched."""
    work_tree = server.create_repository("r.git")
    work_tree.commit({"a.json": "1"}, branch="a")
    before = await mirrors.fetch("uid", open_remote("r.git"), "a")
    git(server.root / "r.git", "update-ref", "-d", "refs/heads/a")
    sha = work_tree.commit({"a.json": "2"}, branch="a/b")
    commit = await mirrors.fetch("uid", open_remote("r.git"), "a/b")
    assert commit is not None
    assert before is not None
    assert (commit.sha, await commit.descends_from(before.sha)) == (sha, True)


async def test_ancestors_of_a_commit_are_found(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """The ancestors are the commit itself, its parents and their ancestors, also over merges, and no others."""
    work_tree = server.create_repository("r.git")
    first, second, third = [work_tree.commit({"a.json": text}) for text in "123"]
    git(work_tree.folder, "checkout", "--quiet", "-b", "side", second)
    side_commit = work_tree.commit({"b.json": "side"}, branch="side")
    assert await mirrors.fetch("uid", open_remote("r.git"), "side")
    commit = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert commit is not None
    responses = {sha: await commit.descends_from(sha) for sha in (first, second, third, side_commit, "0" * 40, "main")}
    assert responses == {first: True, second: True, third: True, side_commit: False, "0" * 40: False, "main": False}
    assert not await replace(commit, sha=first).descends_from(third)
    git(work_tree.folder, "checkout", "--quiet", "main")
    git(work_tree.folder, "merge", "--quiet", "--no-edit", "side")
    work_tree.push()
    merged = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert merged is not None
    assert await merged.descends_from(side_commit)
    assert await merged.descends_from(first)


async def test_a_missing_ancestor_damages_the_mirror(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """If an ancestor is missing, the mirror is damaged, and the next fetch recreates it."""
    work_tree = server.create_repository("r.git")
    first, missing_ancestor, *_ = [work_tree.commit({"a.json": text}) for text in "1234"]
    commit = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert commit is not None
    (commit.mirror_path / "objects" / missing_ancestor[:2] / missing_ancestor[2:]).unlink()
    with pytest.raises(MirrorDamaged, match="damaged"):
        await commit.descends_from(first)
    repeated = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert repeated is not None
    assert await repeated.descends_from(first)


async def test_mirrors_are_maintained(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maintenance merges the packs of many fetches, deletes leftovers of a killed program, and keeps all files."""
    monkeypatch.setitem(mirrors_module._GC_SETTINGS, "gc.auto", "1")
    work_tree = server.create_repository("r.git")
    for index in range(3):
        work_tree.commit({f"{index}-{number}.json": f"{index}{number}" for number in range(20)})
        commit = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert commit is not None
    objects = commit.mirror_path / "objects"
    (objects / "pack" / "tmp_pack_x").write_bytes(b"half a pack")
    assert await mirrors.keep_only(["uid"]) == 0
    assert len(list(objects.glob("pack/*.pack"))) == 1
    assert list(objects.glob("??/*")) == []
    # Three commits of 20 files each.
    assert len(await GitCheckout(commit).entries()) == 60
    assert await mirrors.fetch("uid", open_remote("r.git"), "main") == commit
    assert list(objects.glob("pack/tmp_*")) == []
