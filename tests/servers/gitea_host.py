"""Gitea over HTTP on the loopback, with the parts of its API that the product uses, in the form of its documentation."""

import hashlib
import hmac
import uuid
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar

from aiohttp import web
from tests.servers import git_host_responses as responses
from tests.servers.git_host import GitHost, HostRepository, NotFound, RequestRefused, find_by_number, signature

#: Events that the host adds to the event ``pull_request`` of a hook.
_VARIANTS = ("pull_request_assign", "pull_request_label", "pull_request_comment", "pull_request_review", "pull_request_sync")
#: Names that the API has for git's letters of changes.
_STATUSES = {"A": "added", "D": "deleted", "M": "changed", "R": "renamed", "C": "copied", "T": "changed"}
#: States that a commit may have.
_STATES = ("pending", "success", "error", "failure", "warning")
#: Upper bound of items on a page.
_MAX_PAGE = 50


@dataclass
class GiteaHost(GitHost):
    """A git server with the API of Gitea, which resembles that of GitHub. The base class describes the methods that it replaces."""

    api_path: ClassVar[str] = "/api/v1/"

    def _version(self, request: web.Request) -> web.Response:
        is_known = request.path == "/api/v1/version"
        return web.json_response({"version": "1.24.0"}) if is_known else self._refusal(HTTPStatus.NOT_FOUND, "Not Found")

    def _may_call(self, request: web.Request) -> bool:
        return request.headers.get("Authorization") in (f"token {self.token}", f"Bearer {self.token}")

    def _refusal(self, status: HTTPStatus, message: str) -> web.Response:
        return web.json_response({"message": message, "url": f"{self.origin}/api/swagger"}, status=int(status))

    def _page_response(self, request: web.Request, items: list[Any]) -> tuple[Any, dict[str, str]]:
        total = {"X-Total-Count": str(len(items))}
        if request.path.endswith("/comments"):
            return items, total
        size = min(self.max_page_size, _MAX_PAGE, int(request.query.get("limit", 30)))
        page = int(request.query.get("page", 1))
        return items[(page - 1) * size : page * size], total

    def _handle(self, method: str, path: str, request_json: Any) -> tuple[int, Any]:
        if method == "POST" and "/statuses/" in path and request_json["state"] not in _STATES:
            raise RequestRefused(422, "invalid state")
        return super()._handle(method, path, request_json)

    def _files(self, repository: HostRepository, number: int, repository_json: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            responses.changed_file(repository_json, path, _STATUSES[letter], previous)
            for letter, path, previous in self._changes(repository, number)
        ]

    def _hooks(
        self, method: str, repository: HostRepository, path_parts: list[str], request_json: Any, repository_json: dict[str, Any]
    ) -> tuple[int, Any]:
        if not path_parts and method == "GET":
            return 200, [_hook(number, hook) for number, hook in repository.hooks.items()]
        if not path_parts and method == "POST":
            if request_json.get("type") not in ("gitea", "forgejo", "slack"):
                raise RequestRefused(422, f"Invalid hook type: {request_json.get('type')}")
            if not {"url", "content_type"} <= request_json["config"].keys():
                raise RequestRefused(422, "Missing config option: url")
            number = self._next_number()
            repository.hooks[number] = {"active": False, **request_json}
            repository.branches = self._refs(repository.name)
            return 201, _hook(number, repository.hooks[number])
        hook = find_by_number(repository.hooks, path_parts[0])
        if method == "DELETE":
            del repository.hooks[int(path_parts[0])]
            return 204, None
        if method != "PATCH":
            raise NotFound
        # Events that a request does not name are removed, except push.
        hook |= {"events": ["push"], **request_json, "config": {**hook["config"], **request_json.get("config", {})}}
        return 200, _hook(int(path_parts[0]), hook)

    def _deliver_pull_request(self, repository: HostRepository, number: int, action: str) -> None:
        name = {"synchronize": "synchronized"}.get(action, action)
        content = {"action": name, "number": number, "pull_request": self._pull(repository, number), "commit_id": "", "review": None}
        self._call_hooks(repository, "pull_request", content)

    def _delivery_headers(self, hook: dict[str, Any], event: str, body: bytes) -> dict[str, str]:
        delivery_id, secret = str(uuid.uuid4()), hook["config"]["secret"]
        digits = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        headers = {
            f"X-{name}-{suffix}": value for name in ("Gitea", "Gogs") for suffix, value in (("Event", event), ("Delivery", delivery_id))
        }
        signatures = {"X-Gitea-Signature": digits, "X-Hub-Signature-256": signature(secret, body)}
        return {**headers, "X-GitHub-Event": event, "X-GitHub-Delivery": delivery_id, **signatures}


def _hook(number: int, hook: dict[str, Any]) -> dict[str, Any]:
    """Return a hook without its secret, with all variants of its events."""
    events = [*hook["events"], *(_VARIANTS if "pull_request" in hook["events"] else ())]
    config = {name: hook["config"][name] for name in ("url", "content_type")}
    return {"id": number, "type": "gitea", "branch_filter": "", "active": hook["active"], "events": events, "config": config}
