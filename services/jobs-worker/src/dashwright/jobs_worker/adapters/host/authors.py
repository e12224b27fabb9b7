"""The accounts of commit authors at a git host, read with one request. A failure leaves the history without accounts."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

import structlog
from pydantic import BaseModel, TypeAdapter, ValidationError

from dashwright.common.errors import DashwrightError
from dashwright.common.jobs import paths
from dashwright.common.models.repository_views import Author, HistoryItem
from dashwright.jobs_worker.adapters.host.host import RestHost
from dashwright.jobs_worker.domain.objects import Repository

log = structlog.get_logger()

_TIMEOUT_SECONDS: Final = 3.0
_CACHE_SECONDS: Final = 300.0
_MAX_CACHED_RESPONSES: Final = 200
"""Limit on the cached responses of hosts, of at most 100 commits each."""

_MAX_CHARACTERS: Final = 300
"""Limit on the characters of a login, and on those of the address of an avatar."""


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
        """Return the accounts by the names of the author and committer. If both names are equal, the author's account is returned."""
        signatures = ((self.commit.committer, self.committer), (self.commit.author, self.author))
        return {
            signature.name: account for signature, account in signatures if signature is not None and signature.name and account is not None
        }


_COMMITS: Final = TypeAdapter(list[CommitPayload])

_Accounts = Mapping[str, Mapping[str, AccountPayload]]
"""For each commit hash, the accounts by the name in the signature."""


class CommitAuthors:
    """A source of the logins and avatars of commit authors. Responses of the host, and its failures, are cached for five minutes."""

    def __init__(self, host: RestHost) -> None:
        self._host = host
        self._cache: OrderedDict[tuple[str, str, str], tuple[float, _Accounts]] = OrderedDict()

    async def with_accounts(self, repository: Repository, path: str, history: Sequence[HistoryItem]) -> Sequence[HistoryItem]:
        """Return the history with the accounts of its newest 100 commits, if the host responds in time."""
        if not history:
            return history
        accounts = await self._accounts(repository, history[0].ref, path)
        return [_with_accounts(item, accounts.get(item.ref, {})) for item in history]

    async def _accounts(self, repository: Repository, newest_sha: str, path: str) -> _Accounts:
        key, now = (repository.uid, newest_sha, path), time.monotonic()
        expires_at, accounts = self._cache.get(key, (0.0, {}))
        if now < expires_at:
            return accounts
        accounts = await self._fetch_accounts(repository, newest_sha, path)
        self._cache[key] = now + _CACHE_SECONDS, accounts
        while len(self._cache) > _MAX_CACHED_RESPONSES:
            self._cache.popitem(last=False)
        return accounts

    async def _fetch_accounts(self, repository: Repository, newest_sha: str, path: str) -> _Accounts:
        assert repository.spec.remote is not None, "a local directory has no history"
        path_in_repository = paths.join(repository.spec.remote.path or "", path.strip("/"))
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                commits = _COMMITS.validate_python(await self._host.commits(repository, newest_sha, path_in_repository))
        except (DashwrightError, TimeoutError) as error:
            log.info("authors_unknown", repository=repository.name, error=str(error))
            return {}
        except ValidationError:
            log.info("authors_unknown", repository=repository.name, error="the git host's API responds without required members")
            return {}
        return {commit.sha: commit.accounts() for commit in commits}


def _with_accounts(item: HistoryItem, accounts: Mapping[str, AccountPayload]) -> HistoryItem:
    return item.model_copy(update={"authors": [_author(author, accounts.get(author.name)) for author in item.authors]})


def _author(author: Author, account: AccountPayload | None) -> Author:
    if account is None:
        return author
    avatar = account.avatar_url or ""
    is_usable = avatar.startswith("https://") and len(avatar) <= _MAX_CHARACTERS and avatar.isprintable()
    return Author(name=author.name, username=account.login[:_MAX_CHARACTERS], avatar_url=avatar if is_usable else None)
