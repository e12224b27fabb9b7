"""Bitbucket Cloud over HTTP on the loopback, with the parts of its API that the product uses, in the form of its documentation."""

import re
import uuid
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from aiohttp import web
from tests.servers.git import git
from tests.servers.git_host import GitHost, HostRepository, NotFound, RequestRefused, find_by_number, signature

#: Names that the API has for git's letters of changes.
_STATUSES = {"A": "added", "D": "removed", "M": "modified", "R": "renamed"}
#: Events of deliveries, by the action of GitHub's event ``pull_request``.
_EVENTS = {"opened": "pullrequest:created", "synchronize": "pullrequest:updated", "closed": "pullrequest:fulfilled"}
#: States that a commit may have.
_STATES = ("SUCCESSFUL", "FAILED", "INPROGRESS", "STOPPED")
#: Limit of the length of a status's key.
_MAX_KEY = 40


@dataclass
class BitbucketHost(GitHost):
    """A git server with the API of Bitbucket Cloud. The base class describes the methods that it replaces."""

    api_path: ClassVar[str] = "/2.0/"
    setting: ClassVar[str] = "bitbucket+{}/2.0"

    def _may_call(self, request: web.Request) -> bool:
        return request.headers.get("Authorization") == f"Bearer {self.token.removeprefix('x-token-auth:')}"

    def _refusal(self, status: HTTPStatus, message: str) -> web.Response:
        return web.json_response({"type": "error", "error": {"message": message}}, status=int(status))

    async def _api_response(self, request: web.Request) -> web.StreamResponse:
        """Return the response of the API. The diffstat of a pull request is a redirect to that of its commits."""
        if match := re.fullmatch(r"(.*/repositories/([^/]+)/([^/]+))/pullrequests/(\d+)/diffstat", request.path):
            repository, (root, space, slug, number) = self.repositories[f"{match[2]}/{match[3]}"], match.groups()
            head = self._head(repository.name, int(number))
            spec = quote(f"{space}/{slug}:{head[:12]}\r{self._refs(repository.name)['main'][:12]}", safe=":/")
            location = f"{self.origin}{root}/diffstat/{spec}?from_pullrequest_id={number}&topic=true"
            return web.Response(status=302, headers={"Location": location})
        if "from_pullrequest_id" in request.query:
            assert request.query["topic"] == "true"
        return await super()._api_response(request)

    def _page_response(self, request: web.Request, items: list[Any]) -> tuple[Any, dict[str, str]]:
        size = min(self.max_page_size, int(request.query.get("pagelen", 10)))
        # Clients must not compute the token of a page: it is not a number.
        start = int(request.query.get("page", "c0")[1:])
        page = {"pagelen": size, "values": items[start : start + size], "size": len(items)}
        next_url = str(request.url.update_query(page=f"c{start + size}"))
        return {**page, **({"next": next_url} if start + size < len(items) else {})}, {}

    def _handle(self, method: str, path: str, request_json: Any) -> tuple[int, Any]:
        match = re.fullmatch(r"/repositories/([^/]+/[^/]+)/(.+)", path)
        if match is None or match[1] not in self.repositories:
            raise NotFound
        repository = self.repositories[match[1]]
        match method, match[2].split("/"):
            case "GET", ["pullrequests"]:
                return 200, [self._pull(repository, number) for number, pull in repository.pulls.items() if pull.state == "open"]
            case "GET", ["pullrequests", number]:
                return 200, self._pull(repository, int(number))
            case "GET", ["diffstat", *spec]:
                return 200, [_change(*change) for change in self._changes(repository, self._number_of(repository, "/".join(spec)))]
            case _, ["pullrequests", number, "comments", *rest]:
                return self._pull_comments(method, repository, int(number), rest, request_json)
            case "POST", ["commit", commit, "statuses", "build"]:
                return 201, self._set_status(repository, commit, request_json)
            case _, ["hooks", *rest]:
                return self._repository_hooks(method, repository, [unquote(name) for name in rest], request_json)
        raise NotFound

    def move_to_fork(self, name: str, number: int, fork: str) -> None:
        """Move the branch of a pull request to a fork, which alone has its commits."""
        head = self.repositories[name].pulls[number].head
        git(self.root, "clone", "--quiet", "--bare", "--branch", head, str(self.folder(name)), str(self.folder(fork)))
        super().move_to_fork(name, number, fork)

    def _number_of(self, repository: HostRepository, spec: str) -> int:
        """Return the number of the pull request to which the address of a diffstat redirects."""
        commit = spec.partition(":")[2][:12]
        return next(number for number in repository.pulls if self._head(repository.name, number).startswith(commit))

    def _pull_comments(
        self, method: str, repository: HostRepository, number: int, path_parts: list[str], request_json: Any
    ) -> tuple[int, Any]:
        """List the comments of a pull request, create one or change one."""
        comments = find_by_number(repository.pulls, str(number)).comments
        page = f"{self.origin}/{repository.name}/pull-requests/{number}/_/diff#comment-"
        if method == "GET" and not path_parts:
            return 200, [_comment(page, comment_id, text) for comment_id, text in comments.items()]
        names_comment = bool(path_parts)
        if (method, names_comment) not in (("PUT", True), ("POST", False)):
            raise NotFound
        comment_id = int(path_parts[0]) if path_parts else self._next_number()
        if path_parts:
            find_by_number(comments, path_parts[0])
        comments[comment_id] = request_json["content"]["raw"]
        return (200 if path_parts else 201), _comment(page, comment_id, comments[comment_id])

    def _set_status(self, repository: HostRepository, commit: str, request_json: Any) -> dict[str, Any]:
        """Record the status of a commit and return it."""
        if request_json["state"] not in _STATES or not request_json.get("url") or not 0 < len(request_json.get("key", "")) <= _MAX_KEY:
            raise RequestRefused(400, "Bad request: state, url and key are required")
        repository.statuses.append((commit, request_json))
        return {"type": "build", "refname": None, **request_json}

    def _repository_hooks(self, method: str, repository: HostRepository, path_parts: list[str], request_json: Any) -> tuple[int, Any]:
        """List, create, change or delete hooks."""
        if not path_parts and method == "GET":
            return 200, [_hook(number, hook) for number, hook in repository.hooks.items()]
        if request_json is not None and not (request_json.get("url") and request_json.get("events") and request_json.get("description")):
            raise RequestRefused(400, "url, events and description are required")
        if not path_parts and method == "POST":
            number = self._next_number()
            repository.hooks[number] = {"active": False, **request_json}
            repository.branches = self._refs(repository.name)
            return 201, _hook(number, repository.hooks[number])
        number = next((hook_id for hook_id in repository.hooks if _identity(hook_id) == path_parts[0]), 0)
        hook = find_by_number(repository.hooks, str(number))
        if method == "DELETE":
            del repository.hooks[number]
            return 204, None
        if method != "PUT":
            raise NotFound
        hook |= request_json
        return 200, _hook(number, hook)

    def _pull(self, repository: HostRepository, number: int) -> dict[str, Any]:
        pull, refs = find_by_number(repository.pulls, str(number)), self._refs(repository.name)
        head, base = self._head(repository.name, number), refs[pull.base]
        return {
            "type": "pullrequest",
            "id": number,
            "title": pull.title,
            "state": "MERGED" if pull.merged else "OPEN" if pull.state == "open" else "DECLINED",
            "links": {"html": {"href": f"{self.origin}/{repository.name}/pull-requests/{number}"}},
            "destination": _side(pull.base, base, repository.name),
            "source": _side(pull.head, head, pull.head_repository or repository.name),
        }

    def _deliver_pull_request(self, repository: HostRepository, number: int, action: str) -> None:
        self._call_hooks(repository, _EVENTS[action], {"actor": {}, "pullrequest": self._pull(repository, number)})

    def _deliver_push(self, repository: HostRepository, branch: str, old: str, new: str) -> None:
        old_and_new = [None if set(commit) == {"0"} else _branch(branch, commit) for commit in (old, new)]
        change = {
            "old": old_and_new[0],
            "new": old_and_new[1],
            "created": old_and_new[0] is None,
            "closed": old_and_new[1] is None,
            "forced": False,
        }
        self._call_hooks(repository, "repo:push", {"actor": {}, "push": {"changes": [change]}})

    def _repository_of_delivery(self, repository: HostRepository) -> dict[str, Any]:
        return {"repository": {"type": "repository", "full_name": repository.name, "uuid": _identity(7)}}

    def _hook_url(self, hook: dict[str, Any]) -> str:
        return str(hook["url"])

    def _delivery_headers(self, hook: dict[str, Any], event: str, body: bytes) -> dict[str, str]:
        headers = {"X-Event-Key": event, "X-Request-UUID": str(uuid.uuid4()), "X-Hook-UUID": str(uuid.uuid4()), "X-Attempt-Number": "1"}
        return {**headers, "X-Hub-Signature": signature(hook["secret"], body)}


def _identity(number: int) -> str:
    """Return the UUID that stands for a number."""
    return "{" + str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))) + "}"


def _side(branch: str, commit: str, name: str) -> dict[str, Any]:
    """Return the source or the destination of a pull request. Its commit has only twelve digits."""
    return {"branch": {"name": branch}, "commit": {"type": "commit", "hash": commit[:12]}, "repository": {"full_name": name}}


def _branch(name: str, commit: str) -> dict[str, Any]:
    """Return a branch with its commit."""
    return {"type": "branch", "name": name, "target": {"type": "commit", "hash": commit}}


def _change(letter: str, path: str, previous: str) -> dict[str, Any]:
    """Return a changed file."""
    old = None if letter == "A" else {"path": previous or path, "type": "commit_file"}
    new = None if letter == "D" else {"path": path, "type": "commit_file"}
    return {"type": "diffstat", "status": _STATUSES[letter], "lines_added": 1, "lines_removed": 1, "old": old, "new": new}


def _comment(page: str, number: int, text: str) -> dict[str, Any]:
    """Return a comment."""
    content = {"raw": text, "markup": "markdown", "html": ""}
    return {"type": "pullrequest_comment", "id": number, "content": content, "links": {"html": {"href": f"{page}{number}"}}}


def _hook(number: int, hook: dict[str, Any]) -> dict[str, Any]:
    """Return a hook without its secret."""
    public_hook = {name: value for name, value in hook.items() if name != "secret"}
    return {"type": "webhook_subscription", "uuid": _identity(number), "secret_set": "secret" in hook, **public_hook}
