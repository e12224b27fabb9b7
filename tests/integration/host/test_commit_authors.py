"""The accounts of commit authors: they are added if the git host has them, and a change never waits for them."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web
from tests.integration.host.host_access import HostAccess
from tests.servers.git import git

from dashwright.common.models.repository_views import Author, HistoryItem
from dashwright.jobs_worker.adapters.host import authors
from dashwright.jobs_worker.adapters.host.authors import CommitAuthors


def history(host_access: HostAccess, *names: str) -> Sequence[HistoryItem]:
    """Return the newest commit of the repository, by these authors."""
    sha = git(host_access.server.root / "team/boards", "rev-parse", "main")
    return [HistoryItem(ref=sha, message="change", authors=[Author(name=name) for name in names], created_at=1)]


async def test_authors_have_the_accounts_that_the_host_reports(host_access: HostAccess) -> None:
    """An author of a history has the account that the host reports for this name. All histories of a commit share one request."""
    commit_authors, items = CommitAuthors(host_access.host), history(host_access, "Test", "Unknown Author")
    for _ in range(2):
        (item,) = await commit_authors.with_accounts(host_access.repository, "a b.json", items)
        assert item.authors == [
            Author(name="Test", username="test", avatar_url="https://avatars.example.org/test"),
            Author(name="Unknown Author"),
        ]
    assert [call for call in host_access.server.calls if "commits" in call] == ["GET /repos/team/boards/commits"]


async def test_an_unavailable_host_omits_only_the_accounts(host_access: HostAccess, monkeypatch: Any) -> None:
    """If the host refuses or has no API, the history is returned without accounts. After a failure, the host is not called for a while."""
    monkeypatch.setattr(authors, "_TIMEOUT_SECONDS", 0.2)
    items, commit_authors = history(host_access, "Test"), CommitAuthors(host_access.host)

    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=500)

    host_access.server.api_fault = refuse
    assert await commit_authors.with_accounts(host_access.repository, "", items) == items
    host_access.server.api_fault = None
    assert await commit_authors.with_accounts(host_access.repository, "", items) == items
    assert await CommitAuthors(host_access.host).with_accounts(host_access.with_url("https://git.invalid/one"), "", items) == items
    assert await commit_authors.with_accounts(host_access.repository, "", []) == []
