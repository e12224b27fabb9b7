"""Hosts that stop in the middle of a pack, send packs that unpack to any size, or have any number of branches."""

import hashlib
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from itertools import count as numbers
from pathlib import Path

import pytest
from aiohttp import web
from tests.integration.git.conftest import OpenRemote
from tests.integration.git.test_ssh import ssh_remote
from tests.servers import ssh
from tests.servers.git import Fault, GitServer, git

from dashwright.common.errors import BadRequest, Invalid, NotFound, SourceFailed, TooLarge
from dashwright.jobs_worker.adapters.git import memory
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.command import GitProgram
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors

#: Size of a file above ``core.bigFileThreshold``, from which git copies a file in parts.
LARGE_SIZE = 128 * 1024 * 1024
HUGE_SIZE = 512 * 1024 * 1024


def truncate_packs(server: GitServer, share: float) -> Fault:
    """Return a fault that sends only a share of each pack."""

    async def handle(request: web.Request) -> web.StreamResponse | None:
        if not request.path.endswith("upload-pack"):
            return None
        complete = await server.run_backend(request)
        body = complete.body if isinstance(complete, web.Response) and isinstance(complete.body, bytes) else b""
        if b"PACK" not in body:
            return complete
        return web.Response(body=body[: int(len(body) * share)], headers={"Content-Type": complete.headers["Content-Type"]})

    return handle


def commit_large_files(server: GitServer) -> tuple[str, str]:
    """Make two commits, each with a file of 40 KB that cannot be compressed. Return their hashes."""
    work_tree = server.create_repository("r.git")
    bodies = [hashlib.shake_256(str(number).encode()).digest(40_000) for number in range(2)]
    first, second = [work_tree.commit({f"{number}.json": body}) for number, body in enumerate(bodies)]
    return first, second


@pytest.mark.parametrize("count", [1, 120], ids=["one file", "many files"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.95])
async def test_a_truncated_pack_is_reported(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, share: float, count: int) -> None:
    """After a truncated pack, the commits fetched before are kept, so that the next fetch does not repeat them.

    Git unpacks a pack of few objects, and stores one of many objects unchanged.
    """
    work_tree = server.create_repository("r.git")
    first = work_tree.commit({"0.json": hashlib.shake_256(b"0").digest(40_000)})
    fetched = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert fetched is not None
    second = work_tree.commit({f"{name}.json": hashlib.shake_256(b"%d" % name).digest(40_000 // count) for name in range(1, count + 1)})
    server.fault = truncate_packs(server, share)
    with pytest.raises(SourceFailed, match="closed the connection"):
        await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert git(fetched.mirror_path, "cat-file", "-t", first) == "commit"
    server.fault = None
    refetched = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert refetched is not None
    assert refetched.sha == second
    assert list((fetched.mirror_path / "objects" / "pack").glob("tmp_*")) == []


async def test_a_truncated_first_fetch_leaves_no_mirror(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """A truncated first pack leaves no parts, and the next fetch succeeds."""
    _, second = commit_large_files(server)
    server.fault = truncate_packs(server, 0.5)
    with pytest.raises(SourceFailed, match="closed the connection"):
        await mirrors.fetch("uid", open_remote("r.git"), "main")
    server.fault = None
    fetched = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert fetched is not None
    assert fetched.sha == second


@pytest.fixture
async def ssh_server(tmp_path: Path) -> AsyncIterator[ssh.SshServer]:
    """Run a git host with SSH."""
    async with ssh.serving(tmp_path / "ssh") as server:
        yield server


async def test_a_fetch_succeeds_after_the_server_died_during_a_transfer(ssh_server: ssh.SshServer, mirrors: Mirrors) -> None:
    """If the server's program ends with an incomplete pack, the fetch fails, and the next one succeeds."""
    sha = ssh_server.create_repository("team.git").commit({"a.json": hashlib.shake_256(b"0").digest(400_000)})
    repository = ssh_server.folder / "repositories" / "team.git"
    largest_object = max((repository / "objects").glob("[0-9a-f][0-9a-f]/*"), key=lambda path: path.stat().st_size)
    content = largest_object.read_bytes()
    largest_object.chmod(0o600)
    largest_object.write_bytes(content[: len(content) // 2])
    with pytest.raises(SourceFailed):
        await mirrors.fetch("uid", ssh_remote(ssh_server), "main")
    largest_object.write_bytes(content)
    fetched = await mirrors.fetch("uid", ssh_remote(ssh_server), "main")
    assert fetched is not None
    assert fetched.sha == sha


async def test_a_file_that_unpacks_to_any_size_is_not_loaded(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small pack with a large file is fetched without unpacking it to memory or disk, and the file is refused by its size."""
    work_tree = server.create_repository("r.git")
    work_tree.commit({"a.json": "{}"})
    repository = server.root / "r.git"
    blob = add_large_blob(repository)
    tree = git(repository, "mktree", stdin=f"100644 blob {blob}\tlarge.json\n")
    commit = git(repository, "commit-tree", tree, "-m", "large")
    git(repository, "update-ref", "refs/heads/main", commit)
    limit_memory(monkeypatch, LARGE_SIZE // 1024 // 1024)
    # The server and git compute the hash of the whole file, which takes long on a loaded machine.
    fetched = await mirrors.fetch("uid", open_remote("r.git", seconds=120), "main")
    assert fetched is not None
    assert sum(path.stat().st_size for path in fetched.mirror_path.rglob("*") if path.is_file()) < LARGE_SIZE / 100
    with pytest.raises((Invalid, TooLarge), match=str(LARGE_SIZE)):
        GitCheckout(fetched).open_reader()("large.json")


def add_large_blob(repository: Path) -> str:
    """Write a blob of zeros into the objects of a repository and return its hash."""
    chunk, count = bytes(1 << 20), LARGE_SIZE >> 20
    digest, compressor = hashlib.sha1(f"blob {LARGE_SIZE}\0".encode(), usedforsecurity=False), zlib.compressobj(1)
    packed = [compressor.compress(f"blob {LARGE_SIZE}\0".encode())]
    for _ in range(count):
        digest.update(chunk)
        packed.append(compressor.compress(chunk))
    packed.append(compressor.flush())
    sha = digest.hexdigest()
    directory = repository / "objects" / sha[:2]
    directory.mkdir(exist_ok=True)
    (directory / sha[2:]).write_bytes(b"".join(packed))
    return sha


async def test_a_delta_that_unpacks_to_any_size_is_refused(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small delta of a huge file needs more memory than git may have. The commits fetched before are kept."""
    work_tree = server.create_repository("r.git")
    first = work_tree.commit({"a.json": "{}"})
    fetched = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert fetched is not None
    repository = server.root / "r.git"
    base, blob = add_huge_delta(repository)
    # Without the base in the tree, the server would send the whole file.
    tree = git(repository, "mktree", stdin=f"100644 blob {base}\tbase.json\n100644 blob {blob}\thuge.json\n")
    git(repository, "update-ref", "refs/heads/main", git(repository, "commit-tree", tree, "-m", "huge"))
    limit_memory(monkeypatch, 200)
    with pytest.raises(TooLarge, match="split the repository"):
        await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert git(fetched.mirror_path, "cat-file", "-t", first) == "commit"


def add_huge_delta(repository: Path) -> tuple[str, str]:
    """Write a pack with a blob of zeros and a delta that repeats it into a repository, and return the hashes of the two blobs."""
    base, count = bytes(0xFFFFFF), HUGE_SIZE >> 24
    digest = hashlib.sha1(f"blob {len(base) * count}\0".encode(), usedforsecurity=False)
    for _ in range(count):
        digest.update(base)
    base_hash = hashlib.sha1(f"blob {len(base)}\0".encode() + base, usedforsecurity=False).digest()
    # Each instruction copies 16 MiB from the start of the base, gitformat-pack(5).
    delta = variable_integer(len(base)) + variable_integer(len(base) * count) + b"\xf0\xff\xff\xff" * count
    pack = b"PACK" + (2).to_bytes(4, "big") + (2).to_bytes(4, "big")
    pack += object_header(3, len(base)) + zlib.compress(base) + object_header(7, len(delta)) + base_hash + zlib.compress(delta)
    pack += hashlib.sha1(pack, usedforsecurity=False).digest()
    (repository / "huge.pack").write_bytes(pack)
    git(repository, "index-pack", "--threads=1", "-o", "objects/pack/pack-huge.idx", "huge.pack")
    (repository / "huge.pack").rename(repository / "objects/pack/pack-huge.pack")
    return base_hash.hex(), digest.hexdigest()


def variable_integer(number: int) -> bytes:
    """Return a number in groups of 7 bits, the lowest first."""
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80]) + variable_integer(number >> 7)


def object_header(object_type: int, size: int) -> bytes:
    """Return the type and size of an object in a pack."""
    first = object_type << 4 | size & 15
    return bytes([first]) if size < 16 else bytes([first | 0x80]) + variable_integer(size >> 4)


async def test_git_that_the_system_kills_is_reported(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git program that is killed because the memory is used up is reported as too large, and the mirror is kept."""
    sha = server.create_repository("r.git").commit({"a.json": "1"})
    fetched = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert fetched is not None
    await open_remote("r.git").head("main", mirrors.ensure_root())
    monkeypatch.setattr(memory, "limited_command", lambda: "kill -9 $$")
    remote = replace(open_remote("r.git"), program=UncheckedProgram())
    with pytest.raises(TooLarge, match="git needs more memory than the jobs worker has"):
        await mirrors.fetch("uid", remote, "main")
    assert git(fetched.mirror_path, "cat-file", "-t", sha) == "commit"


class UncheckedProgram(GitProgram):
    """A git program whose version is not checked."""

    async def require(self, directory: Path) -> None:
        """Accept every version."""


async def test_a_branch_of_a_missing_commit_is_named(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """The error for a branch whose commit the host does not have names the branch. Other branches are fetched."""
    sha = server.create_repository("r.git").commit({"a.json": "1"})
    missing_commit = f"{7:040x}"
    (server.folder("r.git") / "refs/heads/ghost").write_text(f"{missing_commit}\n")
    with pytest.raises(NotFound, match="does not have the commit of branch 'ghost'"):
        await mirrors.fetch("uid", open_remote("r.git"), "ghost")
    fetched = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert fetched is not None
    assert fetched.sha == sha


def respond_with_page(body: bytes, *, except_for: str = "") -> Fault:
    """Return a fault that responds with a page to every request, except those whose path begins with ``except_for``."""

    async def handle(request: web.Request) -> web.Response | None:
        is_excepted = except_for and request.path.startswith(except_for)
        return None if is_excepted else web.Response(body=body, content_type="text/html")

    return handle


@pytest.mark.parametrize("body", [b"", b"<html>Sign in</html>", b"<html>\n<body>\n"], ids=["empty", "one line", "two lines"])
async def test_a_page_does_not_count_as_an_empty_repository(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, body: bytes
) -> None:
    """A web page in place of a repository is reported, although git takes some pages for an empty list of branches."""
    server.fault = respond_with_page(body)
    with pytest.raises(NotFound, match="no repository at this address"):
        await open_remote("r").head("main", mirrors.ensure_root())
    with pytest.raises(NotFound, match="no repository at this address"):
        await mirrors.fetch("uid", open_remote("r"), "main")


async def test_the_suffix_is_tried_if_the_address_shows_a_page(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """If a host shows a page at the address of a repository, the address with ``.git`` is tried."""
    sha = server.create_repository("r.git").commit({"a.json": "1"})
    server.fault = respond_with_page(b"<html>The repository r</html>", except_for="/r.git")
    assert await open_remote("r").head("main", mirrors.ensure_root()) == sha


@pytest.mark.parametrize("object_name", ["main:a.json", "main^{tree}"], ids=["file", "directory"])
async def test_a_branch_that_is_not_a_commit_is_an_error(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, object_name: str
) -> None:
    """A branch that points to a file or directory is refused. The mirror is kept with its other branches."""
    sha = server.create_repository("r.git").commit({"a.json": "1"})
    folder = server.folder("r.git")
    (folder / "refs/heads/odd").write_text(git(folder, "rev-parse", object_name) + "\n")
    fetched = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert fetched is not None
    with pytest.raises(BadRequest, match="not a commit"):
        await mirrors.fetch("uid", open_remote("r.git"), "odd")
    assert git(fetched.mirror_path, "cat-file", "-t", sha) == "commit"


@pytest.mark.parametrize("version", [0, 2], ids=["v0", "v2"])
async def test_a_shallow_history_is_enough(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, version: int) -> None:
    """The commits that a host with a shallow history has are fetched, also those that are added later."""
    server.newest_protocol = version
    work_tree = server.create_repository("r.git")
    shas = [work_tree.commit({"a.json": f"{number}"}) for number in range(3)]
    git(server.root, "clone", "--quiet", "--bare", "--depth=2", f"file://{server.root / 'r.git'}", "shallow.git")
    fetched = await mirrors.fetch("uid", open_remote("shallow.git"), "main")
    assert fetched is not None
    assert (fetched.sha, GitCheckout(fetched).open_reader()("a.json").body) == (shas[2], b"2")
    assert await fetched.descends_from(shas[1])
    later = work_tree.commit({"a.json": "3"})
    git(server.root / "shallow.git", "fetch", "--quiet", "origin", "+main:main")
    fetched = await mirrors.fetch("uid", open_remote("shallow.git"), "main")
    assert fetched is not None
    assert (fetched.sha, await fetched.descends_from(shas[2])) == (later, True)


async def send_endless_branches(request: web.Request) -> web.StreamResponse:
    """Send branches until the client closes the connection."""
    response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-advertisement"})
    await response.prepare(request)
    await response.write(b"001e# service=git-upload-pack\n0000")
    with suppress(ConnectionError):
        for number in numbers(step=1000):
            await response.write(b"".join(b"0041%040x refs/heads/%08d\n" % (branch, branch) for branch in range(number, number + 1000)))
    return response


def limit_memory(monkeypatch: pytest.MonkeyPatch, megabytes: int) -> None:
    """Limit the memory of each git program of the worker."""
    monkeypatch.setattr(memory, "limited_command", lambda: f'ulimit -v {megabytes * 1024} && exec git "$@"')


async def test_endless_branches_are_not_read(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endless list of branches is an error as soon as the git program has used up its memory."""
    limit_memory(monkeypatch, 64)
    newest = server.create_repository("r.git").commit({"a.json": "1"})
    assert await open_remote("r.git").head("main", mirrors.ensure_root()) == newest
    server.fault = send_endless_branches
    with pytest.raises(TooLarge, match="more branches or larger files than git can hold"):
        await open_remote("r.git").head("main", mirrors.ensure_root())


@pytest.mark.parametrize("version", [0, 2], ids=["v0", "v2"])
async def test_lists_of_many_branches_are_limited(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, version: int) -> None:
    """One of 10,001 branches is fetched without the others. At most 10,000 are listed, and errors name few of them."""
    server.newest_protocol = version
    work_tree = server.create_repository("r.git")
    sha = work_tree.commit({"a.json": "{}"})
    lines = "".join(f"create refs/heads/b/{number:05} {sha}\n" for number in range(10_000))
    git(server.root / "r.git", "update-ref", "--stdin", stdin=lines)
    git(server.root / "r.git", "pack-refs", "--all")
    remote = open_remote("r.git")
    fetched = await mirrors.fetch("uid", remote, "b/09999")
    assert fetched is not None
    assert fetched.sha == sha
    assert len(git(fetched.mirror_path, "for-each-ref").splitlines()) == 1
    assert len(await remote.branches(mirrors.ensure_root())) == 10_000
    error = await remote.missing_branch_error("none", mirrors.ensure_root())
    assert error is not None
    assert len(error.message) < 200


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("file", "which is a file: give the path of a directory"),
        ("link", "which is a symbolic link and is not followed: give the path of the directory itself"),
        ("submodule", "which is a submodule and is not entered: give the url of the submodule's own repository"),
    ],
)
async def test_a_path_that_is_not_a_directory_has_advice(
    server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, name: str, advice: str
) -> None:
    """The error for a synced path that is a file, link or submodule says which of them it is and what to do."""
    work_tree = server.create_repository("r.git")
    work_tree.commit({"real/a.json": "1", "file": "1"})
    (work_tree.folder / "link").symlink_to("real")
    git(work_tree.folder, "update-index", "--add", "--cacheinfo", f"160000,{7:040x},submodule")
    git(work_tree.folder, "commit", "--quiet", "-m", "submodule")
    git(work_tree.folder, "add", "link")
    git(work_tree.folder, "commit", "--quiet", "-m", "link")
    git(work_tree.folder, "push", "--quiet", "origin", "HEAD:refs/heads/main")
    fetched = await mirrors.fetch("uid", open_remote("r.git"), "main")
    assert fetched is not None
    with pytest.raises(BadRequest) as raised:
        await GitCheckout(fetched, f"{name}/sub").entries()
    assert raised.value.message.endswith(advice)


async def test_a_host_without_tls_has_advice(server: GitServer, mirrors: Mirrors, open_remote: OpenRemote) -> None:
    """The error for an https address of a plain HTTP server says to use http://."""
    server.scheme = "https"
    with pytest.raises(SourceFailed, match="probably serves plain HTTP: use http://"):
        await open_remote("r.git").head("main", mirrors.ensure_root())
