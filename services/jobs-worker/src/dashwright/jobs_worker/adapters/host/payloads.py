"""Payloads of a git host's API, with the members that this project uses."""

from pydantic import BaseModel, Field

from dashwright.jobs_worker.domain.hosting import ChangedFile, FileStatus, Hook, PullRequest


class RepositoryPayload(BaseModel):
    """A repository."""

    full_name: str


class BranchPayload(BaseModel):
    """One side of a pull request."""

    ref: str
    sha: str
    #: None if the repository is deleted.
    repo: RepositoryPayload | None = None


class PullRequestPayload(BaseModel):
    """A pull request."""

    number: int
    title: str
    html_url: str
    state: str
    merged: bool = False
    base: BranchPayload
    head: BranchPayload
    changed_files: int = 0

    def to_domain(self) -> PullRequest:
        """Return the pull request in the terms of the domain."""
        base_repository, head_repository = self.base.repo, self.head.repo
        return PullRequest(
            number=self.number,
            title=self.title,
            url=self.html_url,
            is_open=self.state == "open",
            is_merged=self.merged,
            base=self.base.ref,
            base_commit=self.base.sha,
            head=self.head.ref,
            head_commit=self.head.sha,
            is_from_fork=base_repository is None or head_repository is None or base_repository.full_name != head_repository.full_name,
            changed_file_count=self.changed_files,
        )


_STATUS_ALIASES = {"deleted": FileStatus.REMOVED, "copied": FileStatus.ADDED}
"""Other names that hosts use for a status."""


class FilePayload(BaseModel):
    """A changed file of a pull request."""

    filename: str
    status: str
    previous_filename: str | None = None

    def to_domain(self) -> ChangedFile:
        """Return the file in the terms of the domain."""
        statuses = {str(status): status for status in FileStatus} | _STATUS_ALIASES
        status = statuses.get(self.status, FileStatus.MODIFIED)
        return ChangedFile(self.filename, status, (self.previous_filename or "") if status is FileStatus.RENAMED else "")


class CommentPayload(BaseModel):
    """A comment on a pull request."""

    id: int
    html_url: str
    body: str | None = None


class HookConfig(BaseModel):
    """The delivery settings of a webhook."""

    url: str = ""


class HookPayload(BaseModel):
    """A webhook."""

    id: int
    active: bool = True
    events: list[str]
    config: HookConfig = Field(default_factory=HookConfig)

    def to_domain(self) -> Hook:
        """Return the webhook in the terms of the domain."""
        return Hook(self.id, self.config.url, frozenset(self.events), self.active)
