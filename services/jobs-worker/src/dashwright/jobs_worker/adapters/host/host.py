"""The interface ``ports.Host``, implemented with the REST API that git hosts have in common."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from dashwright.common.errors import BadRequest, Forbidden, NotFound, SourceFailed
from dashwright.common.secrets import SecretCipher
from dashwright.jobs_worker.adapters.host.addresses import Api, api_of, token_of
from dashwright.jobs_worker.adapters.host.client import HostClient
from dashwright.jobs_worker.adapters.host.payloads import CommentPayload, FilePayload, HookPayload, PullRequestPayload
from dashwright.jobs_worker.domain.hosting import MAX_CHANGED_FILES, ChangedFile, CommitStatus, Hook, HookSpec, PullRequest
from dashwright.jobs_worker.domain.objects import Repository

Payload = TypeVar("Payload", bound=BaseModel)

_PAGE_SIZE: Final = 100
_MAX_PULL_REQUESTS: Final = 1000
_MAX_COMMENTS: Final = 1000
_MAX_HOOKS: Final = 300
_MAX_STATUS_CHARACTERS: Final = 140


class RestHost:
    """All git hosts, called by their REST API. ``apis`` maps a host to the address of its API, if that is not the usual one."""

    def __init__(self, client: HostClient, cipher: SecretCipher, apis: Mapping[str, str]) -> None:
        self._client = client
        self._cipher = cipher
        self._apis = apis

    async def pull_request(self, repository: Repository, number: int) -> PullRequest:
        """Return a pull request by number."""
        try:
            response = await self._client.request("GET", self._api(repository), f"pulls/{number}")
        except NotFound as error:
            possible_causes = "it is deleted, the token may not see it, or the API is elsewhere (DASHWRIGHT_GIT_HOST_APIS)"
            raise NotFound(f"the git host's API knows no pull request {number} of this repository: {possible_causes}") from error
        return _parse(PullRequestPayload, response.data).to_domain()

    async def open_pull_requests(self, repository: Repository) -> Sequence[PullRequest]:
        """Return the first 1,000 open pull requests."""
        pages = self._pages(self._api(repository), "pulls", PullRequestPayload, limit=_MAX_PULL_REQUESTS, state="open")
        return [payload.to_domain() async for payload in pages]

    async def changed_files(self, repository: Repository, number: int) -> Sequence[ChangedFile]:
        """Return the first 1,000 changed files of a pull request."""
        pages = self._pages(self._api(repository), f"pulls/{number}/files", FilePayload, limit=MAX_CHANGED_FILES)
        return [file.to_domain() async for file in pages]

    async def commits(self, repository: Repository, newest: str, path: str, model: type[Payload]) -> Sequence[Payload]:
        """Return at most 100 commits that touch a path (empty: any), from ``newest`` backwards, with one request."""
        query: dict[str, int | str] = {"sha": newest, "per_page": _PAGE_SIZE, **({"path": path} if path else {})}
        response = await self._client.request("GET", self._api(repository), "commits", query=query)
        if not isinstance(response.data, list):
            raise SourceFailed("the git host's API does not respond with the requested list")
        return [_parse(model, item) for item in response.data[:_PAGE_SIZE]]

    async def comment(self, repository: Repository, number: int, text: str, *, may_create: bool = True) -> str:
        """Write this repository's comment on a pull request and return its address; see ``Host.comment``."""
        api, mark = self._api(repository), _comment_mark(repository)
        body = {"body": f"{mark}\n{text}"}
        async for comment in self._pages(api, f"issues/{number}/comments", CommentPayload, limit=_MAX_COMMENTS):
            if not (comment.body or "").startswith(mark):
                continue
            try:
                response = await self._client.request("PATCH", api, f"issues/comments/{comment.id}", body=body)
            except (Forbidden, NotFound):
                # Another account copied the mark, or the comment was just deleted.
                continue
            return _parse(CommentPayload, response.data).html_url
        if not may_create:
            return ""
        response = await self._client.request("POST", api, f"issues/{number}/comments", body=body)
        return _parse(CommentPayload, response.data).html_url

    async def set_commit_status(self, repository: Repository, status: CommitStatus) -> None:
        """Set this repository's status on a commit."""
        body = {
            "state": status.state.value,
            "description": status.text[:_MAX_STATUS_CHARACTERS],
            "context": f"dashwright/{repository.name}",
            **({"target_url": status.url} if status.url else {}),
        }
        await self._client.request("POST", self._api(repository), f"statuses/{status.commit}", body=body)

    async def hooks(self, repository: Repository) -> Sequence[Hook]:
        """Return the webhooks of the repository."""
        return [hook.to_domain() async for hook in self._pages(self._api(repository), "hooks", HookPayload, limit=_MAX_HOOKS)]

    async def create_hook(self, repository: Repository, spec: HookSpec) -> Hook:
        """Create a webhook."""
        response = await self._client.request("POST", self._api(repository), "hooks", body={"name": "web", **_hook_body(spec)})
        return _parse(HookPayload, response.data).to_domain()

    async def update_hook(self, repository: Repository, hook_id: int, spec: HookSpec) -> Hook:
        """Replace the address, events and secret of a webhook."""
        response = await self._client.request("PATCH", self._api(repository), f"hooks/{hook_id}", body=_hook_body(spec))
        return _parse(HookPayload, response.data).to_domain()

    async def delete_hook(self, repository: Repository, hook_id: int) -> None:
        """Delete a webhook."""
        await self._client.request("DELETE", self._api(repository), f"hooks/{hook_id}")

    async def _pages(self, api: Api, path: str, model: type[Payload], *, limit: int, **query: str) -> AsyncIterator[Payload]:
        """Yield the items of all pages by page number: a host's own link to the next page must not be followed with a token."""
        for page in range(1, -(-limit // _PAGE_SIZE) + 1):
            page_query: dict[str, str | int] = {**query, "per_page": _PAGE_SIZE, "page": page}
            response = await self._client.request("GET", api, path, query=page_query)
            if not isinstance(response.data, list):
                raise SourceFailed("the git host's API does not respond with the requested list")
            for item in response.data[:_PAGE_SIZE]:
                yield _parse(model, item)
            if not response.has_more:
                return

    def _api(self, repository: Repository) -> Api:
        githost = repository.spec.remote
        if githost is None or not githost.url:
            raise BadRequest("a local directory has no pull requests and no webhooks")
        return api_of(githost.url, token_of(repository, githost, self._cipher), self._apis, repository.namespace)


def _hook_body(spec: HookSpec) -> dict[str, Any]:
    config = {"url": spec.url, "content_type": "json", "secret": spec.secret, "insecure_ssl": "0"}
    return {"active": True, "events": sorted(spec.events), "config": config}


def _comment_mark(repository: Repository) -> str:
    """Return the invisible mark by which the comment of this repository is found again."""
    return f"<!-- dashwright:{repository.uid} -->"


def _parse(model: type[Payload], data: Any) -> Payload:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fields = ", ".join(sorted({str(fault["loc"][0]) for fault in error.errors(include_input=False) if fault["loc"]}))
        raise SourceFailed(f"the git host's API responds without required members: {fields or 'an object'}") from error
