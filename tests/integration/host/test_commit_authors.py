"""The accounts of commit authors: added if the git host knows them, and never waited for."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web
from tests.integration.host.host_access import HostAccess
from tests.servers.git import git

from dashwright.common.models.repository_views import Author, HistoryItem
from dashwright.jobs_worker.adapters.host import authors
from dashwright.jobs_worker.adapters.host.authors import CommitAuthors


def history(asked: HostAccess, *names: str) -> Sequence[HistoryItem]:
    """Return the newest commit of the repository, by these authors."""
    sha = git(asked.server.root / "team/boards", "rev-parse", "main")
    return [HistoryItem(ref=sha, message="change", authors=[Author(name=name) for name in names], created_at=1)]


async def test_authors_have_the_accounts_that_the_host_knows(asked: HostAccess) -> None:
    """Accounts match by the name in the commit. One request serves all histories of a commit."""
    told, known = CommitAuthors(asked.host), history(asked, "Test", "Somebody Else")
    for _ in range(2):
        (item,) = await told.with_accounts(asked.repository, "a b.json", known)
        assert item.authors == [
            Author(name="Test", username="test", avatar_url="https://avatars.example.org/test"),
            Author(name="Somebody Else"),
        ]
    assert [call for call in asked.server.calls if "commits" in call] == ["GET /repos/team/boards/commits"]


async def test_an_unavailable_host_costs_only_the_accounts(asked: HostAccess, monkeypatch: Any) -> None:
    """If the host is slow, refuses or has no API, the history is returned as git has it, and the host is not called for a while."""
    monkeypatch.setattr(authors, "_SECONDS", 0.2)
    known, told = history(asked, "Test"), CommitAuthors(asked.host)

    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=500)

    asked.server.api_fault = refuse
    assert await told.with_accounts(asked.repository, "", known) == known
    asked.server.api_fault = None
    assert await told.with_accounts(asked.repository, "", known) == known
    assert await CommitAuthors(asked.host).with_accounts(asked.at("https://git.invalid/one"), "", known) == known
    assert await told.with_accounts(asked.repository, "", []) == []
