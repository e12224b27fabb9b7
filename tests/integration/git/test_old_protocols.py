"""Hosts that speak only the versions 0 and 1 of git's protocol, without the capabilities that version 2 always has."""

from datetime import UTC, datetime

import pytest
from aiohttp import web
from tests.integration.git.conftest import OpenRemote
from tests.servers.git import Fault, GitServer, git

from dashwright.common.errors import BadRequest, NotFound
from dashwright.jobs_worker.adapters.git.commits import BranchChange, commit
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors
from dashwright.jobs_worker.domain.objects import CommitDraft, Edit, GitIdentity

EVE = GitIdentity("Eve", "eve@example.org")


@pytest.fixture(params=[0, 1, 2], ids=["v0", "v1", "v2"])
def version(request: pytest.FixtureRequest, server: GitServer) -> int:
    """Limit the version of git's protocol that the server speaks, and return that version."""
    version: int = request.param
    server.newest_protocol = version
    return version


def remove_capability(capability: str, server: GitServer) -> Fault:
    """Return a fault that removes a capability from the server's list of references."""

    async def handle(request: web.Request) -> web.StreamResponse | None:
        if not request.path.endswith("/info/refs"):
            return None
        response = await server.run_backend(request)
        body = bytes(response.body) if isinstance(response, web.Response) and isinstance(response.body, bytes) else b""
        lines, remaining = [], body
        while remaining:
            length = int(remaining[:4], 16) or 4
            lines.append(_remove_from_line(remaining[4:length], capability.encode()) if int(remaining[:4], 16) else b"0000")
            remaining = remaining[length:]
        return web.Response(body=b"".join(lines), headers={"Content-Type": response.headers["Content-Type"]})

    return handle


def _remove_from_line(line: bytes, capability: bytes) -> bytes:
    """Return a line of the list as a packet, without the capabilities that begin with ``capability``."""
    reference, nul, capabilities = line.partition(b"\0")
    remaining = b" ".join(word for word in capabilities.rstrip(b"\n").split(b" ") if not word.startswith(capability))
    text = reference + nul + remaining + b"\n" if nul else line
    return f"{len(text) + 4:04x}".encode() + text


async def test_a_repository_is_read_and_written(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, version: int) -> None:
    """Fetches, pushes and lists work in every version."""
    work_tree = server.create_repository("r.git")
    work_tree.commit({"a.json": "1"})
    second = work_tree.commit({"a.json": "2"})
    remote = open_remote("r.git")
    for branch in ("", "main"):
        fetched = await mirrors.fetch("uid", remote, branch)
        assert fetched is not None
        assert fetched.sha == second
    pushed = await commit(
        mirrors, "uid", remote, BranchChange("", "", second, [CommitDraft([Edit("b.json", b"3", None)], EVE, "third", None)])
    )
    assert await remote.branches(mirrors.ensure_root()) == {"main": pushed.sha}
    with pytest.raises(NotFound, match=r"branch not found: 'none'; there is 'main'"):
        await mirrors.fetch("uid", remote, "none")
    assert await mirrors.fetch("uid", remote, "main") == pushed


async def test_an_earlier_commit_is_fetched_again(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, version: int) -> None:
    """A rollback with a new mirror finds its commit in the histories of the branches, even if the host sends no single commits."""
    work_tree = server.create_repository("r.git")
    first = work_tree.commit({"a.json": "1"})
    work_tree.commit({"a.json": "2"})
    side_commit = work_tree.commit({"a.json": "3"}, branch="side/x")
    for sha in (first, side_commit):
        fetched = await mirrors.fetch_synced(f"uid {sha}", open_remote("r.git"), sha)
        assert fetched.sha == sha
        references = git(fetched.mirror_path, "for-each-ref", "--format=%(refname)").splitlines()
        assert references == [f"refs/dashwright/synced/{sha}"]
        assert await fetched.descends_from(first)


async def test_a_commit_without_a_branch_is_not_found(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, version: int) -> None:
    """If the host has rewritten its branch and deleted the old commit, the error names the commit."""
    work_tree = server.create_repository("r.git")
    lost_commit = work_tree.commit({"a.json": "1"})
    (work_tree.folder / "a.json").write_text("2")
    work_tree.push(amend=True)
    git(server.root / "r.git", "reflog", "expire", "--expire=all", "--all")
    git(server.root / "r.git", "gc", "--quiet", "--prune=now")
    with pytest.raises(NotFound, match=f"commit {lost_commit} was synced before"):
        await mirrors.fetch_synced("uid", open_remote("r.git"), lost_commit)


@pytest.mark.parametrize("branch", ["", "main"])
async def test_older_protocols_need_the_branch_of_the_first_commit(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, version: int, branch: str
) -> None:
    """With version 2, the host reveals the branch of an empty repository; with older versions, the spec must name it."""
    server.create_repository("r.git")
    git(server.root / "r.git", "symbolic-ref", "HEAD", "refs/heads/main")
    remote = open_remote("r.git")
    assert await mirrors.fetch("uid", remote, branch) is None
    change = BranchChange(branch, "", "", [CommitDraft([Edit("a.json", b"1", None)], EVE, "first", datetime.now(UTC))])
    if version < 2 and not branch:
        with pytest.raises(BadRequest, match=r"does not reveal .* name the branch in the spec of the repository"):
            await commit(mirrors, "uid", remote, change)
        return
    pushed = await commit(mirrors, "uid", remote, change)
    assert await remote.branches(mirrors.ensure_root()) == {"main": pushed.sha}


async def test_the_default_branch_is_found_by_its_commit(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """If the host sends the commit of HEAD but not its branch, the only branch with this commit is used."""
    server.newest_protocol = 0
    server.fault = remove_capability("symref=", server)
    work_tree = server.create_repository("r.git")
    first = work_tree.commit({"a.json": "1"})
    remote = open_remote("r.git")
    assert await remote.default_branch(mirrors.ensure_root()) == "main"
    fetched = await mirrors.fetch("uid", remote, "")
    assert fetched is not None
    assert fetched.sha == first
    git(server.root / "r.git", "branch", "copy", "main")
    with pytest.raises(BadRequest, match=r"does not reveal .*'copy', 'main'.* name the branch in the spec of the repository"):
        await remote.default_branch(mirrors.ensure_root())


async def test_a_server_without_newer_capabilities_is_read(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """A server that lacks one of the capabilities that newer versions of git added is read."""
    server.newest_protocol = 0
    for capability in ("ofs-delta", "side-band", "thin-pack", "no-done", "shallow", "deepen"):
        server.fault = remove_capability(capability, server)
        name = f"{capability}.git"
        work_tree = server.create_repository(name)
        work_tree.commit({"a.json": "1"})
        second = work_tree.commit({"a.json": "2"})
        fetched = await mirrors.fetch(capability, open_remote(name), "")
        assert fetched is not None
        assert fetched.sha == second
        third = work_tree.commit({"a.json": "3"})
        refetched = await mirrors.fetch(capability, open_remote(name), "")
        assert refetched is not None
        assert refetched.sha == third
