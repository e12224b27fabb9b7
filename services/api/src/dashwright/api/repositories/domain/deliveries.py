"""Decisions on webhook deliveries: a sync after a push, a ``pr`` job for a pull request, or nothing. Pure."""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ValidationError

from dashwright.common.errors import BadRequest
from dashwright.common.models.provisioning import Action, Integer32, JobSpec, PullRequestJobOptions, RepositorySpec, SyncJobOptions

PING: Final = "ping"
_BRANCHES: Final = "refs/heads/"
_LOOKED_AT: Final = frozenset({"opened", "reopened", "synchronize"})


@dataclass(frozen=True, slots=True)
class Decision:
    """The response to a delivery, and the job to queue."""

    code: int
    message: str
    job: JobSpec | None = None


class _Repository(BaseModel):
    full_name: str
    default_branch: str = ""


class _Side(BaseModel):
    ref: str
    sha: str = ""


class _PullRequest(BaseModel):
    number: Integer32
    html_url: str
    base: _Side
    head: _Side


class _Payload(BaseModel):
    repository: _Repository | None = None
    ref: str = ""
    after: str = ""
    action: str = ""
    pull_request: _PullRequest | None = None


def decide(event: str, payload: Any, name: str, spec: RepositorySpec) -> Decision:
    """Return the decision on a delivery to the repository ``name``.

    Raises BadRequest for a malformed event or one of another repository.
    """
    if event == PING:
        return Decision(200, "ping received")
    if event not in ("push", "pull_request"):
        return Decision(501, f"unsupported messageType: {event[:80]}")
    try:
        delivered = _Payload.model_validate(payload)
    except ValidationError as error:
        fields = ", ".join(sorted({".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False)}))
        raise BadRequest(f"the {event} event has missing or invalid members: {fields or 'the payload is not an object'}") from error
    if delivered.repository is None:
        raise BadRequest(f"missing repository in {event} event")
    if delivered.repository.full_name.lower() != _full_name(spec):
        raise BadRequest("repository mismatch")
    branch = (spec.remote.branch if spec.remote is not None else "") or delivered.repository.default_branch
    return _decide_push(delivered, branch, name, spec) if event == "push" else _decide_pull_request(delivered, branch, name)


def _decide_push(payload: _Payload, branch: str, name: str, spec: RepositorySpec) -> Decision:
    if payload.ref != f"{_BRANCHES}{branch}":
        return Decision(200, f"ignoring push to {payload.ref[:200]}")
    if payload.after and not payload.after.strip("0"):
        return Decision(200, "ignoring push as the branch was deleted")
    if not spec.sync.enabled:
        return Decision(200, "ignoring push as sync is not enabled")
    return Decision(202, "push received", JobSpec(action=Action.SYNC, repository=name, sync=SyncJobOptions(incremental=True)))


def _decide_pull_request(payload: _Payload, branch: str, name: str) -> Decision:
    pull = payload.pull_request
    if pull is None:
        raise BadRequest("expected PR in event")
    if pull.base.ref != branch:
        return Decision(200, f"ignoring pull request event as {pull.base.ref[:200]} is not  the configured branch")
    if payload.action not in _LOOKED_AT:
        return Decision(200, f"ignore pull request event: {payload.action[:80]}")
    wanted = PullRequestJobOptions(ref=pull.head.ref, hash=pull.head.sha, pr=pull.number, url=pull.html_url)
    return Decision(202, f"pull request: {payload.action}", JobSpec(action=Action.PR, repository=name, pr=wanted))


def _full_name(spec: RepositorySpec) -> str:
    """Return ``owner/name`` from the repository's URL in lower case, because hosts ignore letter case."""
    url = (spec.remote.url if spec.remote is not None else "") or ""
    return unquote(urlsplit(url.rstrip("/").removesuffix(".git")).path).strip("/").lower()
