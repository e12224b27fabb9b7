"""Bitbucket Data Center over HTTP on the loopback, with the parts of its API that the product uses, in the form of its documentation."""

import re
import uuid
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, ClassVar

from aiohttp import web
from tests.servers.git_host import GitHost, HostRepository, NotFound, RequestRefused, find_by_number, signature

#: Names that the API has for git's letters of changes.
_TYPES = {"A": "ADD", "D": "DELETE", "M": "MODIFY", "R": "MOVE", "C": "COPY"}
#: Events of deliveries, by the action of GitHub's event ``pull_request``.
_EVENTS = {"opened": "pr:opened", "synchronize": "pr:from_ref_updated", "closed": "pr:merged"}
#: Events to which a hook may subscribe.
_KNOWN_EVENTS = ("repo:refs_changed", *_EVENTS.values())
#: States that a commit may have.
_STATES = ("SUCCESSFUL", "FAILED", "INPROGRESS", "CANCELLED", "UNKNOWN")
_MAX_COMMENT = 32_768
_NO_COMMIT = "0" * 40


@dataclass
class BitbucketServerHost(GitHost):
    """A git server with the API of Bitbucket Data Center. The base class describes the methods that it replaces."""

    api_path: ClassVar[str] = "/rest/api/1.0/"
    git_path: ClassVar[str] = "scm/"
    pull_reference: ClassVar[str] = "refs/pull-requests/{}/from"
    #: Version of each comment, by its id.
    versions: dict[int, int] = field(default_factory=dict)

    def _version(self, request: web.Request) -> web.Response:
        if request.path == "/rest/api/1.0/application-properties":
            return web.json_response({"version": "8.19.2", "buildNumber": "8019002", "displayName": "Bitbucket"})
        return self._refusal(HTTPStatus.NOT_FOUND, "null for uri")

    def _may_call(self, request: web.Request) -> bool:
        return request.headers.get("Authorization") == f"Bearer {self.token.removeprefix('x-token-auth:')}"

    def _refusal(self, status: HTTPStatus, message: str) -> web.Response:
        return web.json_response({"errors": [{"context": None, "message": message, "exceptionName": None}]}, status=int(status))

    def _page_response(self, request: web.Request, items: list[Any]) -> tuple[Any, dict[str, str]]:
        size, start = min(self.max_page_size, int(request.query.get("limit", 25))), int(request.query.get("start", 0))
        values, is_last = items[start : start + size], start + size >= len(items)
        page = {"size": len(values), "limit": size, "start": start, "isLastPage": is_last, "values": values}
        return {**page, "nextPageStart": None if is_last else start + size}, {}

    def _handle(self, method: str, path: str, request_json: Any) -> tuple[int, Any]:
        match = re.fullmatch(r"/projects/([^/]+)/repos/([^/]+)/(.+)", path)
        name = f"{match[1]}/{match[2]}".lower() if match else ""
        if match is None or name not in self.repositories:
            raise NotFound
        repository = self.repositories[name]
        match method, match[3].split("/"):
            case "GET", ["pull-requests"]:
                return 200, [self._pull(repository, number) for number, pull in repository.pulls.items() if pull.state == "open"]
            case "GET", ["pull-requests", number]:
                return 200, self._pull(repository, int(number))
            case "GET", ["pull-requests", number, "changes"]:
                return 200, [_change(*change) for change in self._changes(repository, int(number))]
            case "GET", ["pull-requests", number, "activities"]:
                return 200, self._activities(repository, number)
            case (("POST" | "PUT"), ["pull-requests", number, "comments", *rest]):
                return self._pull_comments(method, find_by_number(repository.pulls, number).comments, rest, request_json)
            case "POST", ["commits", commit, "builds"]:
                if request_json["state"] not in _STATES or not request_json.get("url") or not 0 < len(request_json.get("key", "")) <= 255:
                    raise RequestRefused(400, "state, url and key are required")
                repository.statuses.append((commit, request_json))
                return 204, None
            case _, ["webhooks", *rest]:
                return self._repository_hooks(method, repository, rest, request_json)
        raise NotFound

    def _activities(self, repository: HostRepository, number: str) -> list[dict[str, Any]]:
        """Return the activities of a pull request, newest first: its comments, then its opening, which has no comment."""
        comments = [*find_by_number(repository.pulls, number).comments.items()]
        activities = [
            {"id": comment_id, "action": "COMMENTED", "commentAction": "ADDED", "comment": self._comment(comment_id, text)}
            for comment_id, text in comments
        ]
        return [*activities[::-1], {"id": 0, "action": "OPENED"}]

    def _comment(self, number: int, text: str) -> dict[str, Any]:
        """Return a comment with its version, which a change must name."""
        return {"id": number, "version": self.versions.get(number, 0), "text": text, "author": {"slug": "octo"}, "comments": []}

    def _pull_comments(self, method: str, comments: dict[int, str], path_parts: list[str], request_json: Any) -> tuple[int, Any]:
        """Create a comment on a pull request, or change one."""
        if bool(path_parts) != (method == "PUT"):
            raise NotFound
        number = int(path_parts[0]) if path_parts else self._next_number()
        if path_parts:
            find_by_number(comments, path_parts[0])
            if request_json.get("version") != self.versions.get(number, 0):
                raise RequestRefused(409, "You are attempting to modify a comment based on out-of-date information.")
            self.versions[number] = self.versions.get(number, 0) + 1
        if len(request_json["text"]) > _MAX_COMMENT:
            raise RequestRefused(400, "Please enter a comment of 32768 or fewer characters")
        comments[number] = request_json["text"]
        return (200 if path_parts else 201), self._comment(number, request_json["text"])

    def _repository_hooks(self, method: str, repository: HostRepository, path_parts: list[str], request_json: Any) -> tuple[int, Any]:
        """List, create, change or delete hooks."""
        if not path_parts and method == "GET":
            return 200, [_hook(number, hook) for number, hook in repository.hooks.items()]
        if request_json is not None and not (
            request_json.get("url") and request_json.get("name") and {*request_json.get("events", ())} <= {*_KNOWN_EVENTS}
        ):
            raise RequestRefused(400, "url, name and known events are required")
        if not path_parts and method == "POST":
            number = self._next_number()
            repository.hooks[number] = {"active": False, "sslVerificationRequired": True, **request_json}
            repository.branches = self._refs(repository.name)
            return 201, _hook(number, repository.hooks[number])
        hook = find_by_number(repository.hooks, path_parts[0])
        if method == "DELETE":
            del repository.hooks[int(path_parts[0])]
            return 204, None
        if method != "PUT":
            raise NotFound
        hook |= request_json
        return 200, _hook(int(path_parts[0]), hook)

    def _pull(self, repository: HostRepository, number: int) -> dict[str, Any]:
        pull, refs = find_by_number(repository.pulls, str(number)), self._refs(repository.name)
        head, base, name = self._head(repository.name, number), refs[pull.base], repository.name
        page = f"{self.origin}/projects/{_key(name)}/repos/{name.partition('/')[2]}/pull-requests/{number}"
        return {
            "id": number,
            "version": 0,
            "title": pull.title,
            "state": "MERGED" if pull.merged else "OPEN" if pull.state == "open" else "DECLINED",
            "open": pull.state == "open",
            "closed": pull.state != "open",
            "toRef": _side(pull.base, base, name),
            "fromRef": _side(pull.head, head, pull.head_repository or name),
            "links": {"self": [{"href": page}]},
        }

    def _deliver_pull_request(self, repository: HostRepository, number: int, action: str) -> None:
        # Links of deliveries are empty.
        pull = {**self._pull(repository, number), "links": {"self": [None]}}
        self._call_hooks(repository, _EVENTS[action], {"eventKey": _EVENTS[action], "actor": {}, "pullRequest": pull})

    def _deliver_push(self, repository: HostRepository, branch: str, old: str, new: str) -> None:
        ref = {"id": f"refs/heads/{branch}", "displayId": branch, "type": "BRANCH"}
        kind = "ADD" if old == _NO_COMMIT else "DELETE" if new == _NO_COMMIT else "UPDATE"
        change = {"ref": ref, "refId": ref["id"], "fromHash": old, "toHash": new, "type": kind}
        content = {"eventKey": "repo:refs_changed", "actor": {}, "repository": _repository(repository.name), "changes": [change]}
        self._call_hooks(repository, "repo:refs_changed", content)

    def _repository_of_delivery(self, repository: HostRepository) -> dict[str, Any]:
        return {}

    def _hook_url(self, hook: dict[str, Any]) -> str:
        return str(hook["url"])

    def _delivery_headers(self, hook: dict[str, Any], event: str, body: bytes) -> dict[str, str]:
        headers = {"X-Event-Key": event, "X-Request-Id": str(uuid.uuid4())}
        return {**headers, "X-Hub-Signature": signature(hook["configuration"]["secret"], body)}


def _key(name: str) -> str:
    """Return the key of the project of a repository, which is in upper case."""
    return name.partition("/")[0].upper()


def _repository(name: str) -> dict[str, Any]:
    """Return a repository."""
    number = sum(name.encode())
    return {"id": number, "slug": name.partition("/")[2], "name": name.partition("/")[2], "project": {"key": _key(name)}}


def _side(branch: str, commit: str, name: str) -> dict[str, Any]:
    """Return the source or the target of a pull request."""
    return {"id": f"refs/heads/{branch}", "displayId": branch, "latestCommit": commit, "repository": _repository(name)}


def _change(letter: str, path: str, previous: str) -> dict[str, Any]:
    """Return a changed file."""
    source = {"srcPath": _path(previous)} if previous else {}
    return {"contentId": "0", "path": _path(path), "type": _TYPES[letter], "nodeType": "FILE", **source}


def _path(path: str) -> dict[str, Any]:
    """Return a path with its parts."""
    *parents, name = path.split("/")
    return {"components": [*parents, name], "parent": "/".join(parents), "name": name, "toString": path}


def _hook(number: int, hook: dict[str, Any]) -> dict[str, Any]:
    """Return a hook without its secret."""
    return {"id": number, "scopeType": "repository", **hook, "configuration": {}}
