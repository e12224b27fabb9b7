"""Deploy keys of repositories, which are stored sealed, belong to one host and user, and give syncs access over SSH."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, dashboard, run_job, run_sync, titles
from tests.servers import ssh
from tests.servers.git import git

URL = "ssh://git@git.example/team.git"


@pytest.fixture
def key(tmp_path: Path) -> str:
    """Return a new private key without a passphrase."""
    ssh.make_key(tmp_path / "deploy")
    return (tmp_path / "deploy").read_text()


def body(url: str = URL, key: str | None = None, **block: Any) -> dict[str, Any]:
    """Return a repository, with a deploy key if ``key`` is given. ``block`` has further members of ``spec.git``."""
    sync = {"enabled": True, "target": "folder"}
    spec = {"title": "Team", "type": "git", "workflows": ["write"], "sync": sync, "git": {"url": url, "branch": "main", **block}}
    repository: dict[str, Any] = {"metadata": {"name": "team"}, "spec": spec}
    if key is not None:
        repository["secure"] = {"sshKey": {"create": key}}
    return repository


async def refusal(api: Api, method: str, path: str, request: dict[str, Any]) -> list[tuple[str, str]]:
    """Send an invalid request and return the field and the message of each cause."""
    status, response = await api(method, path, request)
    assert status == 422, response
    return [(cause["field"], cause["message"]) for cause in response["details"]["causes"]]


async def test_a_key_is_stored_sealed(api: Api, key: str) -> None:
    """No response has a key, and the database has it only sealed. A write without a key, or with its name, keeps the key."""
    status, created = await api("POST", f"{REPOSITORIES}?fieldValidation=Strict", body(key=key))
    assert status == 201, created
    assert (created["spec"]["git"]["url"], list(created["secure"]["sshKey"])) == ("ssh://git@git.example/team", ["name"])
    # The second line of the encoded key, which no other key shares.
    secret_line = key.splitlines()[2]
    async with api.database.connection() as connection:
        for table in ("resource", "resource_history", "change", "audit_event"):
            rows = await connection.fetch(f"select t::text as row from {table} t")
            assert not [row for row in rows if secret_line in row["row"]], table
    assert await api("PUT", f"{REPOSITORIES}/team", created) == (200, created)
    # The same key with other line ends.
    _, response = await api("PUT", f"{REPOSITORIES}/team", body(key=key.replace("\n", "\r\n")))
    assert response["secure"] == created["secure"]
    # The same address in another form, without a key.
    _, response = await api("PUT", f"{REPOSITORIES}/team", body("git@git.example:team"))
    assert response["secure"] == created["secure"]


async def test_a_key_is_not_kept_for_another_host(api: Api, key: str) -> None:
    """A change of host, port, user or scheme removes the key, so an SSH address then needs the key again."""
    await api("POST", REPOSITORIES, body(key=key))
    for url in ("ssh://git@elsewhere.example/team", "ssh://git@git.example:2222/team", "ssh://root@git.example/team"):
        ((field, message),) = await refusal(api, "PUT", f"{REPOSITORIES}/team", body(url))
        assert field == "secure.sshKey"
        assert "secure.sshKey.create" in message
    _, response = await api("PUT", f"{REPOSITORIES}/team", body("https://git.example/team"))
    assert "secure" not in response
    assert "encryptedSshKey" not in response["spec"]["git"]


async def test_a_faulty_key_is_refused(api: Api, tmp_path: Path, key: str) -> None:
    """A key with a passphrase, a forged sealed key, and a secret for the wrong kind of address are refused. The error names the field."""
    ssh.make_key(tmp_path / "locked", passphrase="a passphrase")
    ((field, message),) = await refusal(api, "POST", REPOSITORIES, body(key=(tmp_path / "locked").read_text()))
    assert field == "secure.sshKey.create"
    assert "has a passphrase" in message
    ((field, _),) = await refusal(api, "POST", REPOSITORIES, body(encryptedSshKey="Zm9yZ2Vk"))
    assert field == "spec.git.encryptedSshKey"
    ((field, message),) = await refusal(api, "POST", REPOSITORIES, body("https://git.example/team", key))
    assert field == "secure.sshKey.create"
    assert "only an SSH address" in message
    ((field, message),) = await refusal(api, "POST", REPOSITORIES, body() | {"secure": {"token": {"create": "a-token"}}})
    assert field == "secure.token.create"
    assert "an SSH address has no token" in message
    assert key.splitlines()[2] not in message


async def test_a_repository_is_synced_over_ssh(git_api: Api, tmp_path: Path) -> None:
    """A repository is synced and edited over SSH, but a review of a pull request needs an https address.

    The test of the repository fails after the host key has changed, until the spec has the new host key.
    """
    async with ssh.serving(tmp_path / "ssh") as server:
        work_tree = server.create_repository("team.git")
        work_tree.commit({"a.json": dashboard("a", "A")})
        repository = body(server.url("team"), server.key, knownHosts=server.known_hosts)
        status, created = await git_api("POST", REPOSITORIES, repository)
        assert status == 201, created
        assert (await run_sync(git_api))["state"] == "success"
        assert await titles(git_api) == {"a": "A"}
        assert (await git_api("DELETE", f"{DASHBOARDS}/a"))[0] == 200
        assert "a.json" not in server_files(server)
        review = await run_job(git_api, {"action": "pr", "pr": {"pr": 1}})
        assert review["state"] == "error"
        assert "give the repository an https address" in str(review["errors"])
        fingerprint = await server.change_host_key()
        status, test_results = await git_api("POST", f"{REPOSITORIES}/team/test", {})
        assert status == 400, test_results
        assert test_results["success"] is False, test_results
        assert fingerprint in json.dumps(test_results)
        assert [error["field"] for error in test_results["errors"]] == ["spec.git.knownHosts"]
        with_new_host_key = body(server.url("team"), None, knownHosts=server.known_hosts)
        assert (await git_api("PUT", f"{REPOSITORIES}/team", with_new_host_key))[0] == 200
        status, test_results = await git_api("POST", f"{REPOSITORIES}/team/test", {})
        assert status == 200, test_results
        assert test_results["success"] is True, test_results


def server_files(server: ssh.SshServer) -> str:
    """Return the paths of the files of the repository ``team`` on the server, one a line."""
    return git(server.folder / "repositories" / "team.git", "ls-tree", "-r", "--name-only", "main")
