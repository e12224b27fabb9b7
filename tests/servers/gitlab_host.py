"""GitLab over HTTP on the loopback, with the parts of its API that the product uses, in the form of its documentation."""

import hashlib
import re
import uuid
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from aiohttp import web
from tests.servers.git_host import GitHost, HostRepository, NotFound, RequestRefused, find_by_number

#: Actions of deliveries, by the action of GitHub's event ``pull_request``.
_ACTIONS = {"opened": "open", "synchronize": "update", "closed": "merge"}
#: Values of the header ``X-Gitlab-Event``, by GitHub's event.
_EVENTS = {"push": "Push Hook", "pull_request": "Merge Request Hook"}
#: Members of a hook that subscribe it to GitHub's events.
_SWITCHES = {"push": "push_events", "pull_request": "merge_requests_events"}
#: States that a commit may have.
_STATES = ("pending", "running", "success", "failed", "canceled")


@dataclass
class GitLabHost(GitHost):
    """A git server with the API of GitLab. The base class describes the methods that it replaces."""

    api_path: ClassVar[str] = "/api/v4/"
    pull_reference: ClassVar[str] = "refs/merge-requests/{}/head"
    #: The state of each status, by commit and name.
    states: dict[tuple[str, str], str] = field(default_factory=dict)

    def _version(self, request: web.Request) -> web.Response:
        return self._refusal(HTTPStatus.UNAUTHORIZED if request.path == "/api/v4/version" else HTTPStatus.NOT_FOUND, "")

    def _may_call(self, request: web.Request) -> bool:
        return self.token in (request.headers.get("PRIVATE-TOKEN"), request.headers.get("Authorization", "").removeprefix("Bearer "))

    def _refusal(self, status: HTTPStatus, message: str) -> web.Response:
        text = f"{int(status)} {status.phrase}" if status in (401, 403, 404) else message
        return web.json_response({"message": text}, status=int(status))

    def _handle(self, method: str, path: str, request_json: Any) -> tuple[int, Any]:
        match = re.fullmatch(r"/projects/([^/]+)/(.+)", path)
        name = unquote(match[1]) if match else ""
        if match is None or name not in self.repositories:
            raise NotFound
        repository = self.repositories[name]
        match method, match[2].split("/"):
            case "GET", ["merge_requests"]:
                return 200, [self._merge_request(repository, number) for number, pull in repository.pulls.items() if pull.state == "open"]
            case "GET", ["merge_requests", number]:
                return 200, self._merge_request(repository, int(number))
            case "GET", ["merge_requests", number, "diffs"]:
                return 200, [_diff(*change) for change in self._changes(repository, int(number))]
            case _, ["merge_requests", number, "notes", *rest]:
                return self._notes(method, find_by_number(repository.pulls, number).comments, rest, request_json)
            case "POST", ["statuses", commit]:
                return 201, self._set_status(repository, commit, request_json)
            case _, ["hooks", *rest]:
                return self._project_hooks(method, repository, rest, request_json)
        raise NotFound

    def _notes(self, method: str, comments: dict[int, str], path_parts: list[str], request_json: Any) -> tuple[int, Any]:
        """List the comments of a merge request, create one or change one."""
        if method == "GET" and not path_parts:
            return 200, [_note(number, text) for number, text in comments.items()]
        number = int(path_parts[0]) if path_parts else self._next_number()
        names_comment = bool(path_parts)
        if (method, names_comment) == ("PUT", True):
            find_by_number(comments, str(number))
        elif (method, names_comment) != ("POST", False):
            raise NotFound
        comments[number] = request_json["body"]
        return (200 if path_parts else 201), _note(number, request_json["body"])

    def _set_status(self, repository: HostRepository, commit: str, request_json: Any) -> dict[str, Any]:
        """Record the status of a commit and return it. A pending status cannot become pending again."""
        if request_json["state"] not in _STATES:
            raise RequestRefused(400, "state does not have a valid value")
        key = commit, request_json["name"]
        if request_json["state"] == "pending" == self.states.get(key):
            raise RequestRefused(
                400, 'Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via "enqueue")'
            )
        self.states[key] = request_json["state"]
        repository.statuses.append((commit, request_json))
        status = {"id": self._next_number(), "sha": commit, "ref": "change", "status": request_json["state"], "allow_failure": False}
        return {
            **status,
            "name": request_json["name"],
            "target_url": request_json.get("target_url"),
            "description": request_json.get("description"),
        }

    def _project_hooks(self, method: str, repository: HostRepository, path_parts: list[str], request_json: Any) -> tuple[int, Any]:
        """List, create, change or delete hooks."""
        if not path_parts and method == "GET":
            return 200, [_hook(number, hook) for number, hook in repository.hooks.items()]
        if request_json is not None and not request_json.get("url"):
            raise RequestRefused(400, "url is missing")
        if not path_parts and method == "POST":
            number = self._next_number()
            repository.hooks[number] = {"push_events": True, "merge_requests_events": False, **request_json}
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

    def _merge_request(self, repository: HostRepository, number: int) -> dict[str, Any]:
        """Return a pull request as GitLab has it."""
        pull = find_by_number(repository.pulls, str(number))
        source = pull.head_repository or repository.name
        return {
            "id": 1000 + number,
            "iid": number,
            "project_id": _project_number(repository.name),
            "title": pull.title,
            "state": "merged" if pull.merged else "opened" if pull.state == "open" else "closed",
            "target_branch": pull.base,
            "source_branch": pull.head,
            "source_project_id": _project_number(source),
            "target_project_id": _project_number(repository.name),
            "sha": self._head(repository.name, number),
            "changes_count": str(len(self._changes(repository, number))),
            "web_url": f"{self.origin}/{repository.name}/-/merge_requests/{number}",
        }

    def _deliver_pull_request(self, repository: HostRepository, number: int, action: str) -> None:
        result = self._merge_request(repository, number)
        copied = ("iid", "title", "state", "source_branch", "target_branch", "source_project_id", "target_project_id")
        attributes = {name: result[name] for name in copied}
        attributes |= {"url": result["web_url"], "action": _ACTIONS[action], "last_commit": {"id": result["sha"], "message": "change"}}
        if action == "synchronize":
            attributes["oldrev"] = "ab" * 20
        payload = {"object_kind": "merge_request", "event_type": "merge_request", "object_attributes": attributes, "changes": {}}
        self._call_hooks(repository, "pull_request", payload)

    def _deliver_push(self, repository: HostRepository, branch: str, old: str, new: str) -> None:
        is_deletion = set(new) == {"0"}
        payload = {"object_kind": "push", "event_name": "push", "before": old, "after": new, "ref": f"refs/heads/{branch}"}
        self._call_hooks(repository, "push", {**payload, "checkout_sha": None if is_deletion else new, "total_commits_count": 1})

    def _subscribes(self, hook: dict[str, Any], event: str) -> bool:
        return bool(hook[_SWITCHES[event]])

    def _repository_of_delivery(self, repository: HostRepository) -> dict[str, Any]:
        project = {"id": _project_number(repository.name), "path_with_namespace": repository.name}
        return {"project": {**project, "default_branch": repository.default_branch, "web_url": f"{self.origin}/{repository.name}"}}

    def _hook_url(self, hook: dict[str, Any]) -> str:
        return str(hook["url"])

    def _delivery_headers(self, hook: dict[str, Any], event: str, body: bytes) -> dict[str, str]:
        headers = {"X-Gitlab-Event": _EVENTS[event], "X-Gitlab-Event-UUID": str(uuid.uuid4()), "X-Gitlab-Instance": self.origin}
        return {**headers, "Idempotency-Key": str(uuid.uuid4()), "X-Gitlab-Token": hook["token"]}


def _project_number(name: str) -> int:
    """Return the id of a project, which depends on its name only."""
    return int(hashlib.sha256(quote(name).encode()).hexdigest()[:6], 16)


def _diff(letter: str, path: str, previous: str) -> dict[str, Any]:
    """Return a changed file."""
    switches = {"new_file": letter in "AC", "renamed_file": letter == "R", "deleted_file": letter == "D"}
    return {"old_path": previous or path, "new_path": path, "a_mode": "100644", "b_mode": "100644", "diff": "", **switches}


def _note(number: int, body: str) -> dict[str, Any]:
    """Return a comment."""
    return {"id": number, "body": body, "system": False, "noteable_type": "MergeRequest", "author": {"username": "octo"}}


def _hook(number: int, hook: dict[str, Any]) -> dict[str, Any]:
    """Return a hook without its token."""
    members = {"id": number, "project_id": 3, "alert_status": "executable", "disabled_until": None}
    return {**members, **{name: value for name, value in hook.items() if name != "token"}}
