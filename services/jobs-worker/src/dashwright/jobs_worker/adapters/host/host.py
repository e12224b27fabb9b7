"""The port ``Host`` over the REST API that git hosts have in common."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from dashwright.common.errors import BadRequest, Forbidden, NotFound, SourceFailed
from dashwright.common.secrets import SecretBox
from dashwright.jobs_worker.adapters.host.addresses import Api, api_of, token_of
from dashwright.jobs_worker.adapters.host.client import HostClient
from dashwright.jobs_worker.adapters.host.payloads import CommentPayload, FilePayload, HookPayload, PullRequestPayload
from dashwright.jobs_worker.domain.hosting import MOST_FILES, ChangedFile, CommitStatus, Hook, HookSpec, PullRequest
from dashwright.jobs_worker.domain.objects import Repository

Read = TypeVar("Read", bound=BaseModel)

_PAGE: Final = 100
_MOST_PULL_REQUESTS: Final = 1000
_MOST_COMMENTS: Final = 1000
_MOST_HOOKS: Final = 300
_LONGEST_STATUS: Final = 140


class RestHost:
    """A git host by its REST API. ``apis`` are the addresses of APIs that are not at the usual place, by host."""

    def __init__(self, client: HostClient, box: SecretBox, apis: Mapping[str, str]) -> None:
        self._client = client
        self._box = box
        self._apis = apis

    async def pull_request(self, repository: Repository, number: int) -> PullRequest:
        """Return a pull request by number."""
        try:
            answer = await self._client.request("GET", self._api(repository), f"pulls/{number}")
        except NotFound as error:
            why = "it is deleted, the token may not see it, or the API is elsewhere (DASHWRIGHT_GIT_HOST_APIS)"
            raise NotFound(f"the git host's API knows no pull request {number} of this repository: {why}") from error
        return _read(PullRequestPayload, answer.data).to_domain()

    async def open_pull_requests(self, repository: Repository) -> Sequence[PullRequest]:
        """Return the first 1,000 open pull requests."""
        pages = self._pages(self._api(repository), "pulls", PullRequestPayload, most=_MOST_PULL_REQUESTS, state="open")
        return [request.to_domain() async for request in pages]

    async def changed_files(self, repository: Repository, number: int) -> Sequence[ChangedFile]:
        """Return the first 1,000 changed files of a pull request."""
        pages = self._pages(self._api(repository), f"pulls/{number}/files", FilePayload, most=MOST_FILES)
        return [file.to_domain() async for file in pages]

    async def commits(self, repository: Repository, newest: str, path: str, model: type[Read]) -> Sequence[Read]:
        """Return at most 100 commits that touch a path (empty: any), ``newest`` and before it, with one request."""
        query: dict[str, int | str] = {"sha": newest, "per_page": _PAGE, **({"path": path} if path else {})}
        answer = await self._client.request("GET", self._api(repository), "commits", query=query)
        if not isinstance(answer.data, list):
            raise SourceFailed("the git host's API does not respond with the requested list")
        return [_read(model, item) for item in answer.data[:_PAGE]]

    async def comment(self, repository: Repository, number: int, text: str, *, may_create: bool = True) -> str:
        """Write this repository's comment on a pull request and return its address, as the port describes."""
        api, mark = self._api(repository), _mark(repository)
        body = {"body": f"{mark}\n{text}"}
        async for comment in self._pages(api, f"issues/{number}/comments", CommentPayload, most=_MOST_COMMENTS):
            if not (comment.body or "").startswith(mark):
                continue
            try:
                answer = await self._client.request("PATCH", api, f"issues/comments/{comment.id}", body=body)
            except (Forbidden, NotFound):
                # Another account copied the mark, or the comment was just deleted.
                continue
            return _read(CommentPayload, answer.data).html_url
        if not may_create:
            return ""
        answer = await self._client.request("POST", api, f"issues/{number}/comments", body=body)
        return _read(CommentPayload, answer.data).html_url

    async def set_commit_status(self, repository: Repository, status: CommitStatus) -> None:
        """Set this repository's status on a commit."""
        body = {
            "state": status.state.value,
            "description": status.text[:_LONGEST_STATUS],
            "context": f"dashwright/{repository.name}",
            **({"target_url": status.url} if status.url else {}),
        }
        await self._client.request("POST", self._api(repository), f"statuses/{status.commit}", body=body)

    async def hooks(self, repository: Repository) -> Sequence[Hook]:
        """Return the webhooks of the repository."""
        return [hook.to_domain() async for hook in self._pages(self._api(repository), "hooks", HookPayload, most=_MOST_HOOKS)]

    async def make_hook(self, repository: Repository, spec: HookSpec) -> Hook:
        """Create a webhook."""
        answer = await self._client.request("POST", self._api(repository), "hooks", body={"name": "web", **_hook(spec)})
        return _read(HookPayload, answer.data).to_domain()

    async def change_hook(self, repository: Repository, number: int, spec: HookSpec) -> Hook:
        """Change a webhook."""
        answer = await self._client.request("PATCH", self._api(repository), f"hooks/{number}", body=_hook(spec))
        return _read(HookPayload, answer.data).to_domain()

    async def remove_hook(self, repository: Repository, number: int) -> None:
        """Delete a webhook."""
        await self._client.request("DELETE", self._api(repository), f"hooks/{number}")

    async def _pages(self, api: Api, path: str, model: type[Read], *, most: int, **query: str) -> AsyncIterator[Read]:
        """Yield the items of all pages by page number: a host's own link to the next page must not be followed with a token."""
        for page in range(1, -(-most // _PAGE) + 1):
            numbered: dict[str, str | int] = {**query, "per_page": _PAGE, "page": page}
            answer = await self._client.request("GET", api, path, query=numbered)
            if not isinstance(answer.data, list):
                raise SourceFailed("the git host's API does not respond with the requested list")
            for item in answer.data[:_PAGE]:
                yield _read(model, item)
            if not answer.has_more:
                return

    def _api(self, repository: Repository) -> Api:
        githost = repository.spec.remote
        if githost is None or not githost.url:
            raise BadRequest("a folder has no pull requests and no webhooks")
        return api_of(githost.url, token_of(repository, githost, self._box), self._apis, repository.namespace)


def _hook(spec: HookSpec) -> dict[str, Any]:
    config = {"url": spec.url, "content_type": "json", "secret": spec.secret, "insecure_ssl": "0"}
    return {"active": True, "events": sorted(spec.events), "config": config}


def _mark(repository: Repository) -> str:
    """Return the invisible mark by which the comment of this repository is found again."""
    return f"<!-- dashwright:{repository.uid} -->"


def _read(model: type[Read], data: Any) -> Read:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fields = ", ".join(sorted({str(fault["loc"][0]) for fault in error.errors(include_input=False) if fault["loc"]}))
        raise SourceFailed(f"the git host's API responds without required members: {fields or 'an object'}") from error
