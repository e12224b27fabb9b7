"""What a git host's API tells, as far as it is of use here."""

from pydantic import BaseModel, Field

from dashwright.jobs_worker.domain.hosting import ChangedFile, FileStatus, Hook, PullRequest


class RepositoryAnswer(BaseModel):
    full_name: str


class BranchAnswer(BaseModel):
    ref: str
    sha: str
    repo: RepositoryAnswer | None = None
    """None where the repository of a pull request is gone."""


class PullRequestAnswer(BaseModel):
    number: int
    title: str
    html_url: str
    state: str
    merged: bool = False
    base: BranchAnswer
    head: BranchAnswer
    changed_files: int = 0

    def told(self) -> PullRequest:
        own, other = self.base.repo, self.head.repo
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
            is_from_elsewhere=own is None or other is None or own.full_name != other.full_name,
            files=self.changed_files,
        )


_OTHER_WORDS = {"deleted": FileStatus.REMOVED, "copied": FileStatus.ADDED}


class FileAnswer(BaseModel):
    filename: str
    status: str
    previous_filename: str | None = None

    def told(self) -> ChangedFile:
        known = {str(status): status for status in FileStatus} | _OTHER_WORDS
        status = known.get(self.status, FileStatus.MODIFIED)
        return ChangedFile(self.filename, status, (self.previous_filename or "") if status is FileStatus.RENAMED else "")


class CommentAnswer(BaseModel):
    id: int
    html_url: str
    body: str | None = None


class HookConfig(BaseModel):
    url: str = ""


class HookAnswer(BaseModel):
    id: int
    active: bool = True
    events: list[str]
    config: HookConfig = Field(default_factory=HookConfig)

    def told(self) -> Hook:
        return Hook(self.id, self.config.url, frozenset(self.events), self.active)
