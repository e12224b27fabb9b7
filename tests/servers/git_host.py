"""A git host over HTTP on the loopback: the git server with a REST API for pull requests, comments, statuses and hooks.

Branches, commits and changed files are read from its git repositories. Its hooks are called like those of a real host.
"""

import asyncio
import hashlib
import hmac
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import aiohttp
import orjson
from aiohttp import web
from tests.servers import git_host_responses as responses
from tests.servers.git import GitServer, WorkTree, git, listening

#: Hash that takes the place of a commit before a branch exists and after it was deleted.
_NO_COMMIT = "0" * 40
Numbered = TypeVar("Numbered")

#: Names that the API has for git's letters of changes.
_STATUSES = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}


class ApiDescription(Protocol):
    """Checks of requests and responses against the official description. Paths are relative to the address of the API."""

    def fault_of_request(self, method: str, path: str, query: Mapping[str, str], body: Any) -> str | None:
        """Return what the description does not allow about a request, or None."""
        ...

    def check_response(self, method: str, path: str, status: int, body: Any) -> None:
        """Raise AssertionError for a response that the description does not allow."""
        ...


class NotFound(Exception):
    """An unknown object, which is a response with status 404."""


@dataclass
class RequestRefused(Exception):
    """A request that the API does not accept."""

    status: int
    message: str


@dataclass
class PullRequest:
    """State of one pull request."""

    #: Branch into which the request is merged.
    base: str
    #: Branch with the changes.
    head: str
    title: str
    #: State in GitHub's API: ``open`` or ``closed``.
    state: str = "open"
    merged: bool = False
    #: Name of the repository of ``head``, if that is a fork; otherwise empty.
    head_repository: str = ""
    #: Text of each comment, by its id.
    comments: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Delivery:
    """Call of a webhook and its response; status 0 means no response."""

    event: str
    payload: dict[str, Any]
    status: int
    response: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class HostRepository:
    """State of one repository that git does not store."""

    name: str
    default_branch: str = "main"
    #: Pull requests by number.
    pulls: dict[int, PullRequest] = field(default_factory=dict)
    #: Commit and content of each status, in the order of the requests.
    statuses: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    #: Hooks by number, as their creation requested them.
    hooks: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: Commits of the branches, by name, when hooks were last called.
    branches: dict[str, str] = field(default_factory=dict)


@dataclass
class GitHost(GitServer):
    """A git server with the REST API of GitHub. Subclasses have the APIs of other hosts."""

    #: Path of the API.
    api_path: ClassVar[str] = "/api/v3/"
    #: Value of ``GIT_HOST_APIS`` for this host, in which the origin is inserted; empty if a worker recognizes it.
    setting: ClassVar[str] = ""
    #: Git reference of the newest commit of a pull request.
    pull_reference: ClassVar[str] = "refs/pull/{}/head"
    #: Function that returns a response to send in place of the API's, or None.
    api_fault: Callable[[web.Request], Awaitable[web.StreamResponse | None]] | None = None
    #: Description of the API; requests that it does not allow are refused.
    description: ApiDescription | None = None
    #: Upper bound of items on a page, even if the client requests more.
    max_page_size: int = 100
    repositories: dict[str, HostRepository] = field(default_factory=dict)
    #: Requests to the API, as ``METHOD path``.
    calls: list[str] = field(default_factory=list)
    #: Requests for the version of a host: the path, and whether there was a token.
    probes: list[tuple[str, bool]] = field(default_factory=list)
    #: Calls of hooks, in order.
    deliveries: list[Delivery] = field(default_factory=list)
    #: The last number that was given to a pull request, comment, status or hook.
    _numbers: int = 0
    _running_hooks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def origin(self) -> str:
        """The beginning of all URLs of the host."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def apis(self) -> dict[str, str]:
        """The setting GIT_HOST_APIS of a worker that uses this host."""
        return {f"127.0.0.1:{self.port}": self.setting.format(self.origin)} if self.setting else {}

    def create_repository(self, name: str) -> WorkTree:
        """Create a repository that the API knows, and return a work tree to change it."""
        self.repositories[name] = HostRepository(name)
        return super().create_repository(name)

    def open_pull(self, name: str, head: str, *, base: str = "main", title: str = "Change") -> int:
        """Open a pull request between two existing branches and return its number."""
        repository = self.repositories[name]
        number = self._next_number()
        repository.pulls[number] = PullRequest(base, head, title)
        self._deliver_pull_request(repository, number, "opened")
        return number

    def move_to_fork(self, name: str, number: int, fork: str) -> None:
        """Move the branch of a pull request to a fork. Its commit remains in this repository, but without a branch."""
        pull = self.repositories[name].pulls[number]
        self._head(name, number)
        git(self.folder(name), "update-ref", "-d", f"refs/heads/{pull.head}")
        pull.head_repository = fork

    def merge(self, name: str, number: int) -> None:
        """Merge a pull request by fast-forward."""
        repository = self.repositories[name]
        pull = repository.pulls[number]
        head = self._head(name, number)
        git(self.folder(name), "update-ref", f"refs/heads/{pull.base}", head)
        pull.state, pull.merged = "closed", True
        self._deliver_pull_request(repository, number, "closed")
        self.call_push_hooks(name)

    def call_push_hooks(self, name: str) -> None:
        """Call hooks for every branch that changed since the last call. A push over HTTP does this automatically."""
        repository, branches = self.repositories[name], self._refs(name)
        previous, repository.branches = repository.branches, branches
        for branch in sorted(previous.keys() | branches.keys()):
            old, new = previous.get(branch, _NO_COMMIT), branches.get(branch, _NO_COMMIT)
            if old == new:
                continue
            self._deliver_push(repository, branch, old, new)
            for number, pull in repository.pulls.items():
                if pull.head == branch and pull.state == "open" and new != _NO_COMMIT:
                    self._deliver_pull_request(repository, number, "synchronize")

    def _deliver_pull_request(self, repository: HostRepository, number: int, action: str) -> None:
        """Call hooks after a change of a pull request: ``opened``, ``synchronize`` or ``closed``."""
        content = {"action": action, "number": number, "pull_request": self._pull(repository, number)}
        self._call_hooks(repository, "pull_request", content)

    def _deliver_push(self, repository: HostRepository, branch: str, old: str, new: str) -> None:
        """Call hooks after the change of a branch from one commit to another."""
        content = {"ref": f"refs/heads/{branch}", "before": old, "after": new, "forced": False, "commits": []}
        self._call_hooks(repository, "push", {**content, "created": old == _NO_COMMIT, "deleted": new == _NO_COMMIT})

    async def wait_for_hooks(self) -> None:
        """Wait until every running delivery has ended."""
        while self._running_hooks:
            await asyncio.gather(*self._running_hooks)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Respond to a probe, to a request to the API, or to a request of git."""
        if request.path.endswith(("/version", "/application-properties")):
            self.probes.append((request.path, "Authorization" in request.headers))
            return self._version(request)
        if request.path.startswith(self.api_path):
            return await self._api_response(request)
        response = await super().respond(request)
        if request.method == "POST" and request.path.endswith("/git-receive-pack"):
            self.call_push_hooks(request.path.removesuffix("/git-receive-pack").strip("/").removeprefix(self.git_path).removesuffix(".git"))
        return response

    def _version(self, request: web.Request) -> web.Response:
        """Return the response to a probe. GitHub has no such route."""
        return self._refusal(HTTPStatus.NOT_FOUND, "Not Found")

    async def _api_response(self, request: web.Request) -> web.StreamResponse:
        """Return the response to a request to the API, after checking it against the description."""
        path = request.rel_url.raw_path.removeprefix(self.api_path.rstrip("/"))
        self.calls.append(f"{request.method} {path}")
        if self.api_fault is not None and (response := await self.api_fault(request)) is not None:
            return response
        if self.token and not self._may_call(request):
            return self._refusal(HTTPStatus.UNAUTHORIZED, "Bad credentials")
        body = await request.read()
        request_json = orjson.loads(body) if body else None
        if self.description is not None and (fault := self.description.fault_of_request(request.method, path, request.query, request_json)):
            return self._refusal(HTTPStatus.UNPROCESSABLE_ENTITY, fault)
        try:
            status, content = self._handle(request.method, path, request_json)
        except RequestRefused as refusal:
            return self._refusal(HTTPStatus(refusal.status), refusal.message)
        except NotFound:
            return self._refusal(HTTPStatus.NOT_FOUND, "Not Found")
        headers: dict[str, str] = {}
        if isinstance(content, list):
            content, headers = self._page_response(request, content)
        if self.description is not None:
            self.description.check_response(request.method, path, status, content)
        return web.Response(
            status=status, body=b"" if content is None else orjson.dumps(content), headers=headers, content_type="application/json"
        )

    def _may_call(self, request: web.Request) -> bool:
        """Return True if a request has the token."""
        return request.headers.get("Authorization") == f"Bearer {self.token}"

    def _refusal(self, status: HTTPStatus, message: str) -> web.Response:
        """Return an error in the shape of the API."""
        body = {"message": message, "documentation_url": "https://docs.example.org/rest", "status": str(int(status))}
        return web.json_response(body, status=int(status))

    def _page_response(self, request: web.Request, items: list[Any]) -> tuple[Any, dict[str, str]]:
        """Return the body and the headers of the requested page of a list."""
        size = min(self.max_page_size, int(request.query.get("per_page", 30)))
        page = int(request.query.get("page", 1))
        next_url = str(request.url.update_query(page=page + 1))
        headers = {"Link": f'<{next_url}>; rel="next"'} if page * size < len(items) else {}
        return items[(page - 1) * size : page * size], headers

    def _handle(self, method: str, path: str, request_json: Any) -> tuple[int, Any]:
        """Return status and content of the response to a permitted request. Raises NotFound or RequestRefused."""
        match = re.fullmatch(r"/repos/([^/]+/[^/]+)/(.+)", path)
        if match is None or match[1] not in self.repositories:
            raise NotFound
        repository = self.repositories[match[1]]
        repository_json = responses.repository(self.origin, repository.name, repository.default_branch)
        match method, match[2].split("/"):
            case "GET", ["pulls"]:
                return 200, [self._pull(repository, number) for number, pull in repository.pulls.items() if pull.state == "open"]
            case "GET", ["commits"]:
                return 200, [responses.commit(self.origin, repository_json, *line.split("\t")) for line in self._log(repository.name)]
            case "GET", ["pulls", number]:
                return 200, self._pull(repository, int(number))
            case "GET", ["pulls", number, "files"]:
                return 200, self._files(repository, int(number), repository_json)
            case (("GET" | "POST" | "PATCH"), ["issues", *rest]):
                return self._comments(method, repository, rest, request_json, repository_json)
            case "POST", ["statuses", commit]:
                repository.statuses.append((commit, request_json))
                return 201, responses.status(self.origin, repository_json, self._next_number(), commit, request_json)
            case _, ["hooks", *rest]:
                return self._hooks(method, repository, rest, request_json, repository_json)
        raise NotFound

    def _comments(
        self, method: str, repository: HostRepository, path_parts: list[str], request_json: Any, repository_json: dict[str, Any]
    ) -> tuple[int, Any]:
        """List, create or change comments of a pull request, which are those of an issue with the same number."""
        match method, path_parts:
            case "GET", [issue, "comments"]:
                comments = find_by_number(repository.pulls, issue).comments
                return 200, [responses.comment(self.origin, repository_json, int(issue), number, body) for number, body in comments.items()]
            case "POST", [issue, "comments"]:
                created = self._next_number()
                find_by_number(repository.pulls, issue).comments[created] = request_json["body"]
                return 201, responses.comment(self.origin, repository_json, int(issue), created, request_json["body"])
            case "PATCH", ["comments", number]:
                for pull_number, pull in repository.pulls.items():
                    if int(number) in pull.comments:
                        pull.comments[int(number)] = request_json["body"]
                        return 200, responses.comment(self.origin, repository_json, pull_number, int(number), request_json["body"])
        raise NotFound

    def _hooks(
        self, method: str, repository: HostRepository, path_parts: list[str], request_json: Any, repository_json: dict[str, Any]
    ) -> tuple[int, Any]:
        """List, create, change or delete hooks. A new hook is called with the event ``ping``."""
        if not path_parts and method == "GET":
            return 200, [responses.hook(repository_json, number, hook) for number, hook in repository.hooks.items()]
        if not path_parts and method == "POST":
            number = self._next_number()
            repository.hooks[number] = {"active": True, "events": ["push"], **request_json}
            repository.branches = self._refs(repository.name)
            self._call_hook(
                repository, repository.hooks[number], "ping", {"zen": "Keep it simple.", "hook_id": number, "hook": {"id": number}}
            )
            return 201, responses.hook(repository_json, number, repository.hooks[number])
        hook = find_by_number(repository.hooks, path_parts[0])
        if method == "DELETE":
            del repository.hooks[int(path_parts[0])]
            return 204, None
        if method == "PATCH":
            hook |= request_json
        return 200, responses.hook(repository_json, int(path_parts[0]), hook)

    def _head(self, name: str, number: int) -> str:
        """Return the head commit of a pull request, which has a reference of its own: its branch may be deleted, or belong to a fork."""
        folder, reference = self.folder(name), self.pull_reference.format(number)
        if head := self._refs(name).get(self.repositories[name].pulls[number].head):
            git(folder, "update-ref", reference, head)
        return git(folder, "rev-parse", reference)

    def _pull(self, repository: HostRepository, number: int) -> dict[str, Any]:
        """Return a pull request as JSON."""
        pull, refs = find_by_number(repository.pulls, str(number)), self._refs(repository.name)
        repository_json = responses.repository(self.origin, repository.name, repository.default_branch)
        content = {
            "title": pull.title,
            "state": pull.state,
            "merged": pull.merged,
            "base": (pull.base, refs[pull.base]),
            "head": (pull.head, self._head(repository.name, number)),
            "head_repository": responses.repository(self.origin, pull.head_repository or repository.name, repository.default_branch),
            "changed_files": len(self._files(repository, number, repository_json)),
        }
        return responses.pull_request(self.origin, repository_json, number, content)

    def _files(self, repository: HostRepository, number: int, repository_json: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the changed files of a pull request as JSON."""
        changes = self._changes(repository, number)
        return [responses.changed_file(repository_json, path, _STATUSES[letter], previous) for letter, path, previous in changes]

    def _changes(self, repository: HostRepository, number: int) -> list[tuple[str, str, str]]:
        """Return git's letter for the change, the path and the former path of each changed file of a pull request."""
        pull = find_by_number(repository.pulls, str(number))
        output = git(
            self.folder(repository.name), "diff", "--name-status", "-z", "-M", f"{pull.base}...{self._head(repository.name, number)}"
        ).split("\0")
        # Each change is a letter (with a percentage, if similar) and its path, preceded by the former path of a rename or copy.
        changes, fields = [], iter(output[:-1])
        for status in fields:
            previous = next(fields) if status[0] in "RC" else ""
            changes.append((status[0], next(fields), previous))
        return changes

    def _log(self, name: str) -> list[str]:
        """Return hash, author and committer of each commit of main, separated by tabs."""
        return git(self.folder(name), "log", "--format=%H%x09%an%x09%cn", "main").splitlines()

    def _refs(self, name: str) -> dict[str, str]:
        """Return the commits of the branches, by name."""
        output = git(self.folder(name), "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")
        return {branch: commit for branch, _, commit in (line.partition(" ") for line in output.splitlines())}

    def _call_hooks(self, repository: HostRepository, event: str, payload: dict[str, Any]) -> None:
        """Call all hooks that subscribe to an event."""
        for hook in repository.hooks.values():
            if self._subscribes(hook, event):
                self._call_hook(repository, hook, event, payload)

    def _subscribes(self, hook: dict[str, Any], event: str) -> bool:
        """Return True if a hook is to be called at an event."""
        return bool(hook["active"]) and event in hook["events"]

    def _call_hook(self, repository: HostRepository, hook: dict[str, Any], event: str, payload: dict[str, Any]) -> None:
        """Call one hook in the background."""
        body = orjson.dumps({**payload, **self._repository_of_delivery(repository)})
        url, headers = self._hook_url(hook), self._delivery_headers(hook, event, body)
        task = asyncio.create_task(self._deliver(url, headers, event, body))
        self._running_hooks.add(task)
        task.add_done_callback(self._running_hooks.discard)

    def _repository_of_delivery(self, repository: HostRepository) -> dict[str, Any]:
        """Return the members of a payload that describe the repository."""
        return {"repository": responses.repository(self.origin, repository.name, repository.default_branch)}

    def _hook_url(self, hook: dict[str, Any]) -> str:
        """Return the URL that a hook calls."""
        return str(hook["config"]["url"])

    def _delivery_headers(self, hook: dict[str, Any], event: str, body: bytes) -> dict[str, str]:
        """Return the headers of a delivery, with its signature."""
        headers = {"X-GitHub-Event": event, "X-GitHub-Delivery": str(uuid.uuid4())}
        if secret := hook["config"].get("secret"):
            headers["X-Hub-Signature-256"] = signature(secret, body)
        return headers

    async def _deliver(self, url: str, headers: dict[str, str], event: str, body: bytes) -> None:
        """Send a delivery, and record it with the response."""
        headers = {**headers, "Content-Type": "application/json"}
        try:
            async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers, ssl=False) as response:
                status, text = response.status, await response.text()
        except aiohttp.ClientError as error:
            status, text = 0, str(error)
        self.deliveries.append(Delivery(event, orjson.loads(body), status, text, headers))

    def _next_number(self) -> int:
        """Return a number that no other object has."""
        self._numbers += 1
        return self._numbers


def signature(secret: str, body: bytes) -> str:
    """Return the signature that a host sends with a delivery."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def find_by_number(objects: dict[int, Numbered], number: str) -> Numbered:
    """Return the object with the number in a path. Raises NotFound."""
    if not number.isdigit() or int(number) not in objects:
        raise NotFound
    return objects[int(number)]


@asynccontextmanager
async def serving(
    root: Path, *, key_and_certificate: Path | None = None, token: str = "", kind: type[GitHost] | None = None
) -> AsyncIterator[GitHost]:
    """Run a host on a free loopback port while the block runs; over TLS with a key and its certificate. The default ``kind`` is GitHub."""
    host = (kind or GitHost)(root, token=token, scheme="https" if key_and_certificate else "http")
    async with listening(host, key_and_certificate=key_and_certificate):
        try:
            yield host
        finally:
            await host.wait_for_hooks()
