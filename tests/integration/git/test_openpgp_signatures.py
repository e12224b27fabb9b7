"""Commits with OpenPGP signatures: which signatures are accepted, and commits that Dashwright signs."""

import base64
from typing import Any

import pygit2
import pytest
from pysequoia import SignatureMode, Tsk, sign
from tests.integration.git.test_signatures import CIPHER, EVE, checkouts, conflict_message
from tests.servers.git import GitServer, WorkTree, git

from dashwright.common.kinds.repository import signing_key_owner
from dashwright.common.models.provisioning import RepositorySpec
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.domain.objects import Edit, Repository

__all__ = ["checkouts"]

#: A key and a commit of the file ``a.json`` that git made with GnuPG 2.2.
GNUPG_KEY = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEawomVRYJKwYBBAHaRw8BAQdAlKA6Lrr3eGGZViwvB+RTIH0TPwuWRVlUw7pT
qUqG/RW0F2FubmEgPGFubmFAZXhhbXBsZS5vcmc+iJAEExYIADgWIQSf6OMlYOfH
JEzMH1O8MMQJNowbYgUCawomVQIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAK
CRC8MMQJNowbYhByAP9wfYBkTwnWpRuHhzawg4qrEAmrnbVw9eOyF7+6IRSqRwD9
FOGY3tk7XHwH5xiwJPfK+BZ53USLOmvf1WEl2p+csAw=
=/E/p
-----END PGP PUBLIC KEY BLOCK-----
"""
GNUPG_COMMIT = """\
tree b75fa7b35b5a394eab85d30f3240f4f6405966ca
author Anna <anna@example.org> 1795827493 +0000
committer Anna <anna@example.org> 1795827493 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
\x20
 iIcEABYIAC8WIQSf6OMlYOfHJEzMH1O8MMQJNowbYgUCawonJREcYW5uYUBleGFt
 cGxlLm9yZwAKCRC8MMQJNowbYoQfAP9y/4hA+I8KH4zFRLCedmQg8YLBoM+gGECq
 mRXt+DS6dAEAtKsd44X8nehLSYQycupk3ztpbV317QD+Y4Hf+lCWAgI=
 =DS12
 -----END PGP SIGNATURE-----

signed
"""


@pytest.fixture(scope="module")
def anna() -> Tsk:
    """Generate the key of a person whom the repository trusts."""
    return Tsk.generate("Anna <anna@example.org>")


@pytest.fixture(scope="module")
def mallory() -> Tsk:
    """Generate the key of another person."""
    return Tsk.generate("Mallory <mallory@example.org>")


def public_keys(*keys: Tsk) -> str:
    """Return the value of ``allowedSigners`` for the public keys."""
    return "".join(f"# a comment\n{key.extract_certificate()}\n" for key in keys)


def repository(server: GitServer, allowed_signers: str, key: str = "") -> Repository:
    """Return a repository that requires signatures of listed keys, and signs with ``key``."""
    sealed = base64.b64encode(CIPHER.encrypt(key, signing_key_owner("default", "team"))).decode() if key else None
    block: dict[str, Any] = {
        "url": server.url("r.git"),
        "verify": "require",
        "allowedSigners": allowed_signers,
        "encryptedSigningKey": sealed,
    }
    spec = {"title": "T", "type": "git", "workflows": ["write"], "sync": {"enabled": True, "target": "folder"}, "git": block}
    return Repository("default", "team", "uid", 1, RepositorySpec.model_validate(spec))


def push_raw(work_tree: WorkTree, commit: str) -> str:
    """Push a commit object and return its hash."""
    sha = git(work_tree.folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin=commit)
    git(work_tree.folder, "push", "--quiet", "--force", "origin", f"{sha}:refs/heads/main")
    return sha


def commit_signed(work_tree: WorkTree, body: str, key: Tsk) -> str:
    """Push a commit that is signed with a key and return its hash."""
    work_tree.commit({"a.json": body})
    content = git(work_tree.folder, "cat-file", "commit", "HEAD") + "\n"
    signature = sign(key.signer(), content.encode(), mode=SignatureMode.DETACHED).decode()
    sha = str(pygit2.Repository(str(work_tree.folder)).create_commit_with_signature(content, signature))
    git(work_tree.folder, "push", "--quiet", "--force", "origin", f"{sha}:refs/heads/main")
    return sha


async def test_only_commits_of_listed_keys_are_opened(server: GitServer, checkouts: RepositoryCheckouts, anna: Tsk, mallory: Tsk) -> None:
    """Only commits signed with listed keys are opened; the list may have SSH keys, too."""
    work_tree = server.create_repository("r.git")
    signed = commit_signed(work_tree, "1", anna)
    checkout = await checkouts.open(repository(server, public_keys(mallory, anna)))
    assert checkout is not None
    assert (checkout.commit, checkout.open_reader()("a.json").body) == (signed, b"1")
    other = commit_signed(work_tree, "2", mallory)
    message = await conflict_message(lambda: checkouts.open(repository(server, public_keys(anna))))
    assert f"commit {other} is not accepted: its signature with the OpenPGP key" in message
    assert "allowedSigners does not list this key" in message


async def test_a_commit_of_gnupg_is_opened(server: GitServer, checkouts: RepositoryCheckouts) -> None:
    work_tree = server.create_repository("r.git")
    work_tree.commit({"a.json": "{}\n"})
    signed = push_raw(work_tree, GNUPG_COMMIT)
    checkout = await checkouts.open(repository(server, GNUPG_KEY))
    assert checkout is not None
    assert checkout.commit == signed


@pytest.mark.parametrize(
    ("original", "replacement", "reason"),
    [
        ("\nsigned", "\nforged", "is not valid"),
        ("Anna <", "Eve <", "is not valid"),
        ("PGP SIGNATURE-----\n \n i", "PGP SIGNATURE-----\n \n j", "is not"),
        ("PGP SIGNATURE", "PGP MESSAGE", "not of an SSH or OpenPGP key"),
    ],
    ids=["message", "author", "signature", "type"],
)
async def test_a_forged_commit_is_refused(
    server: GitServer, checkouts: RepositoryCheckouts, original: str, replacement: str, reason: str
) -> None:
    work_tree = server.create_repository("r.git")
    work_tree.commit({"a.json": "{}\n"})
    forged = GNUPG_COMMIT.replace(original, replacement)
    assert forged != GNUPG_COMMIT
    push_raw(work_tree, forged)
    assert reason in await conflict_message(lambda: checkouts.open(repository(server, GNUPG_KEY)))


async def test_a_revoked_key_signs_no_commit(server: GitServer, checkouts: RepositoryCheckouts, anna: Tsk) -> None:
    work_tree = server.create_repository("r.git")
    commit_signed(work_tree, "1", anna)
    certificate = anna.extract_certificate()
    revocation = certificate.revoke(anna.certifier())
    revoked = certificate.merge(type(certificate).from_bytes(bytes(certificate) + bytes(revocation)))
    assert "is not valid" in await conflict_message(lambda: checkouts.open(repository(server, str(revoked))))


async def test_commits_of_changes_are_signed(server: GitServer, checkouts: RepositoryCheckouts, anna: Tsk) -> None:
    """Commits of changes are signed with the key of the repository, so that the repository can be opened again."""
    server.create_repository("r.git")
    signing_repository = repository(server, public_keys(anna), str(anna))
    first = await checkouts.commit(signing_repository, "", "", [Edit("a.json", b"1", None)], EVE, "first: ä")
    second = await checkouts.commit(signing_repository, first.commit, "", [Edit("b.json", b"2", None)], EVE, "second")
    checkout = await checkouts.open(signing_repository)
    assert checkout is not None
    assert checkout.commit == second.commit
