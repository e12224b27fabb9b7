"""Repositories with a signing key and required signatures. The gateway seals the key, and a sync refuses unsigned commits."""

from pathlib import Path
from typing import Any

import pytest
from pysequoia import Tsk
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import REPOSITORIES, dashboard, run_sync, sync_status, titles
from tests.servers.git import GitServer
from tests.servers.ssh import make_key

#: Blocks in the OpenPGP format that do not contain a valid key.
PUBLIC_BLOCK = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n"
PRIVATE_BLOCK = PUBLIC_BLOCK.replace("PUBLIC", "PRIVATE")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Return a directory with two SSH key pairs: ``deploy`` and ``signing``."""
    for name in ("deploy", "signing"):
        make_key(tmp_path / name)
    return tmp_path


def repository(url: str, workflows: tuple[str, ...] = ("write",), key: str | None = None, **block: Any) -> dict[str, Any]:
    """Return the manifest of the git repository ``team``. Keyword arguments are further fields of its ``git`` block."""
    sync = {"enabled": True, "target": "folder"}
    spec = {"title": "Team", "type": "git", "workflows": list(workflows), "sync": sync, "git": {"url": url, "branch": "main", **block}}
    return {"metadata": {"name": "team"}, "spec": spec} | ({"secure": {"signingKey": {"create": key}}} if key else {})


def required_signatures(keys: Path) -> dict[str, Any]:
    """Return fields of a repository that accepts only commits signed with the key ``signing``."""
    return {"verify": "require", "allowedSigners": f"server@example.org {(keys / 'signing.pub').read_text()}"}


@pytest.mark.parametrize("kind", ["ssh", "openpgp"])
async def test_a_signing_key_is_sealed_and_kept(api: Api, keys: Path, kind: str) -> None:
    """Responses have only the name of the key, which is kept if the host changes. No row has the key as plain text."""
    openpgp_key = Tsk.generate("Server")
    key = (keys / "signing").read_text() if kind == "ssh" else str(openpgp_key)
    rules = required_signatures(keys) if kind == "ssh" else {"verify": "require", "allowedSigners": str(openpgp_key.extract_certificate())}
    status, created = await api("POST", f"{REPOSITORIES}?fieldValidation=Strict", repository("https://git.example/team", key=key, **rules))
    assert (status, list(created["secure"]["signingKey"])) == (201, ["name"]), created
    _, response = await api("PUT", f"{REPOSITORIES}/team", repository("https://elsewhere.example/team", **rules))
    assert response["secure"] == created["secure"]
    async with api.database.connection() as connection:
        rows = await connection.fetch("select t::text as row from resource_history t")
    # The third line from the end is a part of the key in both formats.
    assert not [row for row in rows if key.splitlines()[-3] in row["row"]]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"workflows": ("write",)}, "secure.signingKey"),
        ({"allowedSigners": ""}, "spec.git.allowedSigners"),
        ({"allowedSigners": "# nothing\n"}, "spec.git.allowedSigners"),
        ({"allowedSigners": "anna@example.org ssh-ed25519 AAAA"}, "spec.git.allowedSigners"),
        ({"allowedSigners": "x" * 70_000}, "spec.git.allowedSigners"),
        ({"allowedSigners": PUBLIC_BLOCK}, "spec.git.allowedSigners"),
        ({"allowedSigners": PRIVATE_BLOCK}, "spec.git.allowedSigners"),
        ({"key": "no key"}, "secure.signingKey.create"),
        ({"key": PRIVATE_BLOCK}, "secure.signingKey.create"),
        ({"key": str(Tsk.generate("Server").extract_certificate()).replace("PUBLIC", "PRIVATE")}, "secure.signingKey.create"),
        ({"encryptedSigningKey": "Zm9yZ2Vk"}, "spec.git.encryptedSigningKey"),
        ({"verify": "sometimes"}, "spec.git.verify"),
    ],
    ids=[
        "writing without a key",
        "no signers",
        "only a comment",
        "incomplete key of a signer",
        "too long",
        "invalid certificate",
        "private key of a signer",
        "not a key",
        "invalid key",
        "certificate as key",
        "forged sealed key",
        "unknown rule",
    ],
)
async def test_an_invalid_key_or_rule_is_refused(api: Api, keys: Path, changes: dict[str, Any], field: str) -> None:
    """Rules that no commit can meet, and keys that cannot sign, are refused by the write."""
    manifest = repository("https://git.example/team", **{"workflows": (), **required_signatures(keys), **changes})
    status, response = await api("POST", REPOSITORIES, manifest)
    assert (status, [cause["field"] for cause in response["details"]["causes"]]) == (422, [field])


async def test_an_unsigned_commit_is_not_stored(git_api: Api, git_server: GitServer, keys: Path) -> None:
    """The sync of an unsigned commit ends in an error that names the commit, and the objects remain."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "A")})
    assert (await git_api("POST", REPOSITORIES, repository(git_server.url("team.git"))))[0] == 201
    assert (await run_sync(git_api))["state"] == "success"
    unsigned = work_tree.commit({"a.json": dashboard("a", "Changed"), "b.json": dashboard("b", "B")})
    with_required_signatures = repository(git_server.url("team.git"), key=(keys / "signing").read_text(), **required_signatures(keys))
    assert (await git_api("PUT", f"{REPOSITORIES}/team", with_required_signatures))[0] == 200
    status = await run_sync(git_api)
    assert status["state"] == "error"
    assert [error for error in status["errors"] if f"commit {unsigned} is not accepted: it has no signature" in error], status
    assert await titles(git_api) == {"a": "A"}
    assert (await sync_status(git_api))["lastRef"] == first
