"""Signatures of commits: if they are required, they are verified before anything is stored. Commits of changes are signed."""

import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.servers.git import GitServer, WorkTree, git
from tests.servers.ssh import fingerprint, make_key

from dashwright.common.errors import Conflict, SourceFailed
from dashwright.common.kinds.repository import signing_key_owner
from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import load
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.adapters.git import private_files
from dashwright.jobs_worker.domain.objects import Edit, GitIdentity, Repository

CIPHER = SecretCipher.from_keys("of tests only")
EVE = GitIdentity("Eve", "eve@example.org")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Create the keys of two persons and of the server, and return their directory."""
    directory = tmp_path / "keys"
    directory.mkdir()
    for name in ("anna", "mallory", "server"):
        make_key(directory / name)
    return directory


@pytest.fixture
def checkouts(tmp_path: Path) -> RepositoryCheckouts:
    """Return the checkouts of a worker with its mirrors in a folder of the test."""
    settings = load(data_dir=tmp_path / "data", secret_key="of tests only", allowed_hosts="127.0.0.0/8")
    return RepositoryCheckouts(settings, CIPHER)


def signers(keys: Path, *names: str) -> str:
    """Return the value of ``allowedSigners`` for the public keys of persons."""
    return "".join(f"{name}@example.org {(keys / f'{name}.pub').read_text()}" for name in names)


def repository(server: GitServer, allowed_signers: str, key: Path | None = None, *, verify: str | None = "require") -> Repository:
    """Return a repository that by default requires signatures of listed keys, and signs with ``key``."""
    sealed = base64.b64encode(CIPHER.encrypt(key.read_text(), signing_key_owner("default", "team"))).decode() if key else None
    block: dict[str, Any] = {"url": server.url("r.git"), "verify": verify, "allowedSigners": allowed_signers, "encryptedSigningKey": sealed}
    sync = {"enabled": True, "target": "folder"}
    spec = {"title": "T", "type": "git", "workflows": ["write"], "sync": sync, "git": block}
    return Repository("default", "team", "uid", 1, RepositorySpec.model_validate(spec))


def commit_signed(work_tree: WorkTree, body: str, key: Path) -> str:
    """Push a commit that is signed with a key and return its hash."""
    (work_tree.folder / "a.json").write_text(body)
    git(work_tree.folder, "add", "--all")
    git(work_tree.folder, "-c", "gpg.format=ssh", "-c", f"user.signingKey={key}", "commit", "--quiet", "-S", "-m", "signed")
    git(work_tree.folder, "push", "--quiet", "origin", "HEAD:refs/heads/main")
    return git(work_tree.folder, "rev-parse", "HEAD")


async def conflict_message(call: Callable[[], Awaitable[object]]) -> str:
    """Return the message of the Conflict that a call raises."""
    with pytest.raises(Conflict) as raised:
        await call()
    return raised.value.message


async def test_only_signed_commits_are_opened(server: GitServer, checkouts: RepositoryCheckouts, keys: Path) -> None:
    """A commit without a valid signature is refused, and the error names the commit and the reason.

    Without ``verify``, every commit is opened.
    """
    work_tree = server.create_repository("r.git")
    allowed = signers(keys, "anna")
    unsigned = work_tree.commit({"a.json": "1"})
    message = await conflict_message(lambda: checkouts.open(repository(server, allowed)))
    assert f"commit {unsigned} is not accepted: it has no signature" in message
    assert await checkouts.open(repository(server, allowed, verify=None)) is not None
    signed = commit_signed(work_tree, "2", keys / "anna")
    checkout = await checkouts.open(repository(server, allowed))
    assert checkout is not None
    assert (checkout.commit, checkout.open_reader()("a.json").body) == (signed, b"2")
    other = commit_signed(work_tree, "3", keys / "mallory")
    message = await conflict_message(lambda: checkouts.open(repository(server, allowed)))
    assert f"commit {other} is not accepted: allowedSigners does not list its key {fingerprint(keys / 'mallory.pub')}" in message
    assert await checkouts.open(repository(server, allowed + signers(keys, "mallory"))) is not None


async def test_a_rollback_needs_a_signature(server: GitServer, checkouts: RepositoryCheckouts, keys: Path) -> None:
    """A rollback does not restore an earlier commit without a signature, which was synced when none was required."""
    work_tree = server.create_repository("r.git")
    unsigned = work_tree.commit({"a.json": "1"})
    signed = commit_signed(work_tree, "2", keys / "anna")
    verified = repository(server, signers(keys, "anna"))
    assert (await checkouts.at_synced(verified, signed)).commit == signed
    assert "it has no signature" in await conflict_message(lambda: checkouts.at_synced(verified, unsigned))


@pytest.mark.parametrize(
    ("damaged_part", "reason"), [("content", "is not valid"), ("signature", "is not valid"), ("kind", "cannot be read")]
)
async def test_a_forged_signature_is_refused(
    server: GitServer, checkouts: RepositoryCheckouts, keys: Path, damaged_part: str, reason: str
) -> None:
    """A signature of other content, a damaged signature, and one of another program are refused."""
    work_tree = server.create_repository("r.git")
    commit_signed(work_tree, "2", keys / "anna")
    raw = git(work_tree.folder, "cat-file", "commit", "HEAD") + "\n"
    forged = {
        "content": raw.replace("\nsigned", "\nforged"),
        "signature": raw.replace("\n U", "\n V", 1),
        "kind": raw.replace("SSH SIGNATURE", "PGP SIGNATURE"),
    }[damaged_part]
    assert forged != raw
    sha = git(work_tree.folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin=forged)
    git(work_tree.folder, "push", "--quiet", "--force", "origin", f"{sha}:refs/heads/main")
    message = await conflict_message(lambda: checkouts.open(repository(server, signers(keys, "anna"))))
    assert f"commit {sha} is not accepted: its signature {reason}" in message


async def test_commits_of_changes_are_signed(
    server: GitServer, checkouts: RepositoryCheckouts, keys: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Commits of changes are signed with the key of the repository, and git itself accepts them. No file with the key remains."""
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(private_files, "_MEMORY_DIRECTORY", memory)
    server.create_repository("r.git")
    signing_repository = repository(server, signers(keys, "server"), keys / "server")
    first = await checkouts.commit(signing_repository, "", "", [Edit("a.json", b"1", None)], EVE, "first: ä")
    second = await checkouts.commit(signing_repository, first.commit, "", [Edit("b.json", b"2", None)], EVE, "second")
    (tmp_path / "signers").write_text(signers(keys, "server"))
    for commit in (first.commit, second.commit):
        git(server.root / "r.git", "-c", f"gpg.ssh.allowedSignersFile={tmp_path / 'signers'}", "verify-commit", commit)
    assert git(server.root / "r.git", "log", "-1", "--format=%an %cn %s", first.commit) == "Eve Dashwright first: ä"
    checkout = await checkouts.open(signing_repository)
    assert checkout is not None
    assert checkout.commit == second.commit
    assert list(memory.iterdir()) == []


@pytest.mark.parametrize("ref", ["", "side"], ids=["own branch", "other branch"])
async def test_a_change_of_an_unsigned_commit_is_refused(server: GitServer, checkouts: RepositoryCheckouts, keys: Path, ref: str) -> None:
    """A signed commit on top of an unsigned one would make its files acceptable, so it is refused and nothing is pushed."""
    work_tree = server.create_repository("r.git")
    commit_signed(work_tree, "1", keys / "anna")
    unsigned = work_tree.commit({"evil.json": "1"}, branch=ref or "main")
    signing_repository = repository(server, signers(keys, "anna", "server"), keys / "server")
    message = await conflict_message(
        lambda: checkouts.commit(signing_repository, unsigned, ref, [Edit("b.json", b"2", None)], EVE, "second")
    )
    assert f"commit {unsigned} is not accepted" in message
    assert git(server.root / "r.git", "rev-parse", ref or "main") == unsigned


async def test_a_missing_program_is_reported(
    server: GitServer, checkouts: RepositoryCheckouts, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_signed(server.create_repository("r.git"), "1", keys / "anna")
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(SourceFailed, match="install openssh-client where the jobs worker runs"):
        await checkouts.open(repository(server, signers(keys, "anna")))
