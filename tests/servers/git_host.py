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
from typing import Any, Protocol, TypeVar

import aiohttp
import orjson
from aiohttp import web
from tests.servers import git_host_responses as responses
from tests.servers.git import GitServer, Work, git, listening

_API = "/api/v3/"
_NO_COMMIT = "0" * 40
Thing = TypeVar("Thing")

_STATUSES = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}


class ApiDescription(Protocol):
    """Checks of requests and responses against the official description. Paths are relative to the address of the API."""

    def fault_of_request(self, method: str, path: str, query: Mapping[str, str], body: Any) -> str | None: ...

    def check_response(self, method: str, path: str, status: int, body: Any) -> None:
        """Raise AssertionError for a response that the description does not allow."""
        ...


class NotFound(Exception):
    """An unknown object, which is a response with status 404."""


@dataclass
class Pull:
    base: str
    head: str
    title: str
    state: str = "open"
    merged: bool = False
    head_of: str = ""
    comments: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Delivery:
    """Call of a webhook and its response; status 0 means no response."""

    event: str
    payload: dict[str, Any]
    status: int
    answer: str


@dataclass
class HostRepository:
    """State of one repository that is not in git."""

    name: str
    default_branch: str = "main"
    pulls: dict[int, Pull] = field(default_factory=dict)
    statuses: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    hooks: dict[int, dict[str, Any]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)


@dataclass
class GitHost(GitServer):
    """A git server with the REST API of a git host."""

    #: Function that returns a response to send in place of the API's, or None.
    api_fault: Callable[[web.Request], Awaitable[web.StreamResponse | None]] | None = None
    #: Description of the API; requests that it does not allow are refused.
    description: ApiDescription | None = None
    #: Upper bound of items on a page, whatever the client requests.
    page: int = 100
    repositories: dict[str, HostRepository] = field(default_factory=dict)
    #: Requests to the API, as ``METHOD path``.
    calls: list[str] = field(default_factory=list)
    #: Calls of hooks, in order.
    deliveries: list[Delivery] = field(default_factory=list)
    _numbers: int = 0
    _running_hooks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def origin(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def make(self, name: str) -> Work:
        self.repositories[name] = HostRepository(name)
        return super().make(name)

    def open_pull(self, name: str, head: str, *, base: str = "main", title: str = "Change") -> int:
        """Open a pull request between two existing branches and return its number."""
        repository = self.repositories[name]
        number = self._next()
        repository.pulls[number] = Pull(base, head, title)
        self._call_hooks(repository, "pull_request", {"action": "opened", "number": number, "pull_request": self._pull(repository, number)})
        return number

    def move_to_fork(self, name: str, number: int, fork: str) -> None:
        """Make a pull request come from a fork: its branch is not in this repository, its commit is."""
        pull = self.repositories[name].pulls[number]
        self._head(name, number)
        git(self.root / name, "update-ref", "-d", f"refs/heads/{pull.head}")
        pull.head_of = fork

    def merge(self, name: str, number: int) -> None:
        """Merge a pull request by fast-forward."""
        repository = self.repositories[name]
        pull = repository.pulls[number]
        head = self._head(name, number)
        git(self.root / name, "update-ref", f"refs/heads/{pull.base}", head)
        pull.state, pull.merged = "closed", True
        self._call_hooks(repository, "pull_request", {"action": "closed", "number": number, "pull_request": self._pull(repository, number)})
        self.call_push_hooks(name)

    def call_push_hooks(self, name: str) -> None:
        """Call the hooks of every branch that changed since the last call. A push over HTTP calls this automatically."""
        repository, now = self.repositories[name], self._refs(name)
        before, repository.branches = repository.branches, now
        for branch in sorted(before.keys() | now.keys()):
            old, new = before.get(branch, _NO_COMMIT), now.get(branch, _NO_COMMIT)
            if old == new:
                continue
            content = {"ref": f"refs/heads/{branch}", "before": old, "after": new, "forced": False, "commits": []}
            self._call_hooks(repository, "push", {**content, "created": old == _NO_COMMIT, "deleted": new == _NO_COMMIT})
            for number, pull in repository.pulls.items():
                if pull.head == branch and pull.state == "open" and new != _NO_COMMIT:
                    change = {"action": "synchronize", "number": number, "pull_request": self._pull(repository, number)}
                    self._call_hooks(repository, "pull_request", change)

    async def wait_for_hooks(self) -> None:
        """Wait until every running delivery has ended."""
        while self._running_hooks:
            await asyncio.gather(*self._running_hooks)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        if request.path.startswith(_API):
            return await self._api_response(request)
        response = await super().respond(request)
        if request.method == "POST" and request.path.endswith("/git-receive-pack"):
            self.call_push_hooks(request.path.removesuffix("/git-receive-pack").strip("/").removesuffix(".git"))
        return response

    async def _api_response(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path.removeprefix(_API.rstrip("/"))
        self.calls.append(f"{request.method} {path}")
        if self.api_fault is not None and (response := await self.api_fault(request)) is not None:
            return response
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return _refused(HTTPStatus.UNAUTHORIZED, "Bad credentials")
        body = await request.read()
        sent = orjson.loads(body) if body else None
        if self.description is not None and (fault := self.description.fault_of_request(request.method, path, request.query, sent)):
            return _refused(HTTPStatus.UNPROCESSABLE_ENTITY, fault)
        try:
            status, content = self._call(request.method, path, sent)
        except NotFound:
            return _refused(HTTPStatus.NOT_FOUND, "Not Found")
        headers: dict[str, str] = {}
        if isinstance(content, list):
            content, headers = self._paged(request, content)
        if self.description is not None:
            self.description.check_response(request.method, path, status, content)
        return web.Response(
            status=status, body=b"" if content is None else orjson.dumps(content), headers=headers, content_type="application/json"
        )

    def _paged(self, request: web.Request, items: list[Any]) -> tuple[list[Any], dict[str, str]]:
        size = min(self.page, int(request.query.get("per_page", 30)))
        page = int(request.query.get("page", 1))
        following = str(request.url.update_query(page=page + 1))
        headers = {"Link": f'<{following}>; rel="next"'} if page * size < len(items) else {}
        return items[(page - 1) * size : page * size], headers

    def _call(self, method: str, path: str, sent: Any) -> tuple[int, Any]:
        match = re.fullmatch(r"/repos/([^/]+/[^/]+)/(.+)", path)
        if match is None or match[1] not in self.repositories:
            raise NotFound
        repository = self.repositories[match[1]]
        of = responses.repository(self.origin, repository.name, repository.default_branch)
        match method, match[2].split("/"):
            case "GET", ["pulls"]:
                return 200, [self._pull(repository, number) for number, pull in repository.pulls.items() if pull.state == "open"]
            case "GET", ["commits"]:
                return 200, [responses.commit(self.origin, of, *line.split("\t")) for line in self._log(repository.name)]
            case "GET", ["pulls", number]:
                return 200, self._pull(repository, int(number))
            case "GET", ["pulls", number, "files"]:
                return 200, self._files(repository, int(number), of)
            case (("GET" | "POST" | "PATCH"), ["issues", *rest]):
                return self._comments(method, repository, rest, sent, of)
            case "POST", ["statuses", commit]:
                repository.statuses.append((commit, sent))
                return 201, responses.status(self.origin, of, self._next(), commit, sent)
            case _, ["hooks", *rest]:
                return self._hooks(method, repository, rest, sent, of)
        raise NotFound

    def _comments(self, method: str, repository: HostRepository, rest: list[str], sent: Any, of: dict[str, Any]) -> tuple[int, Any]:
        match method, rest:
            case "GET", [issue, "comments"]:
                comments = _found(repository.pulls, issue).comments
                return 200, [responses.comment(self.origin, of, int(issue), number, body) for number, body in comments.items()]
            case "POST", [issue, "comments"]:
                created = self._next()
                _found(repository.pulls, issue).comments[created] = sent["body"]
                return 201, responses.comment(self.origin, of, int(issue), created, sent["body"])
            case "PATCH", ["comments", number]:
                for of_pull, pull in repository.pulls.items():
                    if int(number) in pull.comments:
                        pull.comments[int(number)] = sent["body"]
                        return 200, responses.comment(self.origin, of, of_pull, int(number), sent["body"])
        raise NotFound

    def _hooks(self, method: str, repository: HostRepository, rest: list[str], sent: Any, of: dict[str, Any]) -> tuple[int, Any]:
        if not rest and method == "GET":
            return 200, [responses.hook(of, number, hook) for number, hook in repository.hooks.items()]
        if not rest and method == "POST":
            number = self._next()
            repository.hooks[number] = {"active": True, "events": ["push"], **sent}
            repository.branches = self._refs(repository.name)
            self._call_hook(
                repository, repository.hooks[number], "ping", {"zen": "Keep it simple.", "hook_id": number, "hook": {"id": number}}
            )
            return 201, responses.hook(of, number, repository.hooks[number])
        hook = _found(repository.hooks, rest[0])
        if method == "DELETE":
            del repository.hooks[int(rest[0])]
            return 204, None
        if method == "PATCH":
            hook |= sent
        return 200, responses.hook(of, int(rest[0]), hook)

    def _head(self, name: str, number: int) -> str:
        """Return the head commit of a pull request, kept under its own reference: the branch may be deleted, or belong to a fork."""
        place, reference = self.root / name, f"refs/pull/{number}/head"
        if head := self._refs(name).get(self.repositories[name].pulls[number].head):
            git(place, "update-ref", reference, head)
        return git(place, "rev-parse", reference)

    def _pull(self, repository: HostRepository, number: int) -> dict[str, Any]:
        pull, refs = _found(repository.pulls, str(number)), self._refs(repository.name)
        of = responses.repository(self.origin, repository.name, repository.default_branch)
        content = {
            "title": pull.title,
            "state": pull.state,
            "merged": pull.merged,
            "base": (pull.base, refs[pull.base]),
            "head": (pull.head, self._head(repository.name, number)),
            "head_of": responses.repository(self.origin, pull.head_of or repository.name, repository.default_branch),
            "changed_files": len(self._files(repository, number, of)),
        }
        return responses.pull_request(self.origin, of, number, content)

    def _files(self, repository: HostRepository, number: int, of: dict[str, Any]) -> list[dict[str, Any]]:
        pull = _found(repository.pulls, str(number))
        output = git(
            self.root / repository.name, "diff", "--name-status", "-z", "-M", f"{pull.base}...{self._head(repository.name, number)}"
        ).split("\0")
        found, words = [], iter(output[:-1])
        for word in words:
            previous = next(words) if word[0] in "RC" else ""
            found.append(responses.changed_file(of, next(words), _STATUSES[word[0]], previous))
        return found

    def _log(self, name: str) -> list[str]:
        return git(self.root / name, "log", "--format=%H%x09%an%x09%cn", "main").splitlines()

    def _refs(self, name: str) -> dict[str, str]:
        output = git(self.root / name, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")
        return {branch: commit for branch, _, commit in (line.partition(" ") for line in output.splitlines())}

    def _call_hooks(self, repository: HostRepository, event: str, payload: dict[str, Any]) -> None:
        for hook in repository.hooks.values():
            if hook["active"] and event in hook["events"]:
                self._call_hook(repository, hook, event, payload)

    def _call_hook(self, repository: HostRepository, hook: dict[str, Any], event: str, payload: dict[str, Any]) -> None:
        complete = {**payload, "repository": responses.repository(self.origin, repository.name, repository.default_branch)}
        task = asyncio.create_task(self._deliver(dict(hook["config"]), event, complete))
        self._running_hooks.add(task)
        task.add_done_callback(self._running_hooks.discard)

    async def _deliver(self, config: dict[str, str], event: str, payload: dict[str, Any]) -> None:
        body = orjson.dumps(payload)
        headers = {"X-GitHub-Event": event, "X-GitHub-Delivery": str(uuid.uuid4()), "Content-Type": "application/json"}
        if secret := config.get("secret"):
            headers["X-Hub-Signature-256"] = signature(secret, body)
        try:
            async with aiohttp.ClientSession() as session, session.post(config["url"], data=body, headers=headers, ssl=False) as response:
                status, text = response.status, await response.text()
        except aiohttp.ClientError as error:
            status, text = 0, str(error)
        self.deliveries.append(Delivery(event, payload, status, text))

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers


def signature(secret: str, body: bytes) -> str:
    """Return the signature that a host sends with a delivery."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _found(things: dict[int, Thing], number: str) -> Thing:
    if not number.isdigit() or int(number) not in things:
        raise NotFound
    return things[int(number)]


def _refused(status: HTTPStatus, message: str) -> web.Response:
    body = {"message": message, "documentation_url": "https://docs.example.org/rest", "status": str(int(status))}
    return web.json_response(body, status=int(status))


@asynccontextmanager
async def serving(root: Path, *, pair: Path | None = None, token: str = "") -> AsyncIterator[GitHost]:
    """Run a host on a free loopback port while the block runs; over TLS with a ``pair``."""
    host = GitHost(root, token=token, scheme="https" if pair else "http")
    async with listening(host, pair=pair):
        try:
            yield host
        finally:
            await host.wait_for_hooks()
