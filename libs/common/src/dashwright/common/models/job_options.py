"""Options of the actions of jobs. ``JobSpec`` has a member for the options of each action."""

from pydantic import AliasChoices, Field

from dashwright.common.models.api_model import ApiModel, Integer32


class SyncJobOptions(ApiModel):
    """Options of the action ``sync``. Only a rollback sets ``ref``, the commit to restore."""

    incremental: bool = Field(default=False, description="Whether only files that changed since the last sync are examined")
    ref: str | None = Field(default=None, description="An earlier commit to restore, which only a rollback sets")


class RollbackOptions(ApiModel):
    """Options of a rollback. ``ref`` is an earlier stored commit; None selects the commit before the current one."""

    ref: str | None = Field(default=None, description="A commit that was stored before; if missing, the commit before the current one")


class ExportJobOptions(ApiModel):
    """Options of the action ``export``."""

    folder: str | None = Field(default=None, description="The folder to export; empty for everything")
    history: bool | None = Field(default=None, description="Whether earlier versions become commits, where possible")
    branch: str | None = Field(default=None, description="The branch to write to; only for a repository on a git host")
    prefix: str | None = Field(default=None, validation_alias=AliasChoices("prefix", "path"), description="The directory to write to")
    identifier: bool = Field(default=False, description="Whether the names of objects are written to the files")


class PullRequestJobOptions(ApiModel):
    """Options of the action ``pr``."""

    ref: str | None = Field(default=None, description="The branch or commit")
    pr: Integer32 | None = Field(default=None, description="The number of the pull request")
    hash: str | None = Field(default=None, description="The commit to comment on")
    url: str | None = Field(default=None, description="The address of the pull request")
