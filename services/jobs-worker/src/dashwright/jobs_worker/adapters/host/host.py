"""The port ``Host`` over the REST API that git hosts have in common."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from dashwright.common.errors import BadRequest, Forbidden, NotFound, SourceFailed
from dashwright.common.secrets import SecretBox
from dashwright.jobs_worker.adapters.host.addresses import Api, api_of, token_of
from dashwright.jobs_worker.adapters.host.answers import CommentPayload, FilePayload, HookPayload, PullRequestPayload
from dashwright.jobs_worker.adapters.host.client import HostClient
from dashwright.jobs_worker.domain.hosting import MOST_FILES, ChangedFile, CommitStatus, Hook, HookSpec, PullRequest
from dashwright.jobs_worker.domain.objects import Repository

Read = TypeVar("Read", bound=BaseModel)

_PAGE: Final = 100
_MOST_PULL_REQUESTS: Final = 1000
_MOST_COMMENTS: Final = 1000
_MOST_HOOKS: Final = 300
_LONGEST_STATUS: Final = 140


class RestHost:
    """As the port says. ``apis`` are the addresses of APIs that are not where one would look, by their hosts."""

    def __init__(self, client: HostClient, box: SecretBox, apis: Mapping[str, str]) -> None:
        self._client = client
        self._box = box
        self._apis = apis

    async def pull_request(self, repository: Repository, number: int) -> PullRequest:
        try:
            answer = await self._client.request("GET", self._api(repository), f"pulls/{number}")
        except NotFound as error:
            why = "it is gone, the token may not see it, or the API is elsewhere (DASHWRIGHT_GIT_HOST_APIS)"
            raise NotFound(f"the git host's API knows no pull request {number} of this repository: {why}") from error
        return _read(PullRequestPayload, answer.data).to_domain()

    async def open_pull_requests(self, repository: Repository) -> Sequence[PullRequest]:
        pages = self._pages(self._api(repository), "pulls", PullRequestPayload, most=_MOST_PULL_REQUESTS, state="open")
        return [request.to_domain() async for request in pages]

    async def changed_files(self, repository: Repository, number: int) -> Sequence[ChangedFile]:
        pages = self._pages(self._api(repository), f"pulls/{number}/files", FilePayload, most=MOST_FILES)
        return [file.to_domain() async for file in pages]

    async def commits(self, repository: Repository, newest: str, path: str, model: type[Read]) -> Sequence[Read]:
        """Return at most 100 commits that touch a path (empty: any), ``newest`` and before it, with one request."""
        query: dict[str, int | str] = {"sha": newest, "per_page": _PAGE, **({"path": path} if path else {})}
        answer = await self._client.request("GET", self._api(repository), "commits", query=query)
        if not isinstance(answer.data, list):
            raise SourceFailed("the git host's API answers with something else than the list that was asked for")
        return [_read(model, item) for item in answer.data[:_PAGE]]

    async def comment(self, repository: Repository, number: int, text: str, *, may_create: bool = True) -> str:
        api, mark = self._api(repository), _mark(repository)
        body = {"body": f"{mark}\n{text}"}
        async for said in self._pages(api, f"issues/{number}/comments", CommentPayload, most=_MOST_COMMENTS):
            if not (said.body or "").startswith(mark):
                continue
            try:
                answer = await self._client.request("PATCH", api, f"issues/comments/{said.id}", body=body)
            except (Forbidden, NotFound):
                # Somebody else's who copied the mark, or gone meanwhile.
                continue
            return _read(CommentPayload, answer.data).html_url
        if not may_create:
            return ""
        answer = await self._client.request("POST", api, f"issues/{number}/comments", body=body)
        return _read(CommentPayload, answer.data).html_url

    async def set_commit_status(self, repository: Repository, status: CommitStatus) -> None:
        body = {
            "state": status.state.value,
            "description": status.text[:_LONGEST_STATUS],
            "context": f"dashwright/{repository.name}",
            **({"target_url": status.url} if status.url else {}),
        }
        await self._client.request("POST", self._api(repository), f"statuses/{status.commit}", body=body)

    async def hooks(self, repository: Repository) -> Sequence[Hook]:
        return [hook.to_domain() async for hook in self._pages(self._api(repository), "hooks", HookPayload, most=_MOST_HOOKS)]

    async def make_hook(self, repository: Repository, wanted: HookSpec) -> Hook:
        answer = await self._client.request("POST", self._api(repository), "hooks", body={"name": "web", **_hook(wanted)})
        return _read(HookPayload, answer.data).to_domain()

    async def change_hook(self, repository: Repository, number: int, wanted: HookSpec) -> Hook:
        answer = await self._client.request("PATCH", self._api(repository), f"hooks/{number}", body=_hook(wanted))
        return _read(HookPayload, answer.data).to_domain()

    async def remove_hook(self, repository: Repository, number: int) -> None:
        await self._client.request("DELETE", self._api(repository), f"hooks/{number}")

    async def _pages(self, api: Api, path: str, model: type[Read], *, most: int, **query: str) -> AsyncIterator[Read]:
        """By their numbers: where a host says that the next one lies is nothing to follow with a token."""
        for page in range(1, -(-most // _PAGE) + 1):
            numbered: dict[str, str | int] = {**query, "per_page": _PAGE, "page": page}
            answer = await self._client.request("GET", api, path, query=numbered)
            if not isinstance(answer.data, list):
                raise SourceFailed("the git host's API answers with something else than the list that was asked for")
            for item in answer.data[:_PAGE]:
                yield _read(model, item)
            if not answer.has_more:
                return

    def _api(self, repository: Repository) -> Api:
        githost = repository.spec.remote
        if githost is None or not githost.url:
            raise BadRequest("a folder has no pull requests and no hooks")
        return api_of(githost.url, token_of(repository, githost, self._box), self._apis, repository.namespace)


def _hook(wanted: HookSpec) -> dict[str, Any]:
    config = {"url": wanted.url, "content_type": "json", "secret": wanted.secret, "insecure_ssl": "0"}
    return {"active": True, "events": sorted(wanted.events), "config": config}


def _mark(repository: Repository) -> str:
    """By this a comment is known again; nobody sees it."""
    return f"<!-- dashwright:{repository.uid} -->"


def _read(model: type[Read], data: Any) -> Read:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fields = ", ".join(sorted({str(fault["loc"][0]) for fault in error.errors(include_input=False) if fault["loc"]}))
        raise SourceFailed(f"the git host's API answers without what it promises: {fields or 'an object'}") from error
