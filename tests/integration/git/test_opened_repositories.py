"""Repositories as the worker opens and changes them: by their type, at any ref, with its settings."""

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.servers import certificates, git
from tests.servers.certificates import ServerCertificate
from tests.servers.git import GitServer

from dashwright.common.errors import BadRequest, Conflict, Forbidden, NotFound, SourceFailed, TooLarge
from dashwright.common.kinds.repository import token_owner
from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import load
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.domain.hosting import PullRequest
from dashwright.jobs_worker.domain.objects import Edit, GitIdentity, Repository
from dashwright.jobs_worker.ports import Checkouts

EVE = GitIdentity("Eve", "eve@example.org")
CIPHER = SecretCipher.from_keys("of tests only")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ServerCertificate:
    """Issue the certificate of the server."""
    return certificates.issue_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
async def tls_server(tmp_path: Path, certificate: ServerCertificate) -> AsyncIterator[GitServer]:
    """Yield a git server over HTTPS, whose certificate only its own authority trusts."""
    root = tmp_path / "encrypted"
    root.mkdir()
    async with git.serving(root, key_and_certificate=certificate.key_and_certificate) as server:
        yield server


def open_checkouts(folder: Path, **settings: Any) -> Checkouts:
    """Return the checkouts of a worker with its mirrors in a folder."""
    return RepositoryCheckouts(load(data_dir=folder, secret_key="of tests only", allowed_hosts="127.0.0.0/8", **settings), CIPHER)


def hosted_repository(server: GitServer, branch: str = "main", token: str = "") -> Repository:
    """Return the repository ``r.git`` of the server."""
    sealed = base64.b64encode(CIPHER.encrypt(token, token_owner("default", "team"))).decode() if token else None
    block = {"url": server.url("r.git"), "branch": branch, "encryptedToken": sealed}
    return Repository("default", "team", "uid", 1, _spec("githost", block))


def local_repository(path: str = "team") -> Repository:
    """Return the repository in a local directory."""
    return Repository("default", "team", "uid", 1, _spec("local", {"path": path}))


def _spec(type_: str, block: dict[str, Any]) -> RepositorySpec:
    """Return the spec of a repository, with the block of its type."""
    sync = {"enabled": True, "target": "folder"}
    return RepositorySpec.model_validate({"title": "T", "type": type_, "workflows": [], "sync": sync, type_: block})


async def test_a_repository_is_read_at_any_ref(server: GitServer, tmp_path: Path) -> None:
    """A ref may be the own branch, another branch or an earlier commit. Any other ref is an error."""
    work_tree = server.create_repository("r.git")
    first = work_tree.commit({"a.json": "1"})
    second = work_tree.commit({"a.json": "2"})
    side_commit = work_tree.commit({"a.json": "3"}, branch="side")
    checkouts = open_checkouts(tmp_path)
    for ref, commit, body in (("", second, b"2"), ("side", side_commit, b"3"), (first, first, b"1"), ("main", second, b"2")):
        checkout = await checkouts.at(hosted_repository(server), ref)
        assert checkout is not None
        assert (checkout.commit, checkout.open_reader()("a.json").body) == (commit, body)
    for ref in ("none", "0" * 40):
        with pytest.raises(NotFound):
            await checkouts.at(hosted_repository(server), ref)
    with pytest.raises(BadRequest, match="neither a branch name nor a commit"):
        await checkouts.at(hosted_repository(server), "-x")


async def test_a_commit_of_the_mirror_is_read_without_the_host(server: GitServer, tmp_path: Path) -> None:
    """Heads of fetched branches, and ancestors of the own branch, are read without requests: a page has many pictures of one commit.

    An older commit of another branch is unknown.
    """
    work_tree = server.create_repository("r.git")
    first = work_tree.commit({"a.json": "1"})
    second = work_tree.commit({"a.json": "2"})
    older_side_commit = work_tree.commit({"a.json": "3"}, branch="side")
    side_commit = work_tree.commit({"a.json": "4"}, branch="side")
    checkouts = open_checkouts(tmp_path)
    assert await checkouts.at(hosted_repository(server), "") is not None
    assert await checkouts.at(hosted_repository(server), "side") is not None
    server.requests.clear()
    for commit, body in ((second, b"2"), (first, b"1"), (side_commit, b"4")):
        checkout = await checkouts.at(hosted_repository(server), commit)
        assert checkout is not None
        assert (checkout.commit, checkout.open_reader()("a.json").body) == (commit, body)
    assert server.requests == []
    with pytest.raises(NotFound):
        await checkouts.at(hosted_repository(server), older_side_commit)


async def test_a_commit_of_a_damaged_mirror_is_fetched_again(server: GitServer, tmp_path: Path) -> None:
    """A request for a commit repairs a damaged mirror, like a request for a branch."""
    commit = server.create_repository("r.git").commit({"a.json": "1"})
    checkouts = open_checkouts(tmp_path)
    assert await checkouts.at(hosted_repository(server), "") is not None
    for object_path in (tmp_path / "git").glob("*/objects/*/*"):
        object_path.unlink()
    checkout = await checkouts.at(hosted_repository(server), commit)
    assert checkout is not None
    assert checkout.open_reader()("a.json").body == b"1"


@pytest.mark.parametrize("refusal", [0, 401, 403, 404], ids=["not refused", "401", "403", "404"])
async def test_commits_that_are_only_in_a_fork_are_read_there(server: GitServer, tmp_path: Path, refusal: int) -> None:
    """A fork is read at the same host with the token, or without it if the host refuses the token for the fork."""
    server.create_repository("team/boards").commit({"a.json": "1"})
    head = server.create_repository("stranger/boards").commit({"a.json": "2"}, branch="change")

    async def refuse(request: web.Request) -> web.Response | None:
        is_refused = refusal and "stranger" in request.path and "Authorization" in request.headers
        return web.Response(status=refusal, headers={"WWW-Authenticate": "Basic"} if refusal == 401 else {}) if is_refused else None

    server.fault = refuse
    token = base64.b64encode(CIPHER.encrypt("of the repository only", token_owner("default", "team"))).decode()
    block = {"url": server.url("team/boards"), "branch": "main", "encryptedToken": token}
    repository = Repository("default", "team", "uid", 1, _spec("githost", block))
    checkouts = RepositoryCheckouts(load(data_dir=tmp_path, secret_key="of tests only", allowed_hosts="127.0.0.0/8"), CIPHER)
    request = PullRequest(
        7,
        "T",
        "",
        is_open=True,
        is_merged=False,
        base="main",
        head="change",
        head_commit=head[:12],
        is_from_fork=True,
        changed_file_count=1,
        reference="refs/heads/change",
        fork_path="stranger/boards",
    )
    checkout = await checkouts.at_pull_request(repository, request)
    assert (checkout.commit, checkout.open_reader()("a.json").body) == (head, b"2")
    with pytest.raises(NotFound):
        await checkouts.at_pull_request(repository, replace(request, fork_path="missing/boards"))


async def test_a_change_is_read_immediately(server: GitServer, tmp_path: Path) -> None:
    """A change is visible immediately, also to other workers that share the folder."""
    server.create_repository("r.git")
    checkouts = open_checkouts(tmp_path)
    assert await checkouts.at(hosted_repository(server), "") is None
    first = await checkouts.commit(hosted_repository(server), "", "", [Edit("a.json", b"1", None)], EVE, "first")
    second = await checkouts.commit(hosted_repository(server), first.commit, "", [Edit("b.json", b"2", None)], EVE, "second")
    assert second.open_reader()("a.json").body == b"1"
    server.requests.clear()
    assert await second.difference_since(first.commit) is not None
    assert server.requests == []
    repeated = await open_checkouts(tmp_path).at(hosted_repository(server), "")
    assert repeated is not None
    assert repeated.commit == second.commit
    with pytest.raises(Conflict):
        await checkouts.commit(hosted_repository(server), first.commit, "", [Edit("c.json", b"", None)], EVE, "late")
    with pytest.raises(BadRequest):
        await checkouts.commit(hosted_repository(server), second.commit, "a..b", [Edit("c.json", b"", None)], EVE, "odd")


async def test_a_local_folder_is_changed_in_place(tmp_path: Path) -> None:
    """A local folder is changed in place. It has no branches, and must be permitted."""
    (tmp_path / "permitted" / "team").mkdir(parents=True)
    checkouts = open_checkouts(tmp_path / "data", permitted_paths=(tmp_path / "permitted",))
    checkout = await checkouts.commit(local_repository(), "", "", [Edit("d/a.json", b"1", None)], EVE, "")
    assert checkout.commit == ""
    assert checkout.open_reader()("d/a.json").body == b"1"
    assert await checkouts.at(local_repository(), "") is not None
    with pytest.raises(BadRequest, match="no branches"):
        await checkouts.at(local_repository(), "main")
    with pytest.raises(BadRequest, match="no branches"):
        await checkouts.commit(local_repository(), "", "main", [Edit("b.json", b"1", None)], EVE, "")
    with pytest.raises(Forbidden):
        await checkouts.commit(local_repository("../team"), "", "", [Edit("b.json", b"1", None)], EVE, "")


@pytest.mark.parametrize("is_local", [True, False], ids=["local", "hosted"])
async def test_a_change_is_limited(server: GitServer, tmp_path: Path, is_local: bool) -> None:
    """The number of changed files, the size of each, and their total size are limited."""
    (tmp_path / "permitted" / "team").mkdir(parents=True)
    base = server.create_repository("r.git").commit({"a.json": "{}"})
    limits = {"repository_file_bytes": 1000, "repository_bytes": 100_000}
    checkouts = open_checkouts(tmp_path / "data", permitted_paths=(tmp_path / "permitted",), **limits)
    repository = local_repository() if is_local else hosted_repository(server)
    for edits in (
        [Edit(f"{index}.json", b"", None) for index in range(1001)],
        [Edit("b.json", b"x" * 1001, None)],
        [Edit(f"{index}.json", b"x" * 1000, None) for index in range(101)],
    ):
        with pytest.raises(TooLarge):
            await checkouts.commit(repository, base, "", edits, EVE, "m")
    assert list((tmp_path / "permitted" / "team").iterdir()) == []


@pytest.mark.parametrize("is_local", [True, False], ids=["local", "hosted"])
@pytest.mark.parametrize(
    "path",
    [
        *("", "/a.json", "a//b.json", "a/", "../a.json", "a/../b.json", "./a.json", ".git/config", "x/.GIT/hooks/a", ".g\u200cit/config"),
        *(
            "GIT~1/config",
            ".git /config",
            "a\0.json",
            "a\n.json",
            "a\\b.json",
            ".git::$INDEX_ALLOCATION/config",
            "x" * 256,
            "a/" * 600 + "b",
        ),
    ],
)
async def test_a_change_cannot_leave_the_repository(server: GitServer, tmp_path: Path, is_local: bool, path: str) -> None:
    """Paths out of the repository, or into git's own files on any system that checks it out, are refused."""
    (tmp_path / "permitted" / "team").mkdir(parents=True)
    checkouts = open_checkouts(tmp_path / "data", permitted_paths=(tmp_path / "permitted",))
    with pytest.raises(BadRequest, match="cannot write a file at"):
        await checkouts.commit(local_repository() if is_local else hosted_repository(server), "", "", [Edit(path, b"x", None)], EVE, "m")


async def test_a_host_of_a_private_authority_is_trusted(
    tls_server: GitServer, certificate: ServerCertificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host is trusted if GIT_AUTHORITIES, which may be a relative path, has its authority.

    Otherwise the error names the setting, and no token is sent.
    """
    base = tls_server.create_repository("r.git").commit({"a.json": "{}"})
    tls_server.token = "s3cret"
    monkeypatch.chdir(certificate.authority.parent)
    trusting_checkouts = open_checkouts(tmp_path / "data", git_authorities=Path(certificate.authority.name))
    created = await trusting_checkouts.commit(
        hosted_repository(tls_server, token="s3cret"), base, "", [Edit("b.json", b"{}", None)], EVE, "m"
    )
    assert git.git(tls_server.root / "r.git", "rev-parse", "main") == created.commit
    tls_server.requests.clear()
    (tmp_path / "empty.pem").write_text("")
    for authorities in (None, tmp_path / "none.pem", tmp_path / "empty.pem"):
        with pytest.raises(SourceFailed, match="DASHWRIGHT_GIT_AUTHORITIES"):
            await open_checkouts(tmp_path / "other", git_authorities=authorities).at(hosted_repository(tls_server, token="s3cret"), "")
    assert tls_server.requests == []
