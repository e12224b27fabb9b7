"""The interface ``ports.Host``, implemented with the REST APIs of git hosts by their descriptions."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from dashwright.common.errors import BadRequest, Forbidden, NotFound, SourceFailed
from dashwright.common.git_hosts.description import Pagination
from dashwright.common.git_hosts.members import document_of, member_of
from dashwright.common.secrets import SecretCipher
from dashwright.jobs_worker.adapters.host.addresses import Api, token_of
from dashwright.jobs_worker.adapters.host.client import ApiResponse, HostClient
from dashwright.jobs_worker.adapters.host.kinds import HostKinds
from dashwright.jobs_worker.adapters.host.payloads import (
    Comment,
    changed_file_of,
    comment_of,
    hook_body,
    hook_of,
    pull_request_of,
    status_body,
)
from dashwright.jobs_worker.domain.hosting import MAX_CHANGED_FILES, ChangedFile, CommitStatus, Hook, HookSpec, PullRequest
from dashwright.jobs_worker.domain.objects import Repository

_MAX_PULL_REQUESTS: Final = 1000
_MAX_COMMENTS: Final = 1000
_MAX_HOOKS: Final = 300
_MAX_COMMITS: Final = 100
_MAX_PAGES: Final = 100
"""Limit on the pages of a list, because a host may send short ones."""

_CUT_NOTE: Final = "\n\nThe rest is left out, because comments of this git host are shorter.\n"


class RestHost:
    """All git hosts, called by their REST APIs. ``apis`` maps a host to its kind or the address of its API, if it is not recognized."""

    def __init__(self, client: HostClient, cipher: SecretCipher, apis: Mapping[str, str]) -> None:
        self._client = client
        self._cipher = cipher
        self._kinds = HostKinds(client, apis)

    async def pull_request(self, repository: Repository, number: int) -> PullRequest:
        """Return a pull request by number."""
        api = await self._api(repository)
        try:
            response = await self._client.request("GET", api, api.host.pull_requests.path.format(number=number))
        except NotFound as error:
            possible_causes = (
                "it is deleted, the token may not see it, the API is elsewhere, or the host is not "
                f"{api.host.title} (DASHWRIGHT_GIT_HOST_APIS)"
            )
            raise NotFound(f"the git host's API knows no pull request {number} of this repository: {possible_causes}") from error
        return pull_request_of(api.host, response.data)

    async def open_pull_requests(self, repository: Repository) -> Sequence[PullRequest]:
        """Return the first 1,000 open pull requests."""
        api = await self._api(repository)
        description = api.host.pull_requests
        items = self._items(api, description.list_path, limit=_MAX_PULL_REQUESTS, query=description.open_query)
        return [pull_request_of(api.host, item) async for item in items]

    async def changed_files(self, repository: Repository, number: int) -> Sequence[ChangedFile]:
        """Return the first 1,000 changed files of a pull request."""
        api = await self._api(repository)
        items = self._items(api, api.host.changed_files.path.format(number=number), limit=MAX_CHANGED_FILES)
        return [changed_file_of(api.host, item) async for item in items]

    async def commits(self, repository: Repository, newest: str, path: str) -> Sequence[Any]:
        """Return at most 100 commits that touch a path (empty: any), from ``newest`` backwards, with one request.

        The host's JSON of each commit has the accounts of its authors. A host that does not report accounts has no commits.
        """
        api = await self._api(repository)
        accounts, rest_api = api.host.accounts, api.host.rest_api
        if accounts is None:
            return []
        query: dict[str, int | str] = {accounts.ref_parameter: newest, rest_api.page_size_parameter: rest_api.page_size}
        if path:
            query[accounts.path_parameter] = path
        response = await self._client.request("GET", api, accounts.path, query=query)
        return _page_items(api, response)[:_MAX_COMMITS]

    async def comment(self, repository: Repository, number: int, text: str, *, may_create: bool = True) -> str:
        """Write this repository's comment on a pull request and return its address; see ``Host.comment``."""
        api = await self._api(repository)
        description = api.host.comments
        mark = description.mark.format(mark=f"dashwright:{repository.uid}")
        body = _comment_body(api, f"{mark}\n{text}")
        list_path = description.list_path.format(number=number)
        async for item in self._items(api, list_path, limit=_MAX_COMMENTS, query=description.list_query):
            # Some hosts list all activities, of which only comments have this member.
            if description.item and member_of(item, description.item) is None:
                continue
            comment = comment_of(api.host, member_of(item, description.item))
            if not comment.text.startswith(mark.rstrip("\n")):
                continue
            path = description.path.format(number=number, id=comment.id)
            try:
                # Some hosts reject a change without the version of the comment that it replaces.
                versions = {description.version: comment.version} if description.version else {}
                response = await self._client.request(description.update_method, api, path, body={**body, **document_of(versions)})
            except (Forbidden, NotFound):
                # Another account copied the mark, or the comment was just deleted.
                continue
            return _comment_page(api, number, comment_of(api.host, response.data))
        if not may_create:
            return ""
        creation_path = description.creation_path.format(number=number) or list_path
        response = await self._client.request("POST", api, creation_path, body=body)
        return _comment_page(api, number, comment_of(api.host, response.data))

    async def set_commit_status(self, repository: Repository, status: CommitStatus) -> None:
        """Set this repository's status on a commit."""
        api = await self._api(repository)
        description = api.host.statuses
        try:
            await self._client.request(
                "POST", api, description.path.format(commit=status.commit), body=status_body(api.host, repository.name, status)
            )
        except BadRequest as error:
            # Some hosts reject a status that the commit has already.
            if not description.unchanged or description.unchanged not in error.message:
                raise

    async def hooks(self, repository: Repository) -> Sequence[Hook]:
        """Return the webhooks of the repository."""
        api = await self._api(repository)
        return [hook_of(api.host, item) async for item in self._items(api, api.host.hooks.path, limit=_MAX_HOOKS)]

    async def create_hook(self, repository: Repository, spec: HookSpec) -> Hook:
        """Create a webhook."""
        api = await self._api(repository)
        response = await self._client.request("POST", api, api.host.hooks.path, body=hook_body(api.host, spec, is_new=True))
        return hook_of(api.host, response.data)

    async def update_hook(self, repository: Repository, hook_id: int, spec: HookSpec) -> Hook:
        """Replace the address, events and secret of a webhook."""
        api = await self._api(repository)
        path, body = await self._hook_path(api, hook_id), hook_body(api.host, spec, is_new=False)
        response = await self._client.request(api.host.hooks.update_method, api, path, body=body)
        return hook_of(api.host, response.data)

    async def delete_hook(self, repository: Repository, hook_id: int) -> None:
        """Delete a webhook."""
        api = await self._api(repository)
        await self._client.request("DELETE", api, await self._hook_path(api, hook_id))

    async def _hook_path(self, api: Api, hook_id: int) -> str:
        """Return the path of a webhook. Raises NotFound if the host identifies webhooks by UUIDs, and no UUID has this number."""
        description = api.host.hooks
        if not description.has_uuids:
            return description.hook_path.format(id=hook_id)
        async for item in self._items(api, description.path, limit=_MAX_HOOKS):
            if hook_of(api.host, item).id == hook_id:
                return description.hook_path.format(id=quote(str(member_of(item, description.id)), safe=""))
        raise NotFound("the git host's API finds no webhook with this number: it is deleted, or the token may not see it")

    async def _items(self, api: Api, path: str, *, limit: int, query: Mapping[str, str] | None = None) -> AsyncIterator[Any]:
        """Yield the first ``limit`` items of a list, page by page."""
        rest_api, count, page = api.host.rest_api, 0, 1
        first_query: dict[str, str | int] = {**(query or {}), rest_api.page_size_parameter: rest_api.page_size}
        response = await self._client.request("GET", api, path, query={**first_query, **_page_number(api, page)})
        while True:
            items = _page_items(api, response)
            for item in items[: limit - count]:
                yield item
            count, page = count + len(items), page + 1
            if not items or count >= limit or page > _MAX_PAGES or not _has_more(api, response, count):
                return
            if rest_api.pagination is Pagination.NEXT_MEMBER:
                response = await self._client.follow(api, str(member_of(response.data, rest_api.pagination.value)))
            elif rest_api.pagination is Pagination.NEXT_START:
                start = int(member_of(response.data, rest_api.pagination.value))
                response = await self._client.request("GET", api, path, query={**first_query, "start": start})
            else:
                # A link to the next page must not be followed with a token, so pages are requested by number.
                response = await self._client.request("GET", api, path, query={**first_query, **_page_number(api, page)})

    async def _api(self, repository: Repository) -> Api:
        githost = repository.spec.remote
        if githost is None or not githost.url:
            raise BadRequest("a local directory has no pull requests and no webhooks")
        token = token_of(repository, githost, self._cipher)
        return await self._kinds.api_of(githost.url, repository.spec.type.value, token, repository.namespace)


def _comment_page(api: Api, number: int, comment: Comment) -> str:
    """Return the address of a comment, which some hosts do not name."""
    return comment.page or api.page + api.host.comments.page_path.format(number=number, id=comment.id)


def _comment_body(api: Api, text: str) -> dict[str, Any]:
    """Return the body of a request that writes a comment, shortened to the limit of the host."""
    description = api.host.comments
    if len(text) > description.max_characters:
        # A cut inside a code block would hide the note in it, so whole blocks are omitted.
        text = text[: description.max_characters - len(_CUT_NOTE)].rpartition("\n\n#")[0] + _CUT_NOTE
    return document_of({description.text: text})


def _page_number(api: Api, page: int) -> dict[str, int]:
    """Return the query for a page by number; empty for a host that names the next page in its responses."""
    return {} if api.host.rest_api.pagination in (Pagination.NEXT_MEMBER, Pagination.NEXT_START) else {"page": page}


def _page_items(api: Api, response: ApiResponse) -> list[Any]:
    """Return the items of one page of a list. Raises SourceFailed if the response has no list."""
    items = member_of(response.data, api.host.rest_api.items)
    if not isinstance(items, list):
        raise SourceFailed("the git host's API does not respond with the requested list")
    return items


def _has_more(api: Api, response: ApiResponse, count: int) -> bool:
    """Return whether a list has items after the first ``count``."""
    match api.host.rest_api.pagination:
        case Pagination.LINK_HEADER:
            return 'rel="next"' in response.headers.get("Link", "")
        case Pagination.TOTAL_HEADER:
            total = response.headers.get(Pagination.TOTAL_HEADER.value, "")
            return total.isascii() and total.isdigit() and count < int(total)
        case Pagination.NEXT_MEMBER:
            return isinstance(member_of(response.data, Pagination.NEXT_MEMBER.value), str)
        case Pagination.NEXT_START:
            return isinstance(member_of(response.data, Pagination.NEXT_START.value), int)
