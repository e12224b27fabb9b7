"""The accounts of commit authors at a git host: read with one request, and never at the cost of the response they would enrich."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

import structlog
from pydantic import BaseModel

from dashwright.common.errors import DashwrightError
from dashwright.common.jobs import paths
from dashwright.common.models.repository_views import Author, HistoryItem
from dashwright.jobs_worker.adapters.host.host import RestHost
from dashwright.jobs_worker.domain.objects import Repository

log = structlog.get_logger()

_SECONDS: Final = 3.0
_KEPT_SECONDS: Final = 300.0
_MOST_KEPT: Final = 200
"""Cached responses of hosts, of at most 100 commits each."""

_LONGEST: Final = 300


class AccountPayload(BaseModel):
    """An account at the host."""

    login: str
    avatar_url: str | None = None


class SignaturePayload(BaseModel):
    """An author or committer as the commit names it."""

    name: str | None = None


class SignaturesPayload(BaseModel):
    """The signatures of a commit."""

    author: SignaturePayload | None = None
    committer: SignaturePayload | None = None


class CommitPayload(BaseModel):
    """A commit as the host describes it, with the accounts that it recognizes."""

    sha: str
    commit: SignaturesPayload
    author: AccountPayload | None = None
    committer: AccountPayload | None = None

    def accounts(self) -> Mapping[str, AccountPayload]:
        """Return the accounts by the names that the commit is signed with."""
        signatures = ((self.commit.committer, self.committer), (self.commit.author, self.author))
        return {signed.name: account for signed, account in signatures if signed is not None and signed.name and account is not None}


_Accounts = Mapping[str, Mapping[str, AccountPayload]]


class CommitAuthors:
    """Adds logins and avatars to a history. Responses of the host, and its failures, are cached for five minutes."""

    def __init__(self, host: RestHost) -> None:
        self._host = host
        self._kept: OrderedDict[tuple[str, str, str], tuple[float, _Accounts]] = OrderedDict()

    async def with_accounts(self, repository: Repository, path: str, history: Sequence[HistoryItem]) -> Sequence[HistoryItem]:
        """Return the history with the accounts of its newest 100 commits, if the host responds in time."""
        if not history:
            return history
        accounts = await self._accounts(repository, history[0].ref, path)
        return [_with_accounts(item, accounts.get(item.ref, {})) for item in history]

    async def _accounts(self, repository: Repository, newest: str, path: str) -> _Accounts:
        key, now = (repository.uid, newest, path), time.monotonic()
        until, accounts = self._kept.get(key, (0.0, {}))
        if now < until:
            return accounts
        accounts = await self._fetch_accounts(repository, newest, path)
        self._kept[key] = now + _KEPT_SECONDS, accounts
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return accounts

    async def _fetch_accounts(self, repository: Repository, newest: str, path: str) -> _Accounts:
        assert repository.spec.githost is not None, "a folder has no history"
        whole = paths.join(repository.spec.githost.path or "", path.strip("/"))
        try:
            async with asyncio.timeout(_SECONDS):
                found = await self._host.commits(repository, newest, whole, CommitPayload)
        except (DashwrightError, TimeoutError) as error:
            log.info("authors_unknown", repository=repository.name, error=str(error))
            return {}
        return {commit.sha: commit.accounts() for commit in found}


def _with_accounts(item: HistoryItem, accounts: Mapping[str, AccountPayload]) -> HistoryItem:
    return item.model_copy(update={"authors": [_author(author, accounts.get(author.name)) for author in item.authors]})


def _author(author: Author, account: AccountPayload | None) -> Author:
    if account is None:
        return author
    avatar = account.avatar_url or ""
    is_shown = avatar.startswith("https://") and len(avatar) <= _LONGEST and avatar.isprintable()
    return Author(name=author.name, username=account.login[:_LONGEST], avatar_url=avatar if is_shown else None)
